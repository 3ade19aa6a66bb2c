"""What is planned for the runtime `cpp`: over engines with a native loader alone, and what it cannot run is said."""

from __future__ import annotations

import onnx
import pytest

from intarsia.errors import ConfigError
from intarsia.planning.request import Compilation, Request, plan_compilation
from tests.unit.graph.models import branching, info, model, two_layers


def planned(target: object, network: onnx.ModelProto | None = None) -> Compilation:
    return plan_compilation(Request(model=network or two_layers(), target=target))


@pytest.mark.parametrize("named", ["mnn", "ncnn"])
def test_an_engine_without_a_library_is_refused_with_the_reason(named: str) -> None:
    with pytest.raises(ConfigError, match=f"{named} does not run without Python.*Python module alone"):
        planned({"targets": [named, "c"], "runtime": "cpp"})
    assert not [each for each in planned({"targets": [named]}).missing if "without Python" in each]


def test_what_nobody_named_is_left_out_with_the_reason() -> None:
    job = planned({"targets": ["llvm"], "runtime": "cpp"})
    names = {target.kind.name for target in job.engine_set.targets}
    assert names <= {"onnxruntime", "openvino", "winograd", "c"}
    left_out = {target: why for target, why in job.absent.items() if "does not run without Python" in why}
    assert not names & left_out.keys()


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"executor": "pipeline"}, "'pipeline' is asked for"),
        ({"executor": "graph -link-params=true"}, "no stage generates code that weights could be linked into"),
    ],
)
def test_what_it_cannot_drive_is_missing(config: dict[str, str], words: str) -> None:
    job = planned({"targets": ["c"], "runtime": "cpp", **config})
    assert [each for each in job.missing if words in each]


@pytest.mark.parametrize("config", [{"executor": "vm"}, {"runtime": "cpp -system-lib=true"}])
def test_vm_at_fixed_sizes_and_one_library_are_not_missing(config: dict[str, str]) -> None:
    assert planned({"targets": ["c"], "runtime": "cpp", **config}).missing == ()


def test_sizes_that_vary_are_missing() -> None:
    config = {"targets": ["onnxruntime"], "runtime": "cpp", "executor": "vm"}
    open_batch = model([onnx.helper.make_node("Relu", ["x"], ["y"])], [info("x", ("n", 4))], [info("y", ("n", 4))])
    job = plan_compilation(Request(model=open_batch, target=config, shapes={"n": "1..8"}))
    assert [each for each in job.missing if "those of n may vary: state one size of each" in each]


def test_bodies_that_one_engine_runs_are_remarked() -> None:
    job = planned({"targets": ["onnxruntime"], "runtime": "cpp", "executor": "vm"}, branching())
    assert [each for each in job.remarks if "no effect on the bodies of" in each]


def test_values_without_arrays_are_missing() -> None:
    late = model(
        [onnx.helper.make_node("NonZero", ["x"], ["y"])], [info("x")], [info("y", None, onnx.TensorProto.INT64)]
    )
    (told,) = [each for each in planned({"targets": ["onnxruntime"], "runtime": "cpp"}, late).missing if "'y'" in each]
    assert "only known after it was computed" in told


def test_a_part_of_a_model_has_no_runtime_of_its_own() -> None:
    nested = {"targets": ["c"], "runtime": "cpp"}
    job = planned({"targets": [nested, "c"]})
    assert [each for each in job.missing if "runtime 'cpp'; state it for the whole" in each]
