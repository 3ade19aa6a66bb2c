"""Providers stand for targets: known ones, those that are here, in their order."""

from __future__ import annotations

import pytest

from intarsia.backends import registry
from intarsia.errors import ConfigError
from intarsia.interop import providers
from intarsia.interop.providers import chosen_providers, get_all_providers, get_available_providers, targets_of
from intarsia.target import Target
from intarsia.target.aliases import CPU_PROVIDER, PROVIDERS


@pytest.fixture(autouse=True)
def _two_engines(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if ONNX Runtime and OpenVINO were all that is installed."""
    monkeypatch.setattr(registry, "usable", lambda: ("onnxruntime", "openvino"))
    here = {CPU_PROVIDER, "OpenVINOExecutionProvider"}
    monkeypatch.setattr(providers, "_is_available", here.__contains__)


@pytest.mark.parametrize("text", sorted(set(PROVIDERS.values())))
def test_every_provider_stands_for_a_target(text: str) -> None:
    assert str(Target(text)) == text


def test_what_is_here_is_listed_by_preference() -> None:
    assert get_available_providers() == ["OpenVINOExecutionProvider", CPU_PROVIDER]
    assert get_all_providers()[-1] == CPU_PROVIDER


def test_the_processor_comes_last_though_nobody_names_it() -> None:
    assert list(chosen_providers(["OpenVINOExecutionProvider"], None)) == ["OpenVINOExecutionProvider", CPU_PROVIDER]
    assert chosen_providers(None, None) == {CPU_PROVIDER: {}}


def test_options_are_the_target_s_own() -> None:
    chosen = chosen_providers([("OpenVINOExecutionProvider", {"inference-precision": "f32"})], None)
    assert chosen == chosen_providers(["OpenVINOExecutionProvider"], [{"inference-precision": "f32"}])
    assert targets_of(chosen) == [Target("openvino -inference-precision=f32"), Target("llvm")]
    with pytest.raises(ConfigError, match=r"OpenVINOExecutionProvider: its options are those of the target 'openvino'"):
        targets_of({"OpenVINOExecutionProvider": {"device_type": "CPU"}})


def test_of_several_the_absent_ones_are_left_out_aloud() -> None:
    with pytest.warns(UserWarning, match="CUDAExecutionProvider: not on this machine, and left out"):
        chosen = chosen_providers(["CUDAExecutionProvider", CPU_PROVIDER], None)
    assert list(chosen) == [CPU_PROVIDER]


@pytest.mark.parametrize(
    ("names", "options", "message"),
    [
        (["CUDAExecutionProvider"], None, "CUDAExecutionProvider: not on this machine, which has OpenVINO"),
        (["OpenVinoExecutionProvider"], None, "did you mean 'OpenVINOExecutionProvider'"),
        (["Nothing"], None, "no target stands for the provider 'Nothing'; there are Tensorrt"),
        ([CPU_PROVIDER], [{}, {}], "2 provider_options for 1 provider"),
        ([(CPU_PROVIDER, {"a": 1})], [{"a": 1}], "state them once"),
        (None, [{}], "name these too"),
    ],
)
def test_what_cannot_be_is_refused(names: list[str] | None, options: list[dict[str, str]] | None, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        chosen_providers(names, options)
