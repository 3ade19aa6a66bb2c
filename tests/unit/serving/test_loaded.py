from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from intarsia.config import RunSettings
from intarsia.errors import ConfigError
from intarsia.serving.loaded import Loading, batch_of
from tests.artifacts import written
from tests.serving.models import batched

ALONE = RunSettings(threads=1)
TOGETHER = RunSettings(threads=1, batch=8)


@pytest.mark.parametrize(("stated", "batch"), [(None, 8), (1, 1), (5, 5), (8, 8)])
def test_a_batch_is_as_large_as_stated_and_as_measured_at_most(stated: int | None, batch: int) -> None:
    assert batch_of(TOGETHER, stated) == batch


def test_what_was_not_measured_with_batches_has_none() -> None:
    assert batch_of(ALONE, None) == batch_of(ALONE, 1) == 1
    with pytest.raises(ConfigError, match=r"--batch 2: nothing shows that the rows .* --objective throughput"):
        batch_of(ALONE, 2)
    with pytest.raises(ConfigError, match="--batch 9: this artifact is for 8 at most"):
        batch_of(TOGETHER, 9)


def test_an_artifact_says_how_large_its_batches_are(tmp_path: Path) -> None:
    right = batched(tmp_path / "m.intarsia", batch=4)
    loaded = Loading(instances=2)("m", "1", tmp_path / "m.intarsia")
    assert (loaded.batch, loaded.facts["batch"], len(loaded.instances)) == (4, 4, 2)
    for instance in loaded.instances:
        for rows in (1, 4):
            x = np.random.default_rng(rows).standard_normal((rows, 32)).astype(np.float32)
            np.testing.assert_allclose(instance({"x": x})["y"], right(x), rtol=1e-4, atol=1e-3)
    loaded.close()


def test_batches_can_be_switched_off(tmp_path: Path) -> None:
    batched(tmp_path / "m.intarsia")
    loaded = Loading(batch=1)("m", "1", tmp_path / "m.intarsia")
    assert loaded.batch == 1
    assert "batch" not in loaded.facts
    loaded.close()


def test_an_artifact_that_is_not_for_batches_is_not_loaded_for_them(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="nothing shows"):
        Loading(batch=2)("m", "1", written(tmp_path / "m.intarsia"))
