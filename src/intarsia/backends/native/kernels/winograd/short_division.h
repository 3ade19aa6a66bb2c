// As division.h, for convolutions in 16 bits. A tile is rounded when all its channels are there, so threads share tiles
// where they would share channels.
#pragma once

#include "division.h"
#include "short_convolution.h"

namespace intarsia {

// The steps of such a convolution, whatever its tiles are: what divides the work is compiled once for all of them.
struct ShortSteps {
    std::size_t tiles, depth, slices, blocks_in, blocks_out, frequencies;

    virtual void transform_input(std::size_t first, std::size_t count, std::size_t offset, std::size_t rows,
                                 const ShortSpectrum& v) const = 0;
    virtual void multiply(std::size_t frequency, std::size_t count, const ShortSpectrum& v, const Spectrum& m) const = 0;
    virtual void transform_output(std::size_t first, std::size_t count, std::size_t block, const Spectrum& m) const = 0;

  protected:
    ~ShortSteps() = default;
};

void run_in_chunks(const ShortSteps& conv, const Threads& threads);
void run_in_steps(const ShortSteps& conv, const Threads& threads);

template <std::size_t Out, std::size_t Taps>
struct ShortStepsOf final : ShortSteps {
    using Own = ShortConvolution<Out, Taps>;
    const Own& own;

    explicit ShortStepsOf(const Own& own)
        : ShortSteps{}, own(own) {
        tiles = own.tiles();
        depth = own.depth();
        slices = own.slices();
        blocks_in = own.blocks_in();
        blocks_out = own.blocks_out();
        frequencies = Own::kFrequencies;
    }

    void transform_input(std::size_t first, std::size_t count, std::size_t offset, std::size_t rows,
                         const ShortSpectrum& v) const override {
        own.transform_input(first, count, offset, rows, v);
    }

    void multiply(std::size_t frequency, std::size_t count, const ShortSpectrum& v, const Spectrum& m) const override {
        own.multiply_frequency(frequency, count, v, m);
    }

    void transform_output(std::size_t first, std::size_t count, std::size_t block, const Spectrum& m) const override {
        own.transform_output(first, count, block, m);
    }
};

template <std::size_t Out, std::size_t Taps>
void run_in_chunks(const ShortConvolution<Out, Taps>& conv, const Threads& threads) {
    run_in_chunks(static_cast<const ShortSteps&>(ShortStepsOf<Out, Taps>(conv)), threads);
}

template <std::size_t Out, std::size_t Taps>
void run_in_steps(const ShortConvolution<Out, Taps>& conv, const Threads& threads) {
    run_in_steps(static_cast<const ShortSteps&>(ShortStepsOf<Out, Taps>(conv)), threads);
}

}  // namespace intarsia
