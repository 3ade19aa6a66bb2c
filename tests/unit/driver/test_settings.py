"""The settings of a compile are checked once, whoever states them, and a wrong one is named with what is right."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields, replace
from pathlib import Path
from typing import Any, get_type_hints

import pytest

from intarsia.cli.compile import compile_
from intarsia.config import SearchSettings
from intarsia.devices import Constraint
from intarsia.driver.settings import SETTINGS, CompileOptions, CompileSettings, settings_of, stated_of
from intarsia.errors import ConfigError, PlanError
from intarsia.partitioning import PlanFile
from intarsia.planning.request import Request

WRONG: dict[str, tuple[tuple[Any, str], ...]] = {
    "partition": (("best", "partition='best': give one of single, greedy, collage, manual"),),
    "plan": ((3, "plan=3: give the path of a file"), ("p.yaml", "go together")),
    "constraints": ((3, "constraints=3: give the path of a file"),),
    "threads": ((1.5, "threads=1.5: give a whole number from 1 on"),),
    "budget": ((-1, "budget=-1: give seconds from 0 on"), ("20", "budget='20': give seconds")),
    "store": ((3, "store=3: give the path of a file"),),
    "shapes": ((3, "shapes=3: give a size or sizes by name"), ({"x": 1.5}, "the shape given for 'x' is 1.5")),
    "seed": ((-1, "seed=-1: give a whole number from 0"),),
    "prune": (("no", "prune='no': give True or False"),),
    "min_nodes": ((0, "min_nodes=0: give a whole number from 1 on"), ({"mnnn": 2}, "did you mean 'mnn'")),
    "min_flops": ((-1, "min_flops=-1: give a whole number from 0 on"), ({"mnn": 1.5}, "or one by kind of target")),
    "max_memory": (("500", "max_memory: '500' is not an amount of memory; write it as 500MB"),),
    "footprints": ((1, "footprints=1: give True or False"),),
    "max_error": ((1, "max_error=1: give a share between 0 and 1"),),
    "strict": ((None, "strict=None: give True or False"),),
    "strict_machine": (("yes", "strict_machine='yes': give True or False"),),
    "custom_ops": (("lib.so", "custom_ops='lib.so': give a list of paths"), (["no.so"], "no.so is not there")),
    "objective": (("speed", "objective='speed': give one of latency, throughput"),),
    "max_latency": ((0, "max_latency=0: give milliseconds above 0"), (20, "goes with --objective throughput")),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_a_wrong_value_is_refused_with_the_right_ones(name: str) -> None:
    for value, message in WRONG[name]:
        with pytest.raises(ConfigError) as caught:
            CompileSettings(**{name: value})
        assert message in str(caught.value)


def test_an_objective_goes_with_what_it_can_be_measured_on() -> None:
    settings = CompileSettings(objective="throughput", max_latency=20)
    assert (settings.search.objective, settings.search.max_latency_ms) == ("throughput", 20.0)
    CompileSettings(objective="throughput", shapes={"N": "1..8"})
    with pytest.raises(ConfigError, match=r"N=1\.\.8/2 makes buckets"):
        CompileSettings(objective="throughput", shapes={"N": "1..8/2"})


def test_the_keywords_are_the_attributes() -> None:
    types = get_type_hints(CompileSettings)
    assert get_type_hints(CompileOptions) == {name: types[name] for name in SETTINGS}
    assert all(f"        {name}: " in (CompileSettings.__doc__ or "") for name in SETTINGS)


def test_the_command_line_states_every_setting_but_two() -> None:
    """Who checks the search, or wants every footprint, is at home in Python, or calls `compare`."""
    assert set(SETTINGS) - {param.name for param in compile_.params} == {"prune", "footprints"}


def test_they_are_kept_in_plain_units(tmp_path: Path) -> None:
    (tmp_path / "ops.so").touch()
    found = CompileSettings(max_memory="1kB", custom_ops=iter([tmp_path / "ops.so"]), shapes={"n": [1, 2]})  # type: ignore[dict-item]
    assert (found.max_memory, found.custom_ops, found.shapes) == (1000, (str(tmp_path / "ops.so"),), {"n": (1, 2)})
    assert found.search == SearchSettings(max_memory=1000)
    assert replace(found, budget=5).search == SearchSettings(budget_s=5.0, max_memory=1000)
    with pytest.raises(FrozenInstanceError):
        found.budget = 3.0  # type: ignore[misc]


def test_they_become_what_is_planned(tmp_path: Path) -> None:
    (tmp_path / "devices.yaml").write_text("nodes: {relu: two}", encoding="utf-8")
    found = CompileSettings(constraints=tmp_path / "devices.yaml", threads=2, seed=3).request("m.onnx", "mnn")
    assert [replace(each, source="Python") for each in found.constraints] == [Constraint.node("relu", "two")]
    search = SearchSettings(seed=3)
    assert replace(found, constraints=()) == Request(model="m.onnx", target="mnn", search=search, threads=2)


def test_a_plan_is_a_file_or_what_was_read_from_one(tmp_path: Path) -> None:
    plan = PlanFile(partitions=())
    assert CompileSettings(partition="manual", plan=plan).request("m.onnx").plan is plan
    with pytest.raises(PlanError, match=r"absent\.yaml: cannot be read"):
        CompileSettings(partition="manual", plan=tmp_path / "absent.yaml").request("m.onnx")


def test_keywords_take_the_place_of_the_object_s() -> None:
    object_ = CompileSettings(budget=3, strict=True)
    options: CompileOptions = {"budget": 5}
    assert settings_of("it", object_, options) == CompileSettings(budget=5, strict=True)
    assert settings_of("it", None, {}, defaults=object_) == object_
    assert stated_of(CompileSettings(threads=1, budget=2)) == ("threads", "budget")


def test_what_is_no_setting_is_refused() -> None:
    wrong: Any = {"budgett": 1}
    with pytest.raises(ConfigError, match="it has no setting 'budgett'; did you mean 'budget'"):
        settings_of("it", None, wrong)
    with pytest.raises(ConfigError, match="give an intarsia"):
        settings_of("it", wrong, {})
    with pytest.raises(ConfigError, match="it takes no seed: nothing is drawn"):
        settings_of("it", CompileSettings(seed=1), {}, refused={"seed": "nothing is drawn"})


def test_every_setting_has_a_wrong_value_here() -> None:
    assert list(WRONG) == [field.name for field in fields(CompileSettings) if field.init] == list(SETTINGS)
