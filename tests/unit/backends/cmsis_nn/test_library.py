"""Where CMSIS-NN's sources are named, and which files a text needs."""

from __future__ import annotations

from pathlib import Path

import pytest

from intarsia.backends.cmsis_nn import library
from intarsia.errors import BackendUnavailableError, CompileError
from intarsia.target import Target

FILES = {
    "Include/arm_nnfunctions.h": "",
    "Source/A/arm_first_s8.c": "/* calls arm_unused_s8 */\nint32_t arm_first_s8(int32_t a)\n{ return arm_second(a); }",
    "Source/A/arm_second.c": "static int arm_inner(int a)\n{ return a; }\nint32_t\narm_second(int a)\n{\n}\n"
    "int32_t arm_second(int32_t a)\n{ return arm_inner(a); }",
    "Source/B/arm_unused_s8.c": "void arm_unused_s8(void)\n{ }",
    "Source/B/arm_float_f32.c": "void arm_float_f32(void)\n{ }",
}


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path


def test_the_option_comes_before_the_variable(sources: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(library.VARIABLE, "/elsewhere")
    assert library.folder(Target(f"cmsis-nn -sources={sources}")) == sources
    monkeypatch.setenv(library.VARIABLE, str(sources))
    assert library.folder(Target("cmsis-nn")) == sources


def test_without_sources_the_error_says_how_to_give_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(library.VARIABLE, raising=False)
    with pytest.raises(BackendUnavailableError, match=r"not here; get them from .* -sources=/path or .*INTARSIA_CMSIS"):
        library.folder(Target("cmsis-nn"))
    with pytest.raises(BackendUnavailableError, match="does not hold CMSIS-NN"):
        library.folder(Target(f"cmsis-nn -sources={tmp_path}"))


def test_files_are_those_that_are_called_and_what_these_call(sources: Path) -> None:
    text = "static void f(void)\n{\n    arm_first_s8(1);\n}"
    assert library.files_of(text, sources) == ("Source/A/arm_first_s8.c", "Source/A/arm_second.c")


def test_sources_that_lack_a_function_are_too_old(sources: Path) -> None:
    with pytest.raises(CompileError, match="have no arm_newer_s8; take version 6 or newer"):
        library.files_of("arm_newer_s8(1);", sources)
