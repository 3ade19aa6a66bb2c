"""``python -m tests.conformance [ENGINE ...]``: run the node cases on the engines that are here, or on those named.

An engine on a device beside the CPU is named as ``ncnn-on-vulkan``.

Writes what came of each case to ``tests/conformance/data/engines/ENGINE.json``, and draws ``docs/engines.md`` from all
of these files. For an engine of another package, ``--records FOLDER`` has its file and its page written there.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from pathlib import Path

from tests.conformance.node_cases import node_cases
from tests.conformance.page import PAGE, page
from tests.conformance.suite import FOLDER, records, run, usable


def main() -> None:
    """Run, write, and say what failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance")
    parser.add_argument("engines", nargs="*", metavar="ENGINE")
    parser.add_argument("--records", type=Path, metavar="FOLDER")
    told = parser.parse_args()
    folder = told.records or FOLDER
    for engine in told.engines or usable():
        record = run(engine, node_cases())
        record.store(folder)
        for name, why in record.why.items():
            print(f"{engine}: {name}: {why}")
        # Most sentences end with the value that they are about.
        sentences = (re.sub(r" \(.*", "", each) for several in record.given_away.values() for each in several)
        for sentence, count in Counter(sentences).most_common():
            print(f"{engine}: {count} given away: {sentence}")
        print(engine, dict(Counter(record.outcomes.values())), flush=True)
    drawn = PAGE if told.records is None else told.records / PAGE.name
    drawn.write_text(page(records(folder), node_cases()), encoding="utf-8")


if __name__ == "__main__":
    main()
