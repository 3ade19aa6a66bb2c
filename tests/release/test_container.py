"""The Dockerfile of docs/ship.md, line by line, with folders of a virtual environment in the place of an image's."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from intarsia.config import RunSettings
from intarsia.graph import load_model
from intarsia.partitioning import Partition, linear_order
from intarsia.runtime import build, plan_of, write_artifact
from intarsia.target import Target
from tests.release.conftest import ROOT, Release
from tests.release.models import small

pytestmark = [pytest.mark.e2e, pytest.mark.engine, pytest.mark.slow]

PAGE = ROOT / "docs" / "ship.md"
DOCKERFILE = re.compile(r"^```dockerfile\n(.*?)^```", re.MULTILINE | re.DOTALL)
ABSOLUTE = re.compile(r"(?<![\w*./])/(?=(?:release|venv|app)\b)")
SERVE = """
from pathlib import Path
import numpy as np
import intarsia
with intarsia.load(Path(__file__).with_name("model.intarsia"), trusted=True) as model:
    outputs = model({"data": np.ones((1, 3, 224, 224), np.float32)})
np.savez(Path(__file__).with_name("answer.npz"), **outputs)
"""


def instructions() -> Iterator[tuple[str, str]]:
    """The keyword and the rest of each instruction of the page's Dockerfile."""
    (text,) = DOCKERFILE.findall(PAGE.read_text(encoding="utf-8"))
    for line in re.sub(r"\\\n", " ", text).splitlines():
        keyword, _, rest = line.partition(" ")
        if keyword:
            yield keyword, rest


def copied(context: Path, words: list[str]) -> None:
    """COPY: files of the build's folder into a folder of the image."""
    *patterns, place = words
    Path(place).mkdir(parents=True, exist_ok=True)
    for pattern in patterns:
        found = list(context.glob(pattern))
        assert found, pattern
        for path in found:
            shutil.copy(path, place)


@pytest.mark.usefixtures("index")
def test_the_pages_dockerfile_builds_what_runs_an_artifact(release: Release, tmp_path: Path) -> None:
    context, image = tmp_path / "context", tmp_path / "image"
    shutil.copytree(release.linux.parent, context / "dist")
    shutil.copy(ROOT / "constraints.txt", context)
    (context / "serve.py").write_text(SERVE, encoding="utf-8")
    graph = load_model(small(1))
    whole = [Partition(target=Target("onnxruntime"), nodes=linear_order(graph))]
    write_artifact(context / "model.intarsia", graph, build(graph, plan_of(graph, whole, RunSettings(threads=1))))
    variables = {"PATH": f"{Path(sys.executable).parent}:/bin", "HOME": str(tmp_path)}
    seen = []
    for keyword, rest in instructions():
        seen.append(keyword)
        words = ABSOLUTE.sub(f"{image}/", rest)
        match keyword:
            case "FROM":
                assert rest.startswith("python:3.")
            case "COPY" if rest.startswith("--from="):
                assert Path(words.split()[-1], "bin", "python").exists()
            case "COPY":
                copied(context, words.split())
            case "ENV":
                variables |= dict([words.split("=")])
            case "RUN":
                subprocess.run(["/bin/sh", "-c", words], env=variables, check=True, capture_output=True)
            case "CMD":
                subprocess.run(json.loads(words), env=variables | {"PATH": os.devnull}, check=True)
            case _:
                pytest.fail(f"the page's Dockerfile has an instruction that is not tried: {keyword}")
    assert seen == ["FROM", "COPY", "RUN", "FROM", "COPY", "COPY", "ENV", "CMD"]
    with np.load(image / "app" / "answer.npz") as answer:
        assert answer["scores"].shape == (1, 1000)
        assert np.isfinite(answer["scores"]).all()
