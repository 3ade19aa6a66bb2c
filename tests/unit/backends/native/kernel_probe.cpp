// Runs one kernel on what comes in, so that a test can compare what goes out:
// kernel_probe NAME GROUPS C K TAPS[3] BEFORE[3] AFTER[3] STRIDES[3] DILATIONS[3] EXTRA[3] TILE BITS N IN[3] HAS_BIAS HAS_SUM IN_PLACE LOW HIGH SLOPE
// reads weights, bias, x and sum as floats and writes y. Each lies in memory of exactly its size. A kernel that does
// something with x first reads factors and shifts behind the sum, and holds what comes of them above zero.
// kernel_probe reorder PLANES SIZES[3] reads x and writes it in blocks, and then out of them again.
// kernel_probe pad PLANES SIZES[3] EDGE VALUE BEFORE[3] AFTER[3] reads x in blocks and writes it padded.
// kernel_probe lrn N BLOCKS PIXELS SIZE ALPHA BETA BIAS, and
// kernel_probe instance N BLOCKS PIXELS EPSILON LOW HIGH, which also reads scale and bias: x in blocks, normalised.
// kernel_probe scale N BLOCKS PIXELS IS_OF_IMAGE, and
// kernel_probe prelu N BLOCKS PIXELS IS_OF_IMAGE read x in blocks and a number for each channel, and write the result.
// kernel_probe elu COUNT ALPHA reads x and writes the result.
// kernel_probe shuffle N BLOCKS SIZES[3] STEP ORDER reads x in blocks, whose channels become so many blocks of them.
// kernel_probe resize PLANES HEIGHT WIDTH TAPS ROWS COLUMNS reads x, places of rows and columns, and their weights.
// kernel_probe packed BITS ROWS COLUMNS M HAS_BIAS HAS_SUM IS_GELU reads x, bias, what is added and the packed weight, and
// writes their product.
// kernel_probe attention IMAGES HEADS KEY_HEADS ROWS WIDTH CACHED ADDS HIDES_ODD SCALE HAS_MASK reads a query [images,
// rows, heads, width], cached keys and values, keys and values like the query, and a mask [rows, keys]; it writes the result, like the
// query, and all keys and values.
// kernel_probe expansion C K STRIDES[3] BEFORE[3] AFTER[3] (LOW HIGH SWISH)[2] N IN[3] reads weights and bias of a 1x1
// convolution, those of a depthwise one, and x in blocks.
// kernel_probe affine N BLOCKS PIXELS STAGES LOW HIGH reads x in blocks and factors and shifts of one or two stages.
// kernel_probe pool PLANES SIZES[3] WINDOW[3] STRIDES[3] BEFORE[3] AFTER[3] reads x in blocks and writes what is left.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "blocks/blocks.h"
#include "blocks/channelwise.h"
#include "blocks/elu.h"
#include "kernels/cached_attention.h"
#include "kernels/expansion.h"
#include "kernels/kernels.h"
#include "kernels/products/packed_product.h"
#include "blocks/normalisation.h"
#include "blocks/padding.h"
#include "blocks/pixel_shuffle.h"
#include "blocks/weighted_resize.h"
#include "kernels/vector.h"

namespace {

using intarsia::Extents;
using Numbers = std::vector<float>;

Numbers read(std::size_t count) {
    Numbers numbers(count);
    if (std::fread(numbers.data(), sizeof(float), count, stdin) != count) std::abort();
    numbers.shrink_to_fit();
    return numbers;
}

// Two threads that share the work, as a pool would.
void parallel_for(void*, intarsia::Task task, std::size_t count, void* context) {
    std::thread other([=] {
        for (std::size_t i = 1; i < count; i += 2) task(context, i);
    });
    for (std::size_t i = 0; i < count; i += 2) task(context, i);
    other.join();
}

std::size_t product(const Extents& extents) { return extents[0] * extents[1] * extents[2]; }

}  // namespace

