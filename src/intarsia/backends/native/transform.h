// Winograd's minimal filtering F(2x2, 3x3) and F(4x4, 3x3): Lavin & Gray, "Fast Algorithms for Convolutional Neural
// Networks" (arXiv:1509.09308). Each transform works on a block of channels at a time, so nothing is shuffled.
#pragma once

#include "vector.h"

namespace intarsia {

constexpr std::size_t kTap = 3;  // the filter is kTap x kTap

// The paper's matrices, each as what it makes of one column: B^T of input, A^T of output, G of weights.
template <std::size_t Out>
struct Columns;

template <>
struct Columns<2> {
    static void input(const Vec (&d)[4], Vec (&out)[4]) {
        out[0] = d[0] - d[2];
        out[1] = d[1] + d[2];
        out[2] = d[2] - d[1];
        out[3] = d[1] - d[3];
    }

    static void output(const Vec (&m)[4], Vec (&out)[2]) {
        out[0] = m[0] + m[1] + m[2];
        out[1] = m[1] - m[2] - m[3];
    }

    static void weight(const Vec (&g)[kTap], Vec (&out)[4]) {
        const Vec half = broadcast(0.5f), ends = half * (g[0] + g[2]), middle = half * g[1];
        out[0] = g[0];
        out[1] = ends + middle;
        out[2] = ends - middle;
        out[3] = g[2];
    }
};

template <>
struct Columns<4> {
    static void input(const Vec (&d)[6], Vec (&out)[6]) {
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

    static void output(const Vec (&m)[6], Vec (&out)[4]) {
        const Vec two = broadcast(2), four = broadcast(4), eight = broadcast(8);
        const Vec even1 = m[1] + m[2], odd1 = m[1] - m[2], even2 = m[3] + m[4], odd2 = m[3] - m[4];
        out[0] = m[0] + even1 + even2;
        out[1] = odd1 + two * odd2;
        out[2] = even1 + four * even2;
        out[3] = odd1 + eight * odd2 + m[5];
    }

    static void weight(const Vec (&g)[kTap], Vec (&out)[6]) {
        const Vec sixth = broadcast(1.0f / 6), ends1 = sixth * (g[0] + g[2]), middle1 = sixth * g[1];
        const Vec ends2 = broadcast(1.0f / 24) * g[0] + sixth * g[2], middle2 = broadcast(1.0f / 12) * g[1];
        out[0] = broadcast(0.25f) * g[0];
        out[1] = broadcast(0) - ends1 - middle1;
        out[2] = middle1 - ends1;
        out[3] = ends2 + middle2;
        out[4] = ends2 - middle2;
        out[5] = g[2];
    }
};

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
