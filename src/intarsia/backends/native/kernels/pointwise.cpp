// Filters of 1x1 with stride 1 and no padding: a product of pixels and weights, both as the host's blocks have them. The
// pixels may go through a product and a sum of each channel first, while they are in the cache.
#include <algorithm>
#include <mutex>
#include <vector>

#include "blocks/channelwise.h"
#include "kernels/products/gemm.h"
#include "kernels.h"
#include "memory.h"
#include "kernels/products/short_gemm.h"

namespace intarsia {

namespace {

// What a thread reads of the input for one task: a part of its own cache, beside a panel of weights and what it writes.
constexpr std::size_t kCache = 256 * 1024 / sizeof(float);
// Tasks are so many at least, where there is enough to do for each: threads end at about the same time. Where pixels go
// through something first, each task does that anew.
constexpr std::size_t kTasks = 16, kTasksWithBefore = 8;

class Pointwise : public Kernel {
  public:
    explicit Pointwise(const Filter& filter) : filter_(filter), bias_(bias_of(filter)) {
        filter_.bias = nullptr;
    }

    void run(const Call& call, const Threads& threads) const override {
        if (filter_.bits == 16) std::call_once(once_, [&] { rounded_ = rounded(call.weights); });
        const std::size_t pixels = call.in[0] * call.in[1] * call.in[2];
        const std::size_t panels = steps(filter_.channels_out / kBlock, kPanel);
        const std::size_t most = std::max(kRows, kCache / filter_.channels_in / kRows * kRows);
        const std::size_t chunk = steps(pixels, steps(pixels, most)), chunks = steps(pixels, chunk);
        // Panels are shared only where the pixels are too few: each task reads its pixels anew.
        const std::size_t tasks = call.before ? kTasksWithBefore : kTasks;
        const std::size_t group = steps(panels, std::min(panels, steps(tasks, chunks * call.batch)));
        const std::size_t groups = steps(panels, group);
        threads.share(call.batch * chunks * groups, [&](std::size_t index) {
            // Those that read the same weights one after the other.
            const std::size_t at = index % (call.batch * chunks), first = at % chunks * chunk;
            const std::size_t start = index / (call.batch * chunks) * group;
            const std::size_t count = std::min(chunk, pixels - first);
            const Pixels read = pixels_of(call, at / chunks, pixels, first, count);
            for (std::size_t panel = start; panel < std::min(panels, start + group); ++panel)
                multiply_panel(call, at / chunks, pixels, first, count, read, panel);
        });
    }

  private:
    // Of the input, as the product reads them, and how far it is from a block to the next; in 16 bits, if scales say so.
    struct Pixels {
        const void* data;
        std::size_t stride;
        const float* scales;
    };

    Pixels pixels_of(const Call& call, std::size_t image, std::size_t pixels, std::size_t first,
                     std::size_t count) const {
        const std::size_t blocks = filter_.channels_in / kBlock;
        const float* x = call.x + (image * blocks * pixels + first) * kBlock;
        std::size_t stride = pixels * kBlock;
        if (call.before) {
            float* own = scratch(blocks * count * kBlock);
            for (std::size_t block = 0; block < blocks; ++block)
                affine_pixels(*call.before, block, x + block * stride, own + block * count * kBlock, count);
            x = own;
            stride = count * kBlock;
        }
        if (filter_.bits == 32) return {x, stride, nullptr};
        float* const scales = scratch<1>(steps(blocks * count, 2) * kBlock + count);
        auto* const numbers = reinterpret_cast<std::int16_t*>(scales + count);
        round_rows(x, stride, blocks, count, numbers, count * kBlock, scales);
        return {numbers, count * kBlock, scales};
    }

    void multiply_panel(const Call& call, std::size_t image, std::size_t pixels, std::size_t first, std::size_t count,
                        const Pixels& read, std::size_t panel) const {
        const std::size_t blocks_in = filter_.channels_in / kBlock, blocks_out = filter_.channels_out / kBlock;
        const std::size_t block = panel * kPanel, vecs = std::min(kPanel, blocks_out - block);
        const std::size_t to = ((image * blocks_out + block) * pixels + first) * kBlock;
        const auto multiply_all = [&](auto product) {
            product.v_stride = read.stride;
            product.taps = 1;
            product.blocks = blocks_in;
            product.m = call.y + to;
            product.m_stride = pixels * kBlock;
            product.bias = bias_.data() + block * kBlock;
            product.sum = call.sum ? call.sum + to : nullptr;
            product.finish = &call.finish;
            multiply(product, count, vecs);
        };
        if (read.scales) {
            ShortProduct product{};
            product.v = static_cast<const std::int16_t*>(read.data);
            product.v_scales = read.scales;
            product.v_scales_row = 1;
            product.u = rounded_.numbers + block * filter_.channels_in * kBlock;
            product.u_scales = rounded_.scales + block * kBlock;
            return multiply_all(product);
        }
        Product product{};
        product.v = static_cast<const float*>(read.data);
        product.u = call.weights + block * filter_.channels_in * kBlock;
        product.u_channel = kBlock;
        product.u_stride = filter_.channels_in * kBlock;
        multiply_all(product);
    }

    // From weights as the host's blocks have them: [K/B][C][B].
    [[gnu::cold]] ShortWeights rounded(const float* weights) const {
        const std::size_t channels = filter_.channels_in;
        return short_weights(1, filter_.channels_out / kBlock, 1, channels,
                             [=](std::size_t, std::size_t block, std::size_t, std::size_t c) {
                                 return weights + (block * channels + c) * kBlock;
                             });
    }

    Filter filter_;
    std::vector<float> bias_;
    mutable std::once_flag once_;
    mutable ShortWeights rounded_;
};

}  // namespace

std::unique_ptr<Kernel> pointwise(const Filter& filter) { return std::make_unique<Pointwise>(filter); }

}  // namespace intarsia
