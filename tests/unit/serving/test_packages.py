from __future__ import annotations

import subprocess
import sys

import pytest

from intarsia.errors import BackendUnavailableError
from intarsia.serving.packages import PACKAGES, served_with
from tests.unit.test_architecture import SERVING


def test_the_packages_are_those_of_the_extra() -> None:
    assert PACKAGES | {"intarsia"} == SERVING


def test_any_other_missing_module_is_not_ours_to_explain() -> None:
    with pytest.raises(ModuleNotFoundError, match="no"), served_with("a thing"):
        raise ModuleNotFoundError("no", name="somebodys")
    with pytest.raises(BackendUnavailableError, match="there is no uvicorn"), served_with("a thing"):
        raise ModuleNotFoundError("no", name="uvicorn.config")


def test_who_serves_without_them_is_told_how_to_install_them() -> None:
    hidden = "".join(f"sys.modules[{name!r}] = None\n" for name in sorted(PACKAGES - {"google"}))
    started = "sys.argv = ['intarsia', 'serve', 'm.intarsia']\nfrom intarsia.cli.start import main\nmain()"
    script = f"import sys\n{hidden}{started}"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert "pip install 'intarsia[serve]'" in done.stderr
