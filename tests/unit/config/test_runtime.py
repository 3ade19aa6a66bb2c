from __future__ import annotations

import pytest

from intarsia.config import RUNTIMES, Runtime
from intarsia.errors import SpecError


def test_kinds_and_texts() -> None:
    assert list(RUNTIMES) == ["python", "cpp", "crt", "rpc", "ray"]
    assert str(Runtime("cpp")) == "cpp"
    assert str(Runtime("crt -system-lib")) == "crt -system-lib=true"
    assert list(RUNTIMES["crt"].options) == ["system-lib"]
    assert Runtime(Runtime("crt"), {"system-lib": True}) == Runtime({"kind": "crt", "system-lib": True})


@pytest.mark.parametrize(
    ("form", "options", "words"),
    [
        ("woof", None, "runtime kind 'woof' is not defined"),
        ("crt", {"woof": "bark"}, "cannot recognize 'woof' as an option of 'crt'"),
        ("crt", {"system-lib": "woof"}, "system-lib: must be a bool, found 'woof' (str)"),
        ("crt -link-params", None, "belongs to the executor"),
        ("python -system-lib", None, "cannot recognize 'system-lib' as an option of 'python'"),
    ],
)
def test_errors(form: str, options: dict[str, object] | None, words: str) -> None:
    with pytest.raises(SpecError) as caught:
        Runtime(form, options)
    assert words in str(caught.value)
