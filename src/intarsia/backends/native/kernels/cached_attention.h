// Attention of a few rows over cached keys and values, which are copied on the way to stand before those of the rows.
#pragma once

#include "kernels/kernel.h"

namespace intarsia {

// Where the vectors of each image, row and head begin: floats from one to the next.
struct HeadSteps {
    std::size_t image, row, head;
};

// `heads` of the rows share one of `key_heads` in turn. With `adds`, each row brings a key and a value. With `hides_odd`,
// weights that are no numbers count as zero.
struct Attention {
    std::size_t images, heads, key_heads, rows, width;  // width: a multiple of B
    bool adds, hides_odd;
    float scale;
};

// One call. Cached keys and values are [images][key_heads][cached][width], and so are those that are written, with
// `cached + rows`. The mask is added to the products; a step of 0 is for a dimension of 1. It may be null.
struct AttentionCall {
    std::size_t cached;
    const float *query, *key, *value;
    HeadSteps queries, keys, values, results;
    const float *cached_keys, *cached_values;
    const float* mask;
    HeadSteps masks;
    std::size_t mask_step;  // from one key to the next
    float *all_keys, *all_values;  // null where rows bring none
    float* y;
};

// y = softmax(scale * query * keys + mask) * values, for each row and head.
void cached_attention(const Attention& attention, const AttentionCall& call, const Threads& threads);

}  // namespace intarsia
