"""What each way to install takes on the disk: ``python -m benchmarks.install_sizes``, drawn on docs/ship.md.

Each way gets a virtual environment of its own, filled by pip from the pinned versions as a user would fill it. Counted
is what pip says it wrote, bytecode included, without pip and setuptools themselves.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import venv
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "install_sizes.json"
PAGE = ROOT / "docs" / "ship.md"
START, PACKAGES_START = "<!-- installed -->", "<!-- packages -->"
END = "<!-- end -->"
MOST = 8
"""Packages that are listed by themselves."""
WAYS: Mapping[str, tuple[str, Sequence[str]]] = MappingProxyType(
    {
        "`'.[cpu]'`": ("compile over four engines, and run", (".[cpu]",)),
        "`'.[compile,onnxruntime]'`": ("compile for ONNX Runtime, and run", (".[compile,onnxruntime]",)),
        "`'.[compile,openvino]'`": ("compile for OpenVINO, and run", (".[compile,openvino]",)),
        "`'.[onnxruntime]'`": ("run an artifact", (".[onnxruntime]",)),
        "`'.[openvino]'`": ("run an artifact", (".[openvino]",)),
        "`numpy onnxruntime`": ("the engine alone; run what was exported", ("numpy", "onnxruntime")),
        "`numpy openvino`": ("the engine alone; run what was exported", ("numpy", "openvino")),
    }
)
"""What is given to pip, and what it is for."""
_COUNT = """
import importlib.metadata, json, os
found = {}
for each in importlib.metadata.distributions():
    files = {os.path.realpath(each.locate_file(file)) for file in each.files or ()}
    sizes = [(file.endswith(".pyc"), os.path.getsize(file)) for file in files if os.path.isfile(file)]
    found[each.metadata["Name"]] = [sum(size for is_byte, size in sizes if is_byte == which) for which in (False, True)]
print(json.dumps(found))
"""


def measure(arguments: Sequence[str]) -> dict[str, list[int]]:
    """Bytes of files and of bytecode by package, after pip installed these into an empty environment."""
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = str(Path(folder, "bin", "python"))
        constraints = ("-c", str(ROOT / "constraints.txt"))
        subprocess.run([python, "-m", "pip", "install", "-q", *constraints, *arguments], check=True, cwd=ROOT)
        counted = subprocess.run([python, "-c", _COUNT], check=True, capture_output=True, text=True)
    found: dict[str, list[int]] = json.loads(counted.stdout)
    return {name: sizes for name, sizes in found.items() if name not in ("pip", "setuptools")}


def tables(results: Mapping[str, Any]) -> dict[str, str]:
    """The parts of the page, by the comment that starts them."""
    rows = ["| given to `pip install` | for | MB | of it bytecode, MB |", "| --- | --- | ---: | ---: |"]
    for way, (use, _) in WAYS.items():
        sizes = results[way].values()
        rows.append(
            f"| {way} | {use} | {sum(map(sum, sizes)) / 1e6:.0f} | {sum(each[1] for each in sizes) / 1e6:.0f} |"
        )
    whole = sorted(results["`'.[cpu]'`"].items(), key=lambda item: -sum(item[1]))
    packages = ["| package of `'.[cpu]'` | MB |", "| --- | ---: |"]
    packages += [f"| {name} | {sum(sizes) / 1e6:.0f} |" for name, sizes in whole[:MOST]]
    packages.append(f"| {len(whole) - MOST} more | {sum(sum(sizes) for _, sizes in whole[MOST:]) / 1e6:.0f} |")
    return {START: "\n".join(rows), PACKAGES_START: "\n".join(packages)}


def render(text: str, parts: Mapping[str, str]) -> str:
    """The page with the tables in their places."""
    for start, table in parts.items():
        before, _, rest = text.partition(start)
        _, _, after = rest.partition(END)
        text = f"{before}{start}\n{table}\n{END}{after}"
    return text


def main() -> None:
    """Measure the ways that are named, or all, and draw the page anew."""
    results = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    for way in sys.argv[1:] or WAYS:
        results[way] = measure(WAYS[way][1])
        RESULTS.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        print(way, f"{sum(map(sum, results[way].values())) / 1e6:.0f} MB", flush=True)
    PAGE.write_text(render(PAGE.read_text(encoding="utf-8"), tables(results)), encoding="utf-8")


if __name__ == "__main__":
    main()
