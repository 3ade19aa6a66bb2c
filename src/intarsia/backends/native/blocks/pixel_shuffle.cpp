#include "blocks/pixel_shuffle.h"

#include "kernels/vector.h"

namespace intarsia {

void depth_to_space(std::size_t step, ChannelOrder order, const float* x, float* y, std::size_t images,
                    std::size_t blocks, const Extents& in, const Threads& threads) {
    const std::size_t rows = in[1], columns = in[2], plane = rows * columns * kBlock, places = step * step;
    threads.share(images * blocks * rows, [&](std::size_t index) {
        const std::size_t row = index % rows, block = index / rows % blocks, image = index / rows / blocks;
        const float* from = x + image * blocks * places * plane + row * columns * kBlock;
        float* to = y + ((image * blocks + block) * places * plane + row * columns * places * kBlock);
        for (std::size_t place = 0; place < places; ++place) {
            float* line = to + (place / step * columns * step + place % step) * kBlock;
            const float* whole = from + (place * blocks + block) * plane;
            for (std::size_t i = 0; i < columns; ++i, line += step * kBlock) {
                if (order == ChannelOrder::kPlaceFirst) {
                    store(line, load(whole + i * kBlock));
                    continue;
                }
                for (std::size_t lane = 0; lane < kBlock; ++lane) {
                    const std::size_t channel = (block * kBlock + lane) * places + place;
                    line[lane] = from[channel / kBlock * plane + i * kBlock + channel % kBlock];
                }
            }
        }
    });
}

}  // namespace intarsia
