// Winograd's minimal filtering: Lavin & Gray, "Fast Algorithms for Convolutional Neural Networks" (arXiv:1509.09308).
// Each transform works on a block of channels at a time, so nothing is shuffled.
#pragma once

#include "kernels/vector.h"

namespace intarsia {

// A tile of In x In is seen as the values of a polynomial at In - 1 points and at infinity: 0, then pairs of a point and
// its opposite. How many results and taps share the In values is free: results + taps = In + 1.
template <std::size_t In>
struct Points;

template <>
struct Points<4> {
    static constexpr float pairs[] = {1};
    static constexpr float scales[] = {1.0f, 0.5f};  // of the weights at 0, and at each pair
};

template <>
struct Points<6> {
    static constexpr float pairs[] = {1, 2};
    static constexpr float scales[] = {0.25f, -1.0f / 6, 1.0f / 24};
};

template <>
struct Points<8> {
    static constexpr float pairs[] = {1, 2, 0.5f};
    static constexpr float scales[] = {1.0f, -2.0f / 9, 1.0f / 90, 32.0f / 45};
};

// The paper's matrix B^T, as what it makes of one column of the input.
inline void input_column(const Vec (&d)[4], Vec (&out)[4]) {
    out[0] = d[0] - d[2];
    out[1] = d[1] + d[2];
    out[2] = d[2] - d[1];
    out[3] = d[3] - d[1];
}

inline void input_column(const Vec (&d)[6], Vec (&out)[6]) {
    const Vec two = broadcast(2), four = broadcast(4), five = broadcast(5);
    const Vec even1 = d[4] - four * d[2], odd1 = d[3] - four * d[1];
    const Vec even2 = d[4] - d[2], odd2 = two * (d[3] - d[1]);
    out[0] = four * d[0] - five * d[2] + d[4];
    out[1] = even1 + odd1;
    out[2] = even1 - odd1;
    out[3] = even2 + odd2;
    out[4] = even2 - odd2;
    out[5] = four * d[1] - five * d[3] + d[5];
}

inline void input_column(const Vec (&d)[8], Vec (&out)[8]) {
    const Vec most = broadcast(5.25f), middle = broadcast(4.25f), half = broadcast(0.5f), quarter = broadcast(0.25f);
    const Vec less = broadcast(1.25f), more = broadcast(2.5f), two = broadcast(2), four = broadcast(4);
    const Vec even1 = d[2] + d[6] - middle * d[4], odd1 = d[1] + d[5] - middle * d[3];
    const Vec even2 = d[6] + quarter * d[2] - less * d[4], odd2 = half * d[1] - more * d[3] + two * d[5];
    const Vec even3 = d[6] + four * (d[2] - less * d[4]), odd3 = two * d[1] - more * d[3] + half * d[5];
    out[0] = d[0] - d[6] + most * (d[4] - d[2]);
    out[1] = even1 + odd1;
    out[2] = even1 - odd1;
    out[3] = even2 + odd2;
    out[4] = even2 - odd2;
    out[5] = even3 + odd3;
    out[6] = even3 - odd3;
    out[7] = d[7] - d[1] + most * (d[3] - d[5]);
}

// A^T: the sums and differences of each pair, weighed by the powers of the point. The powers are constants once the
// loops are unrolled.
template <std::size_t In, std::size_t Out>
inline void output_column(const Vec (&m)[In], Vec (&out)[Out]) {
    constexpr std::size_t pairs = In / 2 - 1;
    Vec even[pairs], odd[pairs];
#pragma GCC unroll 8
    for (std::size_t i = 0; i < pairs; ++i) {
        even[i] = m[2 * i + 1] + m[2 * i + 2];
        odd[i] = m[2 * i + 1] - m[2 * i + 2];
    }
    float powers[pairs];
#pragma GCC unroll 8
    for (std::size_t i = 0; i < pairs; ++i) powers[i] = 1;
#pragma GCC unroll 8
    for (std::size_t k = 0; k < Out; ++k) {
        Vec sum = k % 2 ? odd[0] : even[0];
        if (k == 0) sum = sum + m[0];
#pragma GCC unroll 8
        for (std::size_t i = 1; i < pairs; ++i) sum = sum + broadcast(powers[i]) * (k % 2 ? odd[i] : even[i]);
        if (k == Out - 1) sum = sum + m[In - 1];
        out[k] = sum;
#pragma GCC unroll 8
        for (std::size_t i = 0; i < pairs; ++i) powers[i] *= Points<In>::pairs[i];
    }
}

// G: the filter's values at the points, scaled.
template <std::size_t In, std::size_t Taps>
inline void weight_column(const Vec (&g)[Taps], Vec (&out)[In]) {
    out[0] = broadcast(Points<In>::scales[0]) * g[0];
    out[In - 1] = g[Taps - 1];
    for (std::size_t i = 0; i < In / 2 - 1; ++i) {
        const float point = Points<In>::pairs[i];
        Vec even = g[0], odd = broadcast(point) * g[1];
        float power = point;
        for (std::size_t tap = 2; tap < Taps; ++tap) {
            power *= point;
            (tap % 2 ? odd : even) = (tap % 2 ? odd : even) + broadcast(power) * g[tap];
        }
        const Vec scale = broadcast(Points<In>::scales[i + 1]);
        out[2 * i + 1] = scale * (even + odd);
        out[2 * i + 2] = scale * (even - odd);
    }
}

// `column` applied to the rows and then to the columns of a From x From square, which makes it To x To.
// `from(row, column)` gives an element and `to(row, column, element)` takes one: who calls decides where they lie.
template <std::size_t From, std::size_t To, typename Source, typename Sink>
inline void transform(void (*column)(const Vec (&)[From], Vec (&)[To]), Source from, Sink to) {
    Vec half[From][To];
    for (std::size_t i = 0; i < From; ++i) {
        Vec line[From];
        for (std::size_t j = 0; j < From; ++j) line[j] = from(i, j);
        column(line, half[i]);
    }
    for (std::size_t j = 0; j < To; ++j) {
        Vec line[From], done[To];
        for (std::size_t i = 0; i < From; ++i) line[i] = half[i][j];
        column(line, done);
        for (std::size_t i = 0; i < To; ++i) to(i, j, done[i]);
    }
}

}  // namespace intarsia
