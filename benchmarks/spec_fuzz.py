"""Random and mutated texts through every reader of the spec language: a value or a `SpecError`, and how long it takes.

``python -m benchmarks.spec_fuzz FIRST LAST`` reads the texts of these numbers and writes
``benchmarks/results/spec_fuzz.json``. A run that begins where the last one ended goes on with its figures, so a million
texts can be read in parts. A text follows from its number alone. Times are processor times, so that other work on the
machine does not count.
"""

from __future__ import annotations

import contextlib
import json
import math
import random
import statistics
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from intarsia.config import CompilationConfig, Deployment, Executor, Runtime
from intarsia.errors import SpecError
from intarsia.target import KINDS, Target, VirtualDevice, parse_targets

RESULTS = Path(__file__).parent / "results" / "spec_fuzz.json"
Reader = Callable[[str], object]
SAMPLES: tuple[tuple[Reader, str], ...] = (
    (CompilationConfig.of, "ethos-n77, acl, llvm mattr=+neon"),
    (CompilationConfig.of, "nvidia/geforce-rtx-3070"),
    (Target, "nvidia/jetson-nano -max_num_threads=64"),
    (parse_targets, "nvidia/geforce-gt-730-ddr3,128bit, llvm"),
    (parse_targets, "cuda -arch=sm_80 -compiler=tensorrt, cuda -arch=sm_80"),
    (CompilationConfig.of, "opencl:1, opencl:0, llvm -mcpu=skylake-avx512 --mattr=+avx512f,-avx"),
    (Target, "composite -host='llvm -mcpu=a' -devices=\"tensorrt, 'cuda -arch=sm_80'\""),
    (Target, "llvm -cl-opt='-unroll-threshold:uint=100,-unroll-count:uint=3' --jit orcjit -fast-math"),
    (Target, "vulkan -device_name='Name of GPU with spaces' -supports_float16=True"),
    (
        CompilationConfig.of,
        '{"kind": "composite", "host": "llvm", "devices": [{"kind": "ethosn"}, {"kind": "opencl"}]}',
    ),
    (
        CompilationConfig.of,
        '{"targets": ["ethos-u", "cmsis-nn", "c"], "executor": "aot", "runtime": {"kind": "crt", "system-lib": true}}',
    ),
    (
        CompilationConfig.of,
        '{"targets": [{"targets": ["cuda"], "executor": "cuda-graph", "libraries": ["tensorrt"]}, "cuda"]}',
    ),
    (CompilationConfig.of, '{"targets": ["cuda"], "devices": {"gpu1": "cuda:0", "gpu2": "cuda:1"}}'),
    (Deployment.of, '{"machines": {"m0": {"targets": ["cuda"], "host": "x86"}, "m1": {"targets": ["vulkan"]}}}'),
    (Executor, "aot -interface-api=c -unpacked-api -constant-byte-alignment 16"),
    (Runtime, "crt -system-lib"),
    (VirtualDevice.of, "cuda:3 -target='cuda -arch=sm_80' -memory-scope=global"),
)
"""Legal texts, each with who reads it."""
TYPICAL = (
    "llvm",
    "llvm -mcpu=cascadelake",
    "cuda -arch=sm_80",
    "onnxruntime -optimization-level=extended",
    "onnxruntime -optimization-level=all -threads=2",
    "openvino -performance-hint=latency -threads=4",
)
"""Targets as people write them."""
REPEATS = 200
READERS: tuple[Reader, ...] = tuple(dict.fromkeys(read for read, _ in SAMPLES))
WORDS = (
    ", \n \t ' \" \\ = - -- --- : { } [ ] null true 1e999 -1 0x1 \x00 é \ud800 host kind tag targets devices -host= "
    "-devices= -keys= -mattr=+ executor runtime composite config deployment '' \"'\" \\' :0 :1 :x"
)
WORKLOADS = (
    *WORDS.split(" "),
    " ",
    ", ",
    '": "',
    '", "',
)
LONGEST = 4000
BUCKETS = 100
"""Buckets of the histogram of times per factor of ten; a quantile is known to 2.3 %."""


