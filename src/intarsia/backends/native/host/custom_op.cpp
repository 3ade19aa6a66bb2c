// The domain `intarsia`, with all operators, as a session of ONNX Runtime registers it.
#include <memory>
#include <vector>

#include "blocks_op.h"
#include "channelwise_op.h"
#include "convolution_op.h"
#include "expansion_op.h"
#include "normalisation_op.h"
#include "partition_op.h"
#include "plain/attention_op.h"
#include "plain/product_op.h"
#include "plain/resize_op.h"

namespace {

using intarsia::ConvolutionOperator;
using intarsia::ReorderOperator;
using intarsia::check;
using intarsia::ort::Functions;

// One domain for every session of the process. It is never freed: sessions refer to it until the very end.
OrtCustomOpDomain* domain(const Functions& ort) {
    static const std::vector<std::unique_ptr<const ConvolutionOperator>> convolutions = [&] {
        std::vector<std::unique_ptr<const ConvolutionOperator>> all;
        for (const auto& kernel : intarsia::kKernels) {
            all.push_back(std::make_unique<ConvolutionOperator>(ort, kernel));
        }
        return all;
    }();
    static const ReorderOperator to_blocks(ort, "ToBlocks", intarsia::to_blocks);
    static const ReorderOperator from_blocks(ort, "FromBlocks", intarsia::from_blocks);
    static const intarsia::MaxPoolOperator max_pool(ort);
    static const intarsia::PadOperator pad(ort);
    static const intarsia::DepthToSpaceOperator depth_to_space(ort);
    static const intarsia::EluOperator elu(ort);
    static const intarsia::ExpansionOperator expansion(ort);
    static const intarsia::ResizeOperator resize(ort);
    static const intarsia::ChannelwiseOperator scale(ort, "BlockedScale", intarsia::scale);
    static const intarsia::ChannelwiseOperator prelu(ort, "BlockedPRelu", intarsia::prelu);
    static const intarsia::AffineOperator affine(ort);
    static const intarsia::LocalResponseOperator local_response(ort);
    static const intarsia::InstanceNormalisationOperator instance_normalisation(ort);
    static const intarsia::PartitionOperator partition(ort);
    static const intarsia::ProductOperator product(ort);
    static const intarsia::AttentionOperator attention(ort);
    static OrtCustomOpDomain* const made = [&] {
        OrtCustomOpDomain* fresh = nullptr;
        check(ort, ort.create_domain("intarsia", &fresh));
        for (const auto& each : convolutions) {
            check(ort, ort.add_to_domain(fresh, each.get()));
        }
        const OrtCustomOp* others[] = {&to_blocks, &from_blocks, &max_pool,       &pad,
                                        &scale,     &prelu,       &affine,         &local_response,
                                        &instance_normalisation,  &partition, &depth_to_space, &elu, &expansion, &resize,
                                        &product, &attention};
        for (const OrtCustomOp* each : others) {
            check(ort, ort.add_to_domain(fresh, each));
        }
        return fresh;
    }();
    return made;
}

}  // namespace

// What `SessionOptions.register_custom_ops_library` calls. An ONNX Runtime that is too old gets no operators, and says
// so itself when it meets a node of the domain.
extern "C" __attribute__((visibility("default"))) OrtStatus* RegisterCustomOps(OrtSessionOptions* options,
                                                                               const OrtApiBase* base) {
    const OrtApi* api = base->GetApi(intarsia::ort::kApiVersion);
    if (api == nullptr) {
        return nullptr;
    }
    const Functions ort(api);
    return intarsia::guarded(ort, [&] { check(ort, ort.add_domain(options, domain(ort))); });
}
