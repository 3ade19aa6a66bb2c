"""How large the files of a release are, and what is in the Linux wheel: ``python -m benchmarks.release_sizes``.

It counts what `make dist` left in ``dist``, and draws the tables of docs/ship.md.
"""

from __future__ import annotations

import json
import sys
import zipfile
from collections import defaultdict
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from types import MappingProxyType
from typing import Any

from benchmarks.install_sizes import PAGE, ROOT, render
from intarsia.backends import registry

RESULTS = ROOT / "benchmarks" / "results" / "release_sizes.json"
FILES_START, PARTS_START, LICENCES_START = "<!-- release -->", "<!-- wheel -->", "<!-- licences -->"
FILES: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "*_x86_64.whl": ("the wheel for Linux on x86-64", "holds our kernels built: it takes no compiler"),
        "*-any.whl": ("the pure wheel", "any other system: a C++ compiler builds the kernels at first use"),
        "*.tar.gz": ("the sdist", "what both wheels are built from"),
    }
)
"""The files of a release by the pattern of their names: what each is, and what for."""
PARTS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "Python": ("intarsia/*.py", "intarsia/py.typed"),
        "our kernels, built for AVX-512": ("intarsia/backends/native/prebuilt/*-avx512*.so",),
        "our kernels, built for AVX2": ("intarsia/backends/native/prebuilt/*-fma.so",),
        "sources of our kernels": ("intarsia/backends/native/*.cpp", "intarsia/backends/native/*.h"),
        "sources of the library for C and C++": (
            "intarsia/runtime/cpp/library/*",
            "intarsia/runtime/cpp/example/*",
            "intarsia/runtime/cpp/linked/*",
        ),
        "what targets may be: tags, features, processors": ("intarsia/target/*.json", "intarsia/target/*.toml"),
        "the page of `intarsia report`, with D3": ("intarsia/report/page/assets/*",),
        "C for microcontrollers": ("intarsia/codegen/*.c", "intarsia/codegen/*.h"),
        "the messages of remote workers": ("intarsia/remote/worker.*",),
        "about the package": ("*.dist-info/*",),
    }
)
"""What the wheel holds, by patterns of paths, whose ``*`` stands for folders too; the first that fits counts."""
ENGINES = ("onnxruntime", "openvino", "mnn", "ncnn", "winograd")
"""Those of the extra `cpu`."""


def part_of(name: str) -> str:
    """The part that a file of the wheel belongs to.

    Raises:
        ValueError: It belongs to none: `PARTS` lacks one.
    """
    for part, patterns in PARTS.items():
        if any(fnmatchcase(name, pattern) for pattern in patterns):
            return part
    raise ValueError(f"no part of the wheel holds {name}")


def measure(folder: Path) -> dict[str, Any]:
    """Bytes of each file of the release; of each part of the Linux wheel, as it is packed and when it is installed."""
    (wheel,) = folder.glob("*_x86_64.whl")
    parts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    with zipfile.ZipFile(wheel) as archive:
        for info in archive.infolist():
            sizes = parts[part_of(info.filename)]
            sizes[0] += info.compress_size
            sizes[1] += info.file_size
    return {
        "files": {pattern: sum(path.stat().st_size for path in folder.glob(pattern)) for pattern in FILES},
        "parts": parts,
    }


def tables(results: Mapping[str, Any]) -> dict[str, str]:
    """The parts of the page, by the comment that starts them."""
    files = ["| file | for | MB |", "| --- | --- | ---: |"]
    files += [f"| {what} | {use} | {results['files'][pattern] / 1e6:.1f} |" for pattern, (what, use) in FILES.items()]
    parts = ["| part of the Linux wheel | kB, packed | kB, installed |", "| --- | ---: | ---: |"]
    parts += [f"| {part} | {sizes[0] / 1e3:.0f} | {sizes[1] / 1e3:.0f} |" for part, sizes in results["parts"].items()]
    licences = ["| engine | licence |", "| --- | --- |"]
    licences += [f"| {name} | {registry.get(name).licence} |" for name in ENGINES]
    return {FILES_START: "\n".join(files), PARTS_START: "\n".join(parts), LICENCES_START: "\n".join(licences)}


def main() -> None:
    """Count the files of a folder, ``dist`` if none is named, and draw the page anew."""
    found = measure(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "dist")
    found["parts"] = dict(sorted(found["parts"].items(), key=lambda item: -item[1][1]))
    RESULTS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(render(PAGE.read_text(encoding="utf-8"), tables(found)), encoding="utf-8")


if __name__ == "__main__":
    main()
