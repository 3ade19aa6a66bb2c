from __future__ import annotations

import json
from pathlib import Path

import pytest

from intarsia.config import CompilationConfig
from intarsia.cost.worker.progress import unwatched
from intarsia.errors import Interrupted
from tests.cli_fakes import REPORT, Fakes, invoke


def test_every_option_reaches_the_driver(fakes: Fakes, folder: Path) -> None:
    done = invoke(
        *("compile", "m.onnx", "--target", "mnn, ncnn", "--partition", "greedy", "--threads", "3", "--budget", "7.5"),
        *("--custom-ops", "lib.so", "--max-memory", "500MB"),
        *("--store", "s.db", "--shape", "input=1x3x8x8", "--shape", "N=8", "--seed", "4", "-o", "out.bin"),
        *("--constraints", "devices.yaml", "--max-error", "0.05", "--strict", "--strict-machine"),
        *("--objective", "throughput", "--max-latency", "20"),
        *("--min-nodes", "mnn=2", "--min-nodes", "ncnn=3", "--min-flops", "1000"),
    )
    assert done.exit_code == 0, done.output
    assert fakes.calls == [
        (
            Path("m.onnx"),
            {
                "target": CompilationConfig.of("mnn, ncnn"),
                "partition": "greedy",
                "plan": None,
                "constraints": Path("devices.yaml"),
                "threads": 3,
                "budget": 7.5,
                "min_nodes": {"mnn": 2, "ncnn": 3},
                "min_flops": 1000,
                "max_memory": "500MB",
                "objective": "throughput",
                "max_latency": 20.0,
                "store": Path("s.db"),
                "custom_ops": (Path("lib.so"),),
                "shapes": {"input": (1, 3, 8, 8), "N": 8},
                "seed": 4,
                "max_error": 0.05,
                "strict": True,
                "strict_machine": True,
                "progress": unwatched,
                "began": None,
            },
        )
    ]
    assert (folder / "out.bin").read_text() == "an artifact"
    assert fakes.model.closed


def test_the_defaults_leave_the_choice_to_the_driver(fakes: Fakes, folder: Path) -> None:
    assert invoke("compile", "m.onnx").exit_code == 0
    _, settings = fakes.calls[0]
    assert settings == {
        "target": None,
        "partition": "collage",
        "plan": None,
        "constraints": None,
        "threads": None,
        "budget": 60.0,
        "min_nodes": 1,
        "min_flops": 0,
        "max_memory": None,
        "objective": "latency",
        "max_latency": None,
        "store": None,
        "custom_ops": (),
        "shapes": None,
        "seed": 0,
        "max_error": None,
        "strict": False,
        "strict_machine": False,
        "progress": unwatched,
        "began": None,
    }
    assert (folder / "m.intarsia").exists()


def test_json_is_the_report_with_the_path_of_the_artifact(fakes: Fakes, folder: Path) -> None:
    done = invoke("compile", "m.onnx", "--json")
    assert json.loads(done.stdout) == REPORT | {"artifact": "m.intarsia"}
    assert done.stderr == ""


def test_a_plan_is_replayed_without_saying_manual(fakes: Fakes, folder: Path) -> None:
    assert invoke("compile", "m.onnx", "--plan", "p.yaml").exit_code == 0
    assert fakes.calls[0][1]["partition"] == "manual"
    assert fakes.calls[0][1]["plan"] == Path("p.yaml")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-o", "none/out.bin"], "cannot write none/out.bin: none is not a folder"),
        (["-o", "."], "cannot write .: it is a folder"),
        (["-o", "m.onnx"], "cannot write m.onnx: it is the model itself"),
        (["--threads", "0"], "'--threads'"),
        (["--budget", "-1"], "'--budget'"),
        (["--partition", "best"], "'--partition'"),
    ],
)
def test_contradictions_are_told_before_anything_is_measured(
    fakes: Fakes, folder: Path, arguments: list[str], message: str
) -> None:
    (folder / "m.onnx").touch()
    done = invoke("compile", "m.onnx", *arguments)
    assert done.exit_code == 2
    assert message in done.stderr
    assert done.stdout == ""
    assert fakes.calls == []


def test_the_model_is_never_overwritten_by_default(fakes: Fakes, folder: Path) -> None:
    (folder / "link.onnx").symlink_to("link.intarsia")
    (folder / "link.intarsia").touch()
    done = invoke("compile", "link.onnx")
    assert done.exit_code == 2
    assert "it is the model itself" in done.stderr


def test_a_folder_without_the_right_to_write_is_told_early(
    fakes: Fakes, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.access", lambda path, mode: False)
    done = invoke("compile", "m.onnx")
    assert (done.exit_code, fakes.calls) == (2, [])
    assert "no right to write in ." in done.stderr


def test_an_interrupted_compile_leaves_the_best_so_far(fakes: Fakes, folder: Path) -> None:
    fakes.failure = Interrupted(best=fakes.model)
    done = invoke("compile", "m.onnx")
    assert done.exit_code == 130
    told = "interrupted: wrote m.intarsia, the best so far (collage alone); the same command goes on where this stopped"
    assert done.stderr.splitlines() == [told]
    assert (folder / "m.intarsia").read_text() == "an artifact"
    assert fakes.model.closed


def test_what_came_to_its_end_is_not_replaced_by_what_did_not(fakes: Fakes, folder: Path) -> None:
    (folder / "m.intarsia").write_text("of a finished compile")
    fakes.failure = Interrupted(best=fakes.model)
    done = invoke("compile", "m.onnx", "--json")
    told = json.loads(done.stdout)["error"]
    assert (told["type"], told["artifact"]) == ("Interrupted", None)
    assert "m.intarsia stays as it was" in told["message"]
    assert (folder / "m.intarsia").read_text() == "of a finished compile"
    assert fakes.model.closed


def test_the_artifact_of_an_interrupted_compile_is_told_to_scripts(fakes: Fakes, folder: Path) -> None:
    fakes.failure = Interrupted(best=fakes.model)
    done = invoke("compile", "m.onnx", "--json")
    assert json.loads(done.stdout)["error"]["artifact"] == "m.intarsia"


def test_where_nothing_was_measured_nothing_is_written(fakes: Fakes, folder: Path) -> None:
    fakes.failure = Interrupted()
    done = invoke("compile", "m.onnx")
    assert (done.exit_code, list(folder.iterdir())) == (130, [])
    assert "nothing is written" in done.stderr


def test_the_artifact_lands_in_the_working_directory(fakes: Fakes, folder: Path) -> None:
    (folder / "models").mkdir()
    done = invoke("compile", "models/net.v2.onnx")
    assert done.exit_code == 0, done.output
    assert done.stdout.endswith("wrote net.v2.intarsia\n")
    assert (folder / "net.v2.intarsia").is_file()
    assert list((folder / "models").iterdir()) == []


def test_an_artifact_is_not_compiled_again(fakes: Fakes, folder: Path) -> None:
    done = invoke("compile", "m.intarsia")
    assert done.exit_code == 2
    assert "m.intarsia is an artifact, compiled already: intarsia run m.intarsia runs it" in done.stderr
    assert fakes.calls == []
