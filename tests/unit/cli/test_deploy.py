"""``intarsia deploy``: an artifact of several machines, on the machines of a deployment."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import intarsia.serving
from tests.artifacts import written
from tests.cli_fakes import invoke
from tests.deployed import divided
from tests.fake_ray import FakeRay
from tests.unit.cli.serving_fakes import Noted

DEPLOYMENT = '{"machines": {"a": "onnxruntime", "b": {"targets": ["onnxruntime"], "runtime": "ray -label=machine=b"}}}'


@pytest.fixture(autouse=True)
def ray(monkeypatch: pytest.MonkeyPatch) -> FakeRay:
    monkeypatch.setattr(intarsia.serving, "Server", Noted, raising=False)
    fake = FakeRay("b")
    monkeypatch.setitem(sys.modules, "ray", fake)
    return fake


def test_its_machines_and_how_many_requests_they_have_in_hand_reach_the_server(tmp_path: Path, ray: FakeRay) -> None:
    path = divided(tmp_path).path
    done = invoke("deploy", f"net={path}", "--deployment", DEPLOYMENT, "--grpc", "off", "--reload-every", "0")
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout == "http: http://127.0.0.1:4000\nready: net\n"
    made = Noted.made
    assert (made["files"], made["reload_every_s"]) == ({"net": path}, 0.0)
    assert set(made["loading"].deployment.machines) == {"a", "b"}
    assert made["loading"].instances == 4
    assert ray.is_initialized(), "it is connected on the main thread, before anything is loaded on another one"


def test_a_model_of_one_machine_is_left_to_serve(tmp_path: Path) -> None:
    path = written(tmp_path / "net.intarsia")
    done = invoke("deploy", str(path), "--deployment", DEPLOYMENT)
    assert done.exit_code == 2
    assert f"an artifact of one machine; intarsia serve {path} serves it" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("none.intarsia", "--deployment", DEPLOYMENT), "none.intarsia"),
        (("none.intarsia",), "--deployment"),
        (("none.intarsia", "--deployment", "none.yaml"), "none.yaml"),
    ],
)
def test_what_cannot_be_deployed_is_said(arguments: tuple[str, ...], words: str) -> None:
    done = invoke("deploy", *arguments)
    assert done.exit_code == 2
    assert words in done.stderr