int main(int, char** argv) {
    char** next = argv + 1;
    const char* name = *next++;
    const auto number = [&] { return static_cast<std::size_t>(std::strtoul(*next++, nullptr, 10)); };
    const auto extents = [&] {
        Extents read{};
        for (std::size_t& each : read) each = number();
        return read;
    };
    const auto real = [&] { return std::strtof(*next++, nullptr); };
    const auto write = [](const Numbers& numbers) { std::fwrite(numbers.data(), sizeof(float), numbers.size(), stdout); };
    const intarsia::Threads threads{parallel_for, nullptr};
    if (std::strcmp(name, "reorder") == 0) {
        const std::size_t planes = number(), pixels = product(extents());
        const Numbers x = read(planes * pixels * intarsia::kBlock);
        Numbers blocked(x.size()), plain(x.size());
        intarsia::to_blocks(x.data(), blocked.data(), planes, pixels, threads);
        intarsia::from_blocks(blocked.data(), plain.data(), planes, pixels, threads);
        write(blocked);
        write(plain);
        return 0;
    }
    if (std::strcmp(name, "pool") == 0) {
        const std::size_t planes = number();
        const Extents sizes = extents();
        intarsia::Window window{};
        for (Extents* each : {&window.size, &window.strides, &window.before, &window.after}) *each = extents();
        const Numbers x = read(planes * product(sizes) * intarsia::kBlock);
        Numbers y(planes * product(intarsia::extents_out(window, sizes)) * intarsia::kBlock);
        intarsia::max_pool(window, x.data(), y.data(), planes, sizes, threads);
        write(y);
        return 0;
    }
    if (std::strcmp(name, "pad") == 0) {
        const std::size_t planes = number();
        const Extents sizes = extents();
        intarsia::Padding padding{static_cast<intarsia::Edge>(number()), real(), extents(), extents()};
        if (!intarsia::fits(padding, sizes)) return 1;
        Extents wide = sizes;
        for (std::size_t axis = 0; axis < wide.size(); ++axis) wide[axis] += padding.before[axis] + padding.after[axis];
        const Numbers x = read(planes * product(sizes) * intarsia::kBlock);
        Numbers y(planes * product(wide) * intarsia::kBlock);
        intarsia::pad(padding, x.data(), y.data(), planes, sizes, threads);
        write(y);
        return 0;
    }
    if (std::strcmp(name, "scale") == 0 || std::strcmp(name, "prelu") == 0) {
        const intarsia::Planes planes{number(), number(), number()};
        const bool is_of_image = number() != 0;
        const std::size_t channels = planes.blocks * intarsia::kBlock;
        const Numbers x = read(planes.images * channels * planes.pixels);
        const Numbers own = read(is_of_image ? planes.images * channels : channels);
        Numbers y(x.size());
        const auto compute = std::strcmp(name, "scale") == 0 ? intarsia::scale : intarsia::prelu;
        compute(planes, x.data(), own.data(), is_of_image, y.data(), threads);
        write(y);
        return 0;
    }
    if (std::strcmp(name, "elu") == 0) {
        const Numbers x = read(number());
        Numbers y(x.size());
        intarsia::elu(real(), x.data(), y.data(), x.size(), threads);
        write(y);
        return 0;
    }
    if (std::strcmp(name, "expansion") == 0) {
        intarsia::Expansion asked{};
        asked.channels_in = number();
        asked.channels = number();
        asked.strides = extents();
        asked.before = extents();
        asked.after = extents();
        for (intarsia::Ending* each : {&asked.between, &asked.last}) *each = {{real(), real()}, number() != 0};
        const std::size_t images = number();
        const Extents in = extents();
        const Numbers weights = read(asked.channels * asked.channels_in), bias = read(asked.channels);
        const Numbers filters = read(asked.channels * 9), shifts = read(asked.channels);
        const Numbers x = read(images * asked.channels_in * product(in));
        asked.weights = weights.data();
        asked.bias = bias.data();
        asked.filters = filters.data();
        asked.shifts = shifts.data();
        Numbers y(images * asked.channels * product(extents_out(asked, in)));
        intarsia::expand(asked, x.data(), y.data(), images, in, threads);
        write(y);
        return 0;
    }
    if (std::strcmp(name, "resize") == 0) {
        const std::size_t planes = number(), height = number(), width = number();
        const std::size_t taps = number(), rows = number(), columns = number();
        const Numbers x = read(planes * height * width);
        const Numbers places[] = {read(rows * taps), read(columns * taps)}, weights[] = {read(rows * taps), read(columns * taps)};
        const intarsia::Weighing down{rows, taps, places[0].data(), weights[0].data()};
        const intarsia::Weighing across{columns, taps, places[1].data(), weights[1].data()};
        if (!intarsia::fits(down, height) || !intarsia::fits(across, width)) return 1;
        Numbers y(planes * rows * columns);
        intarsia::weighted_resize(down, across, x.data(), y.data(), planes, height, width, threads);
        write(y);
        return 0;
    }
    if (std::strcmp(name, "packed") == 0) {
        intarsia::PackedWeight weight{number(), number(), number(), nullptr};
        const std::size_t m = number(), has_bias = number(), has_sum = number();
        const bool is_gelu = number() != 0;
        const Numbers x = read(m * weight.rows), bias = read(has_bias * weight.columns);
        const Numbers sum = read(has_sum * m * weight.columns);
        std::vector<std::uint8_t> content(intarsia::packed_bytes(weight));
        if (std::fread(content.data(), 1, content.size(), stdin) != content.size()) return 1;
        weight.content = content.data();
        Numbers y(m * weight.columns);
        const intarsia::ProductEnding ending{has_bias ? bias.data() : nullptr, has_sum ? sum.data() : nullptr, is_gelu};
        intarsia::packed_product(weight, x.data(), ending, y.data(), m, threads);
        write(y);
        return 0;
    }
    if (std::strcmp(name, "attention") == 0) {
        intarsia::Attention a{number(), number(), number(), number(), number(), false, false, 0};
        intarsia::AttentionCall call{};
        call.cached = number();
        a.adds = number() != 0;
        a.hides_odd = number() != 0;
        a.scale = real();
        const bool has_mask = number() != 0;
        const auto rows_of = [&](std::size_t heads) { return a.images * a.rows * heads * a.width; };
        const std::size_t own = a.adds ? rows_of(a.key_heads) : 0, keys = call.cached + (a.adds ? a.rows : 0);
        const std::size_t held = a.images * a.key_heads * call.cached * a.width;
        const Numbers query = read(rows_of(a.heads)), cached_keys = read(held), cached_values = read(held);
        const Numbers key = read(own), value = read(own), mask = read(has_mask ? a.rows * keys : 0);
        const auto steps_of = [&](std::size_t heads) {
            return intarsia::HeadSteps{a.rows * heads * a.width, heads * a.width, a.width};
        };
        Numbers y(query.size()), all_keys(a.adds ? held + own : 0), all_values(all_keys.size());
        call.query = query.data();
        call.key = key.data();
        call.value = value.data();
        call.queries = call.results = steps_of(a.heads);
        call.keys = call.values = steps_of(a.key_heads);
        call.cached_keys = cached_keys.data();
        call.cached_values = cached_values.data();
        call.mask = has_mask ? mask.data() : nullptr;
        call.masks = {0, keys, 0};
        call.mask_step = 1;
        call.all_keys = a.adds ? all_keys.data() : nullptr;
        call.all_values = a.adds ? all_values.data() : nullptr;
        call.y = y.data();
        intarsia::cached_attention(a, call, threads);
        write(y);
        if (a.adds) {
            write(all_keys);
            write(all_values);
        }
        return 0;
    }
    if (std::strcmp(name, "shuffle") == 0) {
        const std::size_t images = number(), blocks = number();
        const Extents sizes = extents();
        const std::size_t step = number();
        const auto order = static_cast<intarsia::ChannelOrder>(number());
        const Numbers x = read(images * blocks * step * step * product(sizes) * intarsia::kBlock);
        Numbers y(x.size());
        intarsia::depth_to_space(step, order, x.data(), y.data(), images, blocks, sizes, threads);
        write(y);
        return 0;
    }
    if (std::strcmp(name, "affine") == 0) {
        const intarsia::Planes planes{number(), number(), number()};
        const std::size_t stages = number(), channels = planes.blocks * intarsia::kBlock;
        const float low = real(), high = real();
        const Numbers x = read(planes.images * channels * planes.pixels);
        const Numbers factors = read(channels), shifts = read(channels);
        const Numbers next = read(stages > 1 ? channels : 0), more = read(stages > 1 ? channels : 0);
        const intarsia::Affine then{next.data(), more.data(), nullptr, 0, 0};
        Numbers y(x.size());
        intarsia::affine(planes, {factors.data(), shifts.data(), stages > 1 ? &then : nullptr, low, high}, x.data(),
                         y.data(), threads);
        write(y);
        return 0;
    }
    if (std::strcmp(name, "lrn") == 0 || std::strcmp(name, "instance") == 0) {
        const std::size_t images = number(), blocks = number(), pixels = number(), channels = blocks * intarsia::kBlock;
        const bool is_local = std::strcmp(name, "lrn") == 0;
        const std::size_t size = is_local ? number() : 0;
        const float one = real(), two = real(), three = real();
        const Numbers x = read(images * channels * pixels);
        const Numbers scale = read(is_local ? 0 : channels), bias = read(is_local ? 0 : channels);
        Numbers y(x.size());
        if (is_local)
            intarsia::local_response({size, one, two, three}, x.data(), y.data(), images, blocks, pixels, threads);
        else
            intarsia::instance_normalisation({scale.data(), bias.data(), one, two, three}, x.data(), y.data(), images,
                                             blocks, pixels, threads);
        write(y);
        return 0;
    }
    intarsia::Filter filter{};
    filter.groups = number();
    filter.channels_in = number();
    filter.channels_out = number();
    filter.taps = extents();
    filter.before = extents();
    filter.after = extents();
    filter.strides = extents();
    filter.dilations = extents();
    filter.extra = extents();
    filter.tile = number();
    filter.bits = number();
    for (const auto& each : intarsia::kKernels)
        if (std::strcmp(each.name, name) == 0) filter.is_transposed = each.form == intarsia::Form::kTransposed;
    intarsia::Call call{};
    call.batch = number();
    call.in = extents();
    call.out = extents_out(filter, call.in);
    const std::size_t has_bias = number(), has_sum = number(), in_place = number();
    call.finish.low = real();
    call.finish.high = real();
    call.finish.slope = real();

    const std::size_t results = call.batch * filter.channels_out * product(call.out);
    const Numbers weights = read(filter.channels_out * filter.channels_in / filter.groups * product(filter.taps));
    Numbers bias = read(has_bias * filter.channels_out);
    const Numbers x = read(call.batch * filter.channels_in * product(call.in));
    Numbers sum = read(has_sum * results), y(in_place ? 0 : results);
    if (has_bias) filter.bias = bias.data();
    call.weights = weights.data();
    call.x = x.data();
    call.sum = has_sum ? sum.data() : nullptr;
    call.y = in_place ? sum.data() : y.data();

    for (const auto& each : intarsia::kKernels) {
        if (std::strcmp(each.name, name) != 0) continue;
        const Numbers factors = read(each.has_before ? filter.channels_in : 0), shifts = read(factors.size());
        const intarsia::Affine before{factors.data(), shifts.data(), nullptr, 0, 1e30f};
        call.before = each.has_before ? &before : nullptr;
        const auto kernel = each.make(filter);
        bias.assign(bias.size(), 0);  // it was copied
        kernel->run(call, threads);
        std::fwrite(call.y, sizeof(float), results, stdout);
        return 0;
    }
    return 1;
}
