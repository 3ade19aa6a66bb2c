// Filters of 1x1 with stride 1 and no padding: a product of pixels and weights, both as the host's blocks have them. The
// pixels may go through a product and a sum of each channel first, while they are in the cache.
#include <algorithm>
#include <vector>

#include "blocks/channelwise.h"
#include "gemm.h"
#include "kernels.h"
#include "memory.h"

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
    // Of the input, as the product reads them, and how far it is from a block to the next.
    struct Pixels {
        const float* data;
        std::size_t stride;
    };

    Pixels pixels_of(const Call& call, std::size_t image, std::size_t pixels, std::size_t first,
                     std::size_t count) const {
        const std::size_t blocks = filter_.channels_in / kBlock;
        const float* x = call.x + (image * blocks * pixels + first) * kBlock;
        if (!call.before) return {x, pixels * kBlock};
        float* own = scratch(blocks * count * kBlock);
        for (std::size_t block = 0; block < blocks; ++block)
            affine_pixels(*call.before, block, x + block * pixels * kBlock, own + block * count * kBlock, count);
        return {own, count * kBlock};
    }

    void multiply_panel(const Call& call, std::size_t image, std::size_t pixels, std::size_t first, std::size_t count,
                        const Pixels& read, std::size_t panel) const {
        const std::size_t blocks_in = filter_.channels_in / kBlock, blocks_out = filter_.channels_out / kBlock;
        const std::size_t block = panel * kPanel, vecs = std::min(kPanel, blocks_out - block);
        const std::size_t to = ((image * blocks_out + block) * pixels + first) * kBlock;
        Product product{};
        product.v = read.data;
        product.v_stride = read.stride;
        product.u = call.weights + block * filter_.channels_in * kBlock;
        product.u_channel = kBlock;
        product.u_stride = filter_.channels_in * kBlock;
        product.taps = 1;
        product.blocks = blocks_in;
        product.m = call.y + to;
        product.m_stride = pixels * kBlock;
        product.bias = bias_.data() + block * kBlock;
        product.sum = call.sum ? call.sum + to : nullptr;
        product.finish = &call.finish;
        multiply(product, count, vecs);
    }

    Filter filter_;
    std::vector<float> bias_;
};

}  // namespace

std::unique_ptr<Kernel> pointwise(const Filter& filter) { return std::make_unique<Pointwise>(filter); }

}  // namespace intarsia