def text_of(number: int) -> tuple[Reader, str]:
    """The text of this number, and who is to read it.

    Two of three are samples with up to three changes, for their own reader or another; the rest is made of workloads.
    """
    rng = random.Random(number)
    read, text = rng.choice(SAMPLES)
    if rng.random() < 0.3:
        read = rng.choice(READERS)
    if rng.random() < 0.35:
        text = rng.choice(("", " ")).join(_word(rng) for _ in range(rng.randrange(12)))
    for _ in range(rng.randrange(4)):
        text = _changed(text, rng)
    if rng.random() < 0.002:
        text = text * (LONGEST // max(len(text), 1))
    return read, text[:LONGEST]


def _word(rng: random.Random) -> str:
    pick = rng.random()
    if pick < 0.6:
        return rng.choice(WORKLOADS)
    if pick < 0.8:
        return rng.choice(tuple(KINDS))
    return "".join(chr(rng.randrange(1, 0x250)) for _ in range(rng.randrange(4)))


def _changed(text: str, rng: random.Random) -> str:
    start = rng.randrange(len(text) + 1)
    stop = min(len(text), start + rng.randrange(6))
    match rng.randrange(5):
        case 0:
            return text[:start] + text[stop:]
        case 1:
            return text[:start] + _word(rng) + text[stop:]
        case 2:
            return text[:start] + text[start:stop] * rng.randrange(2, 5) + text[stop:]
        case 3:
            return text[:start]
        case _:
            _, other = rng.choice(SAMPLES)
            return text[:start] + other[rng.randrange(len(other)) :]


@dataclass(slots=True)
class Figures:
    """What reading gave.

    Attributes:
        texts: How many were read.
        values: How many of them gave a value; the others a `SpecError`.
        worst_ms: The longest that one took.
        worst: Number of the text that took so long.
        histogram: Texts by time: bucket ``b`` holds those of about ``10**(b / BUCKETS)`` microseconds.
    """

    texts: int = 0
    values: int = 0
    worst_ms: float = 0.0
    worst: int = 0
    histogram: Counter[int] = field(default_factory=Counter)

    def note(self, number: int, seconds: float, *, is_value: bool) -> None:
        """Count one text."""
        self.texts += 1
        self.values += is_value
        self.histogram[round(BUCKETS * math.log10(max(seconds * 1e6, 0.1)))] += 1
        if seconds * 1e3 > self.worst_ms:
            self.worst_ms, self.worst = seconds * 1e3, number

    def quantile_us(self, share: float) -> float:
        """Microseconds within which this share of the texts was read."""
        times = chain.from_iterable([bucket] * count for bucket, count in sorted(self.histogram.items()))
        found = next(bucket for rank, bucket in enumerate(times, start=1) if rank >= share * self.texts)
        return float(10 ** (found / BUCKETS))

    def export(self) -> dict[str, Any]:
        """A dict of pure JSON."""
        return {
            "texts": self.texts,
            "values": self.values,
            "refused": self.texts - self.values,
            "median_us": round(self.quantile_us(0.5), 1),
            "p99_us": round(self.quantile_us(0.99), 1),
            "worst_ms": round(self.worst_ms, 3),
            "worst_text": self.worst,
            "histogram": {str(bucket): count for bucket, count in sorted(self.histogram.items())},
        }


def read_all(numbers: range, figures: Figures) -> None:
    """Read the texts of these numbers. What is loaded at the first use is loaded before.

    Raises:
        RuntimeError: A text gave another exception than `SpecError`; its number is told.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        for read in READERS:
            with contextlib.suppress(SpecError):
                read("no-such-thing")
        for number in numbers:
            read, text = text_of(number)
            start = time.thread_time()
            try:
                read(text)
                is_value = True
            except SpecError:
                is_value = False
            except Exception as error:
                raise RuntimeError(f"text {number}, {text!r}: {type(error).__name__}: {error}") from error
            figures.note(number, time.thread_time() - start, is_value=is_value)


def typical_us() -> dict[str, float]:
    """Median microseconds of each typical text, read over and over by turns."""
    times: dict[str, list[float]] = {text: [] for text in TYPICAL}
    for _ in range(REPEATS):
        for text, spent in times.items():
            start = time.thread_time()
            Target(text)
            spent.append((time.thread_time() - start) * 1e6)
    return {text: round(statistics.median(spent), 1) for text, spent in times.items()}


def recorded(first: int) -> Figures:
    """The figures to go on with: those of the file if they end where this run begins."""
    if not first or not RESULTS.exists():
        return Figures()
    data = json.loads(RESULTS.read_text(encoding="utf-8"))
    if data["texts"] != first:
        raise SystemExit(f"{RESULTS} ends at {data['texts']}; begin there, or at 0")
    histogram = Counter({int(bucket): count for bucket, count in data["histogram"].items()})
    return Figures(first, data["values"], data["worst_ms"], data["worst_text"], histogram)


def shown(figures: Figures, typical: dict[str, float]) -> Iterator[str]:
    """The figures in words."""
    data = figures.export()
    yield f"typical targets: median {statistics.median(typical.values()):.1f} µs, from {min(typical.values())} up"
    yield f"{data['texts']} texts: {data['values']} values, {data['refused']} refused, nothing else"
    yield f"median {data['median_us']} µs, 99 % within {data['p99_us']} µs, worst {data['worst_ms']} ms"


def main(first: int, last: int) -> None:
    """Read the texts from ``first`` up to ``last``."""
    figures = recorded(first)
    read_all(range(first, last), figures)
    typical = typical_us()
    data = {**figures.export(), "typical_us": typical}
    RESULTS.write_text(f"{json.dumps(data, indent=1)}\n", encoding="utf-8")
    print("\n".join(shown(figures, typical)))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
