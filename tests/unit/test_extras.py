"""What only compiling or serving needs: where it is missing, one sentence says how it is installed."""

from __future__ import annotations

import subprocess
import sys

import pytest

from intarsia import extras
from intarsia.errors import BackendUnavailableError
from intarsia.extras import compiling, serving
from tests.unit.test_architecture import COMPILING, PROJECT, SERVING, _packages


def test_the_packages_are_those_of_the_extra() -> None:
    assert _packages(COMPILING) == extras.COMPILING
    assert extras.SERVING | {"intarsia"} == SERVING
    assert not (extras.COMPILING | extras.SERVING) & _packages(PROJECT["dependencies"])


def test_a_missing_package_is_told_with_what_installs_it() -> None:
    words = r"a thing needs .* no onnx\): pip install 'intarsia\[compile\]'"
    with pytest.raises(BackendUnavailableError, match=words), compiling("a thing"):
        raise ModuleNotFoundError("no", name="onnx.helper")
    with pytest.raises(BackendUnavailableError, match="there is no uvicorn"), serving("a thing"):
        raise ModuleNotFoundError("no", name="uvicorn.config")


def test_any_other_missing_module_is_not_ours_to_explain() -> None:
    with pytest.raises(ModuleNotFoundError, match="no"), compiling("a thing"):
        raise ModuleNotFoundError("no", name="somebodys")


@pytest.mark.parametrize(
    ("statement", "code"),
    [
        ("import intarsia; intarsia.compile", 1),
        ("import intarsia; intarsia.InferenceSession", 1),
        ("from intarsia.cli.start import main; main()", 3),
    ],
)
def test_who_compiles_without_them_is_told_so(statement: str, code: int) -> None:
    hidden = "".join(f"sys.modules[{name!r}] = None\n" for name in sorted(extras.COMPILING))
    done = subprocess.run(
        [sys.executable, "-c", f"import sys\n{hidden}{statement}"], capture_output=True, text=True, check=False
    )
    assert done.returncode == code
    last = done.stderr.strip().splitlines()[-1]
    assert "pip install 'intarsia[compile]'" in last


def test_who_serves_without_them_is_told_how_to_install_them() -> None:
    hidden = "".join(f"sys.modules[{name!r}] = None\n" for name in sorted(extras.SERVING - {"google"}))
    started = "sys.argv = ['intarsia', 'serve', 'm.intarsia']\nfrom intarsia.cli.start import main\nmain()"
    script = f"import sys\n{hidden}{started}"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert "pip install 'intarsia[serve]'" in done.stderr
