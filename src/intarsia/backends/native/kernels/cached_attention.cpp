#include "kernels/cached_attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/exponential.h"

namespace intarsia {
namespace {

constexpr std::size_t kHeld = 8;  // vectors of a result that are summed in registers
constexpr float kSmallest = -87;  // e^x is zero below, to what a sum that holds a 1 can tell
constexpr std::size_t kLarge = 1 << 17;  // bytes of keys that are not read again before the caches are full of weights

std::size_t at(const HeadSteps& step, std::size_t image, std::size_t row, std::size_t head) {
    return image * step.image + row * step.row + head * step.head;
}

float dot(const float* a, const float* b, std::size_t width) {
    Vec even = broadcast(0), odd = broadcast(0);
    std::size_t i = 0;
    for (; i + 2 * kBlock <= width; i += 2 * kBlock) {
        even = multiply_add(load(a + i), load(b + i), even);
        odd = multiply_add(load(a + i + kBlock), load(b + i + kBlock), odd);
    }
    if (i < width) even = multiply_add(load(a + i), load(b + i), even);
    return total(even + odd);
}

// Copies whole vectors, past the caches where that is asked for.
void copy(const float* from, float* to, std::size_t count, bool past_caches) {
    for (std::size_t i = 0; i < count; i += kBlock) {
        past_caches ? stream(to + i, load(from + i)) : store(to + i, load(from + i));
    }
}

// Makes scores weights that sum up to 1, or all `odd` where they have no such sum. There is room for whole vectors; what is
// beyond the last weight becomes zero.
void soften(float* scores, std::size_t count, float odd) {
    const float most = *std::max_element(scores, scores + count);
    const bool is_number = std::none_of(scores, scores + count, [](float score) { return std::isnan(score); });
    if (!is_number || std::isinf(most)) {
        std::fill_n(scores, count, odd);
        return;
    }
    std::fill(scores + count, scores + steps(count, kBlock) * kBlock, -std::numeric_limits<float>::infinity());
    Vec sums = broadcast(0);
    for (std::size_t i = 0; i < count; i += kBlock) {
        alignas(64) float lanes[kBlock], below[kBlock];
        const Vec apart = load(scores + i) - broadcast(most);
        store(below, apart);
        store(lanes, exponential(apart));
        for (std::size_t lane = 0; lane < kBlock; ++lane) lanes[lane] = below[lane] < kSmallest ? 0 : lanes[lane];
        const Vec weights = load(lanes);
        store(scores + i, weights);
        sums = sums + weights;
    }
    const Vec factor = broadcast(1 / total(sums));
    for (std::size_t i = 0; i < count; i += kBlock) store(scores + i, load(scores + i) * factor);
}

// The rows of the heads that share the keys and values of one head.
class Shared {
  public:
    Shared(const Attention& attention, const AttentionCall& call, std::size_t image, std::size_t head)
        : attention_(attention), call_(call), image_(image), head_(head), group_(attention.heads / attention.key_heads),
          count_(call.cached + (attention.adds ? attention.rows : 0)), room_(steps(count_, kBlock) * kBlock),
          scores_(group_ * attention.rows * room_) {
        const std::size_t bytes = attention.images * attention.key_heads * count_ * attention.width * sizeof(float);
        past_caches_ = bytes >= kLarge && is_whole(call.all_keys) && is_whole(call.all_values);
    }

    void run() {
        weigh();
        const std::size_t held = kHeld * kBlock;
        std::size_t first = 0;
        for (; first + held <= attention_.width; first += held) add_values<kHeld>(first);
        for (; first < attention_.width; first += kBlock) add_values<1>(first);
        if (past_caches_) drain();
    }

  private:
    // Calls work(row, head, scores) for each of the rows.
    template <typename Work>
    void each_row(const Work& work) {
        float* scores = scores_.data();
        for (std::size_t head = head_ * group_; head < (head_ + 1) * group_; ++head) {
            for (std::size_t row = 0; row < attention_.rows; ++row, scores += room_) work(row, head, scores);
        }
    }

    // Cached ones lie behind each other, those of the rows where the caller has them.
    const float* vector(const float* cached, const float* added, const HeadSteps& step, std::size_t i) const {
        if (i >= call_.cached) return added + at(step, image_, i - call_.cached, head_);
        return cached + ((image_ * attention_.key_heads + head_) * call_.cached + i) * attention_.width;
    }

    float* place(float* all, std::size_t i) const {
        if (all == nullptr) return nullptr;
        return all + ((image_ * attention_.key_heads + head_) * count_ + i) * attention_.width;
    }

    void weigh() {
        for (std::size_t i = 0; i < count_; ++i) {
            const float* key = vector(call_.cached_keys, call_.key, call_.keys, i);
            each_row([&](std::size_t row, std::size_t head, float* scores) {
                scores[i] = dot(call_.query + at(call_.queries, image_, row, head), key, attention_.width);
            });
            if (float* to = place(call_.all_keys, i)) copy(key, to, attention_.width, past_caches_);
        }
        each_row([&](std::size_t row, std::size_t head, float* scores) {
            const float* mask = call_.mask == nullptr ? nullptr : call_.mask + at(call_.masks, image_, row, head);
            for (std::size_t i = 0; i < count_; ++i) {
                scores[i] = scores[i] * attention_.scale + (mask == nullptr ? 0 : mask[i * call_.mask_step]);
            }
            soften(scores, count_, attention_.hides_odd ? 0 : std::numeric_limits<float>::quiet_NaN());
        });
    }

    // `Held` vectors of the results from a place on.
    template <std::size_t Held>
    void add_values(std::size_t first) {
        float* all = call_.all_values;
        each_row([&](std::size_t row, std::size_t head, const float* weights) {
            Vec sums[Held];
            for (Vec& sum : sums) sum = broadcast(0);
            for (std::size_t i = 0; i < count_; ++i) {
                const float* value = vector(call_.cached_values, call_.value, call_.values, i) + first;
                const Vec weight = broadcast(weights[i]);
                for (std::size_t k = 0; k < Held; ++k) sums[k] = multiply_add(weight, load(value + k * kBlock), sums[k]);
                if (float* to = place(all, i)) copy(value, to + first, Held * kBlock, past_caches_);
            }
            float* to = call_.y + at(call_.results, image_, row, head) + first;
            for (std::size_t k = 0; k < Held; ++k) store(to + k * kBlock, sums[k]);
            all = nullptr;  // they are copied once
        });
    }

    const Attention& attention_;
    const AttentionCall& call_;
    const std::size_t image_, head_, group_, count_, room_;
    bool past_caches_;
    std::vector<float> scores_;  // [heads and rows][room]
};

}  // namespace

void cached_attention(const Attention& attention, const AttentionCall& call, const Threads& threads) {
    threads.share(attention.images * attention.key_heads, [&](std::size_t task) {
        Shared(attention, call, task / attention.key_heads, task % attention.key_heads).run();
    });
}

}  // namespace intarsia
