"""``python -m tests.conformance [ENGINE ...]``: run the node cases on the engines that are here, or on those named.

An engine on a device beside the CPU is named as ``ncnn@vulkan``.

Writes what came of each case to ``tests/conformance/data/engines/ENGINE.json``, and draws ``docs/engines.md`` from all
of these files.
"""

from __future__ import annotations

import sys
from collections import Counter

from tests.conformance.node_cases import node_cases
from tests.conformance.page import PAGE, page
from tests.conformance.suite import FOLDER, records, run, usable


def main() -> None:
    """Run, write, and say what failed."""
    for engine in sys.argv[1:] or usable():
        record = run(engine, node_cases())
        record.store(FOLDER)
        for name, why in record.why.items():
            print(f"{engine}: {name}: {why}")
        print(engine, dict(Counter(record.outcomes.values())), flush=True)
    PAGE.write_text(page(records(), node_cases()), encoding="utf-8")


if __name__ == "__main__":
    main()
