"""Runs the kernels of the native library by themselves, in a program under the sanitizers, on blocks as the host's."""

from __future__ import annotations

import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from typing import Any

import numpy as np

from intarsia.backends.native import library, recipe
from intarsia.backends.onnxruntime.kernels import KERNELS
from intarsia.backends.onnxruntime.packed_products import packed
from intarsia.graph.quantise.blocks import Blocks, bits_of

_PROBE = Path(__file__).with_name("kernel_probe.cpp")
_FLAGS = ("-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror", "-pthread", "-g1")
_SANITIZED = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")
_HOST = "host"
"""The folder of sources that need one."""
PLAIN = {each.operator for each in KERNELS if each.packs}
"""Kernels whose weights are as ONNX has them."""
PLAIN_IMAGE = {each.operator for each in KERNELS if each.reads_plain}
"""Kernels whose image is not in blocks."""
TRANSPOSED = {each.operator for each in KERNELS if each.is_transposed}
WITH_BEFORE = {"PointwiseAffine"}
"""Kernels that multiply and shift each channel of the input first, and hold it above zero."""
Triple = tuple[int, int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Convolution:
    """What a kernel is asked to compute. Sizes are of depth, height and width.

    Attributes:
        blocks: Of input and of output channels, in one group; in all, where a group is narrower than a block.
        width: Channels of a group that is narrower than a block, or of an image that is not in blocks.
        used: How many output channels have weights; ``None`` for all.
        tile: Results that are computed together; 0 where the kernel chooses.
        bits: Of the numbers that are multiplied.
    """

    kernel: str
    taps: Triple
    blocks: tuple[int, int]
    width: int | None = None
    used: int | None = None
    groups: int = 1
    before: Triple = (0, 0, 0)
    after: Triple = (0, 0, 0)
    strides: Triple = (1, 1, 1)
    dilations: Triple = (1, 1, 1)
    extra: Triple = (0, 0, 0)
    tile: int = 0
    bits: int = 32
    batch: int = 1
    size: Triple
    has_bias: bool = True
    has_sum: bool = False
    in_place: bool = False
    low: float = -inf
    high: float = inf
    slope: float = 1.0


def build(instruction_sets: tuple[str, ...], program: Path) -> None:
    """Compile the program that runs kernels, a source on each core at a time."""
    outside = {recipe.FOLDER / _HOST, *recipe.FOLDER.glob("*.cpp")}
    within = (path for path in recipe.sources("*.cpp") if outside.isdisjoint((path, *path.parents)))
    sources = [_PROBE, *within]
    flags = (*_FLAGS, *_SANITIZED, *(f"-m{name}" for name in instruction_sets), f"-I{recipe.FOLDER}")
    compiler = library.find_compiler()
    assert compiler is not None

    def compiled(source: Path) -> Path:
        output = program.with_name(f"{program.name}-{source.stem}.o")
        subprocess.run([*compiler, *flags, "-c", "-o", output, source], check=True)
        return output

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = list(pool.map(compiled, sources))
    subprocess.run([*compiler, *flags, "-o", program, *objects], check=True)


def apart(program: Path, block: int, asked: Convolution, seed: int) -> float:
    """The largest difference to the reference in double precision, relative to its largest value.

    Raises:
        AssertionError: A sanitizer found something.
    """
    draw = np.random.default_rng(seed)
    asked = replace(asked, in_place=asked.in_place and asked.has_sum)
    channels_in, channels_out = (count * block * asked.groups for count in asked.blocks)
    if asked.width is not None and asked.kernel in PLAIN_IMAGE:
        channels_in = asked.width
    elif asked.width is not None:
        channels_in = channels_out
        asked = replace(asked, groups=channels_in // asked.width)
    weights = draw.standard_normal((channels_out, channels_in // asked.groups, *asked.taps)).astype(np.float32)
    weights[slice(asked.used, None) if asked.used is not None else slice(0)] = 0
    bias = draw.standard_normal(channels_out if asked.has_bias else 0).astype(np.float32)
    x = draw.standard_normal((asked.batch, channels_in, *asked.size)).astype(np.float32)
    before = draw.standard_normal((2, channels_in if asked.kernel in WITH_BEFORE else 0)).astype(np.float32)
    plain = _convolved(asked, _after(x, before), weights)
    total = draw.standard_normal(plain.shape).astype(np.float32) if asked.has_sum else np.zeros(0, np.float32)
    if asked.has_bias:
        plain = plain + bias.reshape(1, -1, 1, 1, 1)
    summed = plain + total if asked.has_sum else plain
    want = np.clip(np.where(summed < 0, summed * asked.slope, summed), asked.low, asked.high)
    image = x if asked.kernel in PLAIN_IMAGE else _blocked(x, block)
    read = (_weights(weights, asked, block), bias, image, _blocked(total, block), before)
    told = _run(program, asked, (channels_in, channels_out), read)
    got = _plain(np.frombuffer(told, np.float32), want.shape, block)
    scale = float(np.abs(plain).max(initial=0.0))
    return float(np.abs(got - want).max(initial=0.0)) / (scale or 1.0)


def multiplied(program: Path, block: int, asked: Convolution, x: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """What a kernel without bias or sum makes of an image [N, C, D, H, W], its weights [K, C, taps]."""
    asked = replace(asked, has_bias=False, batch=x.shape[0], size=x.shape[2:])
    nothing = np.zeros(0, np.float32)
    shape = _convolved(asked, np.zeros(x.shape), np.zeros(weights.shape)).shape
    read = (_weights(weights, asked, block), nothing, _blocked(x, block), nothing, nothing)
    told = _run(program, asked, (x.shape[1], weights.shape[0]), read)
    return _plain(np.frombuffer(told, np.float32), shape, block)


def reordered(program: Path, block: int, planes: int, sizes: Triple, seed: int) -> tuple[np.ndarray, ...]:
    """Values [planes * block, sizes], the same from the blocks that the library made of them, and what it made."""
    x = np.random.default_rng(seed).standard_normal((planes * block, *sizes)).astype(np.float32)
    told = np.frombuffer(_told(program, ("reorder", planes, *sizes), x.tobytes()), np.float32)
    blocked, plain = told[: x.size], told[x.size :].reshape(x.shape)
    want = np.moveaxis(x.reshape(planes, block, *sizes), 1, -1)
    return x, plain, blocked.reshape(want.shape), want


def pooled(program: Path, block: int, window: tuple[Triple, ...], sizes: Triple, seed: int) -> tuple[np.ndarray, ...]:
    """What the library's pooling makes of one block, and the reference; a window is size, strides, before and after."""
    size, strides, before, after = window
    x = np.random.default_rng(seed).standard_normal((*sizes, block)).astype(np.float32)
    padded = np.pad(x, (*zip(before, after, strict=True), (0, 0)), constant_values=-np.inf)
    steps = tuple(slice(None, None, step) for step in strides)
    want = np.lib.stride_tricks.sliding_window_view(padded, size, axis=(0, 1, 2))[steps].max(axis=(-3, -2, -1))
    numbers = [number for triple in window for number in triple]
    told = _told(program, ("pool", 1, *sizes, *numbers), x.tobytes())
    return np.frombuffer(told, np.float32).reshape(want.shape), want


def padded(
    program: Path, block: int, mode: str, value: float, edges: tuple[Triple, Triple], sizes: Triple
) -> tuple[np.ndarray, np.ndarray]:
    """What the library's padding makes of two blocks, and numpy's."""
    x = np.random.default_rng(0).standard_normal((2, *sizes, block)).astype(np.float32)
    how = {"constant": {"constant_values": value}}.get(mode, {})
    want = np.pad(x, ((0, 0), *zip(*edges, strict=True), (0, 0)), mode=mode, **how)  # type: ignore[call-overload]
    number = ("constant", "reflect", "edge").index(mode)
    told = _told(program, ("pad", 2, *sizes, number, value, *edges[0], *edges[1]), x.tobytes())
    return np.frombuffer(told, np.float32).reshape(want.shape), want


def local_response(
    program: Path, block: int, counts: Triple, window: tuple[int, float, float, float], seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """What the library's LRN makes of images, blocks and pixels, and the reference; the window is as ONNX has it."""
    images, blocks, pixels = counts
    size, alpha, beta, bias = window
    x = np.random.default_rng(seed).standard_normal((images, blocks * block, pixels)).astype(np.float32)
    edges = ((0, 0), ((size - 1) // 2, size // 2), (0, 0))
    squares = np.lib.stride_tricks.sliding_window_view(np.pad(x.astype(np.float64) ** 2, edges), size, axis=1)
    want = x / (bias + alpha / size * squares.sum(axis=-1)) ** beta
    told = _told(program, ("lrn", *counts, *window), _blocked(x, block).tobytes())
    return _plain(np.frombuffer(told, np.float32), x.shape, block), want


def channelwise(
    program: Path, block: int, name: str, counts: Triple, is_of_image: bool, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """What the library makes of images, blocks and pixels by a number for each channel, and numpy does."""
    images, blocks, pixels = counts
    draw = np.random.default_rng(seed)
    x = draw.standard_normal((images, blocks * block, pixels)).astype(np.float32)
    own = draw.standard_normal((images if is_of_image else 1, blocks * block, 1)).astype(np.float32)
    want = x * own if name == "scale" else np.where(x < 0, x * own, x)
    told = _told(program, (name, *counts, int(is_of_image)), _blocked(x, block).tobytes() + own.tobytes())
    return _plain(np.frombuffer(told, np.float32), x.shape, block), want


def exponential(program: Path, numbers: np.ndarray, alpha: float) -> tuple[np.ndarray, np.ndarray]:
    """What the library's Elu makes of numbers, and the reference."""
    exact = numbers.astype(np.float64)
    want = np.where(exact < 0, alpha * np.expm1(np.minimum(exact, 0)), exact)
    return np.frombuffer(_told(program, ("elu", numbers.size, alpha), numbers.tobytes()), np.float32), want


def shuffled(
    program: Path, block: int, counts: tuple[int, int], sizes: tuple[int, int], step: int, mode: str
) -> tuple[np.ndarray, np.ndarray]:
    """Images and blocks whose channels the library moves into the picture, and numpy does, in ONNX's modes."""
    images, blocks = counts
    channels = blocks * block
    x = np.arange(images * channels * step**2 * sizes[0] * sizes[1], dtype=np.float32)
    if mode == "CRD":
        parts = x.reshape(images, channels, step, step, *sizes).transpose(0, 1, 4, 2, 5, 3)
    else:
        parts = x.reshape(images, step, step, channels, *sizes).transpose(0, 3, 4, 1, 5, 2)
    want = parts.reshape(images, channels, sizes[0] * step, sizes[1] * step)
    plain = x.reshape(images, channels * step**2, *sizes)
    words = ("shuffle", *counts, 1, *sizes, step, int(mode == "CRD"))
    told = _told(program, words, _blocked(plain, block).tobytes())
    return _plain(np.frombuffer(told, np.float32), want.shape, block), want


@dataclass(frozen=True, slots=True, kw_only=True)
class Expansion:
    """A 1x1 convolution and a depthwise one behind it, with channels in blocks; sizes are of height and width."""

    blocks: tuple[int, int]
    strides: tuple[int, int]
    edges: tuple[tuple[int, int], tuple[int, int]]
    between: tuple[float, float, bool]
    last: tuple[float, float, bool]
    batch: int
    size: tuple[int, int]


def expanded(program: Path, block: int, asked: Expansion, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """What the library makes of an expansion, and the reference in double precision."""
    draw = np.random.default_rng(seed)
    ins, outs = (count * block for count in asked.blocks)
    weights = draw.standard_normal((outs, ins, 1, 1, 1)).astype(np.float32) / ins**0.5
    filters = draw.standard_normal((outs, 1, 1, 3, 3)).astype(np.float32)
    bias, shifts = (draw.standard_normal(outs).astype(np.float32) for _ in range(2))
    x = draw.standard_normal((asked.batch, ins, 1, *asked.size)).astype(np.float32)
    before, after = ((0, *edge) for edge in asked.edges)
    one = Convolution(kernel="", taps=(1, 1, 1), blocks=asked.blocks, size=(1, *asked.size))
    two = replace(one, taps=(1, 3, 3), groups=outs, before=before, after=after, strides=(1, *asked.strides))
    wide = _ended(_convolved(one, x.astype(np.float64), weights) + bias.reshape(1, -1, 1, 1, 1), *asked.between)
    want = _ended(_convolved(two, wide, filters) + shifts.reshape(1, -1, 1, 1, 1), *asked.last)
    endings = [int(each) if isinstance(each, bool) else each for each in (*asked.between, *asked.last)]
    words = ("expansion", ins, outs, 1, *asked.strides, *before, *after, *endings, asked.batch, 1, *asked.size)
    lanes = filters.reshape(outs // block, block, 9).swapaxes(1, 2)
    read = (_weights(weights, one, block), bias, lanes, shifts, _blocked(x, block))
    told = _told(program, words, b"".join(np.ascontiguousarray(each).tobytes() for each in read))
    return _plain(np.frombuffer(told, np.float32), want.shape, block), want


def _ended(x: np.ndarray, low: float, high: float, is_swish: bool) -> np.ndarray:
    held: np.ndarray = np.clip(x, low, high)
    return held / (1 + np.exp(-held)) if is_swish else held


def resized(program: Path, sizes: Triple, results: tuple[int, int], taps: int, seed: int) -> tuple[np.ndarray, ...]:
    """Planes, height and width that the library resizes by weights of places drawn at random, and numpy does."""
    draw = np.random.default_rng(seed)
    x = draw.standard_normal(sizes).astype(np.float32)
    places = [draw.integers(0, size, (result, taps)) for size, result in zip(sizes[1:], results, strict=True)]
    weights = [draw.standard_normal(each.shape).astype(np.float32) for each in places]
    maps = [np.zeros((result, size)) for size, result in zip(sizes[1:], results, strict=True)]
    for each, own, of in zip(maps, places, weights, strict=True):
        np.add.at(each, (np.arange(len(each))[:, None], own), of)
    content = b"".join(np.ascontiguousarray(each, np.float32).tobytes() for each in (x, *places, *weights))
    told = _told(program, ("resize", *sizes, taps, *results), content)
    want = maps[0] @ x.astype(np.float64) @ maps[1].T
    return np.frombuffer(told, np.float32).reshape(want.shape), want


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """What follows the sums of a product."""

    has_bias: bool
    has_sum: bool
    is_gelu: bool


NOTHING = Ending(has_bias=False, has_sum=False, is_gelu=False)


def packed_product(
    program: Path, block: int, bits: int, sizes: Triple, ending: Ending, seed: int
) -> tuple[np.ndarray, np.ndarray, float]:
    """The library's product of m rows by a weight of rows and columns in few bits, and numpy's by the same numbers.

    Behind them how far they may be apart: what is multiplied is rounded by half a step of its 16 bits, at most, and
    GELU is nowhere steeper than 1.13.
    """
    m, rows, columns = sizes
    draw = np.random.default_rng(seed)
    blocks = Blocks.of(draw.standard_normal((rows, columns)).astype(np.float32), bits)
    x = draw.standard_normal((m, rows)).astype(np.float32)
    bias = draw.standard_normal(columns if ending.has_bias else 0).astype(np.float32)
    added = draw.standard_normal((m, columns) if ending.has_sum else 0).astype(np.float32)
    want = x.astype(np.float64) @ blocks.restored()
    want += bias if ending.has_bias else 0.0
    want += added if ending.has_sum else 0.0
    if ending.is_gelu:
        want *= (1 + np.tanh(np.sqrt(2 / np.pi) * (want + 0.044715 * want**3))) / 2
    step = float(np.abs(x).max()) / (2**15 - 1)
    apart = 1.13 * (0.5 + 2**-6) * step * float(np.abs(blocks.restored()).sum(axis=0).max())
    return _multiplied(program, block, x, blocks, ending, bias, added), want, apart + 1e-6 * float(np.abs(want).max())


def by_ones(program: Path, block: int, bits: int, x: np.ndarray) -> np.ndarray:
    """The library's product of some rows by a weight of ones in few bits."""
    return _multiplied(program, block, x, Blocks.of(np.ones((x.shape[1], 5), np.float32), bits), NOTHING)


def _multiplied(
    program: Path, block: int, x: np.ndarray, weight: Blocks, ending: Ending, *added: np.ndarray
) -> np.ndarray:
    has = (int(each) for each in (ending.has_bias, ending.has_sum, ending.is_gelu))
    words = ("packed", bits_of(weight.codes), *weight.codes.shape, len(x), *has)
    parts = (x, *added, packed(weight.codes, weight.scales, block))
    told = _told(program, words, b"".join(each.tobytes() for each in parts))
    return np.frombuffer(told, np.float32).reshape(len(x), -1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attention:
    """Attention over a cache: the width is in blocks, and each head of keys has several of queries."""

    images: int
    key_heads: int
    group: int
    rows: int
    blocks: int
    cached: int
    adds: bool
    hides_odd: bool = False
    has_mask: bool


def attended(program: Path, block: int, asked: Attention, odd: float | None, seed: int) -> tuple[np.ndarray, ...]:
    """What the library makes of an attention, all in one row, and the reference in double precision.

    Args:
        odd: Stands in the mask for the last key of the first row.
    """
    draw = np.random.default_rng(seed)
    heads, width = asked.key_heads * asked.group, asked.blocks * block
    count = asked.cached + asked.rows * asked.adds
    query = draw.standard_normal((asked.images, asked.rows, heads, width)).astype(np.float32)
    held = draw.standard_normal((2, asked.images, asked.key_heads, asked.cached, width)).astype(np.float32)
    own = draw.standard_normal((2, asked.images, asked.rows * asked.adds, asked.key_heads, width)).astype(np.float32)
    mask = draw.standard_normal((asked.rows * asked.has_mask, count)).astype(np.float32)
    if odd is not None and mask.size:
        mask[0, -1] = odd
    keys, values = np.concatenate([held, own.swapaxes(2, 3)], axis=3)
    scale = 1 / width**0.5
    wide = [each.repeat(asked.group, axis=1).astype(np.float64) for each in (keys, values)]
    scores = query.swapaxes(1, 2).astype(np.float64) @ wide[0].swapaxes(2, 3) * scale + (mask if mask.size else 0.0)
    with np.errstate(invalid="ignore"):
        powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    want = (powers / powers.sum(axis=-1, keepdims=True) @ wide[1]).swapaxes(1, 2)
    sizes = (asked.images, heads, asked.key_heads, asked.rows, width, asked.cached)
    words = ("attention", *sizes, int(asked.adds), int(asked.hides_odd), scale, int(asked.has_mask))
    told = _told(program, words, b"".join(np.ascontiguousarray(each).tobytes() for each in (query, *held, *own, mask)))
    joined = (want, keys, values) if asked.adds else (want,)
    return np.frombuffer(told, np.float32), np.concatenate([each.reshape(-1) for each in joined])


def affine(
    program: Path, block: int, counts: Triple, stages: int, limits: tuple[float, float], seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """What the library makes by factors and shifts of each channel, once or twice, and numpy does."""
    images, blocks, pixels = counts
    draw = np.random.default_rng(seed)
    x = draw.standard_normal((images, blocks * block, pixels)).astype(np.float32)
    numbers = draw.standard_normal((stages, 2, blocks * block)).astype(np.float32)
    want = x.astype(np.float64)
    for factors, shifts in numbers:
        want = want * factors[:, None] + shifts[:, None]
    told = _told(program, ("affine", *counts, stages, *limits), _blocked(x, block).tobytes() + numbers.tobytes())
    return _plain(np.frombuffer(told, np.float32), x.shape, block), np.clip(want, *limits)


def normalised(
    program: Path, block: int, counts: Triple, mean: float, limits: tuple[float, float], seed: int
) -> tuple[np.ndarray, np.ndarray, float]:
    """What the library's instance normalisation makes of numbers around a mean, the reference, and the largest factor
    by which it spreads them.
    """
    images, blocks, pixels = counts
    draw = np.random.default_rng(seed)
    x = (draw.standard_normal((images, blocks * block, pixels)) + mean).astype(np.float32)
    scale, bias = (draw.standard_normal(blocks * block).astype(np.float32) for _ in range(2))
    exact = x.astype(np.float64)
    apart = exact - exact.mean(axis=2, keepdims=True)
    factor = scale[:, None] / np.sqrt(exact.var(axis=2, keepdims=True) + 1e-5)
    want = np.clip(apart * factor + bias[:, None], *limits)
    content = b"".join(each.tobytes() for each in (_blocked(x, block), scale, bias))
    told = _told(program, ("instance", *counts, 1e-5, *limits), content)
    return _plain(np.frombuffer(told, np.float32), x.shape, block), want, float(np.abs(factor).max())


def _run(program: Path, asked: Convolution, channels: tuple[int, int], read: tuple[np.ndarray, ...]) -> bytes:
    steps = (*asked.strides, *asked.dilations, *asked.extra)
    sizes = (*asked.taps, *asked.before, *asked.after, *steps, asked.tile, asked.bits, asked.batch, *asked.size)
    flags = (int(asked.has_bias), int(asked.has_sum), int(asked.in_place))
    words = (asked.kernel, asked.groups, *channels, *sizes, *flags, asked.low, asked.high, asked.slope)
    return _told(program, words, b"".join(np.ascontiguousarray(each).tobytes() for each in read))


def _told(program: Path, words: tuple[object, ...], content: bytes) -> bytes:
    environment = {**os.environ, "ASAN_OPTIONS": "detect_leaks=1", "UBSAN_OPTIONS": "print_stacktrace=1"}
    done = subprocess.run([program, *map(str, words)], input=content, capture_output=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    return done.stdout


def _after(x: np.ndarray, before: np.ndarray) -> np.ndarray:
    """What a convolution reads, in double precision."""
    if before.size == 0:
        return x.astype(np.float64)
    factors, shifts = before.astype(np.float64).reshape(2, 1, -1, 1, 1, 1)
    held: np.ndarray = np.maximum(x * factors + shifts, 0.0)
    return held


def _convolved(asked: Convolution, x: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """In double precision, without bias."""
    if asked.kernel in TRANSPOSED:
        return _spread(asked, x, weights.astype(np.float64))
    edges = ((0, 0), (0, 0), *zip(asked.before, asked.after, strict=True))
    spans = tuple((tap - 1) * apart + 1 for tap, apart in zip(asked.taps, asked.dilations, strict=True))
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(x, edges), spans, axis=(2, 3, 4))
    steps: tuple[Any, ...] = tuple(slice(None, None, apart) for apart in (*asked.strides, *asked.dilations))
    windows = windows[(slice(None), slice(None), *steps)]
    per_in, per_out = (count // asked.groups for count in (x.shape[1], weights.shape[0]))
    parts = [
        np.einsum(
            "ncdhwijk,ocijk->nodhw",
            windows[:, group * per_in : (group + 1) * per_in],
            weights[group * per_out : (group + 1) * per_out].astype(np.float64),
            optimize=True,
        )
        for group in range(asked.groups)
    ]
    return np.concatenate(parts, axis=1)


def _spread(asked: Convolution, x: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Each pixel over the taps of a filter, in double precision; weights are [K, C, taps]."""
    axes = tuple(zip(x.shape[2:], asked.taps, asked.strides, asked.dilations, asked.extra, strict=True))
    sizes = [(size - 1) * stride + (tap - 1) * apart + 1 + extra for size, tap, stride, apart, extra in axes]
    whole = np.zeros((x.shape[0], weights.shape[0], *sizes))
    for tap in np.ndindex(*asked.taps):
        steps = zip(tap, axes, strict=True)
        places: tuple[Any, ...] = tuple(
            slice(at * apart, at * apart + (size - 1) * stride + 1, stride) for at, (size, _, stride, apart, _) in steps
        )
        own: tuple[Any, ...] = (slice(None), slice(None), *tap)
        whole[(slice(None), slice(None), *places)] += np.einsum("ncdhw,oc->nodhw", x, weights[own])
    cuts = zip(asked.before, asked.after, sizes, strict=True)
    rest: tuple[Any, ...] = tuple(slice(front, size - back) for front, back, size in cuts)
    return whole[(slice(None), slice(None), *rest)]


def _blocked(x: np.ndarray, block: int) -> np.ndarray:
    """[N, C, D, H, W] as [N][C/B][D][H][W][B]."""
    if x.size == 0:
        return x
    batch, channels, *size = x.shape
    return np.moveaxis(x.reshape(batch, channels // block, block, *size), 2, -1)


def _plain(y: np.ndarray, shape: tuple[int, ...], block: int) -> np.ndarray:
    batch, channels, *size = shape
    return np.moveaxis(y.reshape(batch, channels // block, *size, block), -1, 2).reshape(shape)


def _weights(weights: np.ndarray, asked: Convolution, block: int) -> np.ndarray:
    """As ONNX has them, or as ONNX Runtime's blocked layout does: [K/B][C/B][taps][B in][B out]."""
    if asked.kernel in TRANSPOSED:
        return weights.swapaxes(0, 1)
    if asked.kernel in PLAIN:
        return weights
    outs, ins, *taps = weights.shape
    split = weights.reshape(outs // block, block, ins // block, block, *taps)
    return split.transpose(0, 2, 4, 5, 6, 3, 1)
