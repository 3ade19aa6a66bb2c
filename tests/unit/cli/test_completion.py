from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

from intarsia.cli.machine import complete_target
from tests.cli_fakes import invoke

ENTRY = "from intarsia.cli.start import main; main()"


def told(words: str, place: int) -> list[str]:
    """What bash is told for the word at a place: what kind of value each is, and the value."""
    asked = {"_INTARSIA_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(place)}
    script = "import sys; sys.argv[0] = 'intarsia'\n" + ENTRY
    line = [sys.executable, "-c", script]
    done = subprocess.run(line, env=os.environ | asked, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def completed(words: str, place: int) -> list[str]:
    """The values alone."""
    return [line.partition(",")[2] for line in told(words, place)]


def targets(incomplete: str) -> list[str]:
    return [item.value for item in complete_target(None, None, incomplete)]  # type: ignore[arg-type]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_each_shell_asks_this_command(shell: str) -> None:
    if shell == "bash" and shutil.which("bash") is None:
        pytest.skip("click asks bash for its version")
    done = invoke("completion", shell)
    assert done.exit_code == 0
    assert f"_INTARSIA_COMPLETE={shell}_complete" in done.stdout


def test_verbs_and_flags_are_completed() -> None:
    assert completed("intarsia comp", 1) == ["compare", "compile", "completion"]
    assert "--target-mnn-precision" in completed("intarsia compile --target-mnn-", 2)


def test_kinds_come_first_and_tags_once_their_vendor_stands_there() -> None:
    assert targets("openv") == ["openvino"]
    assert "nvidia/" in targets("nv")
    assert "nvidia/jetson-nano" in targets("nvidia/jetson-n")


def test_the_last_of_several_targets_is_completed() -> None:
    assert targets("mnn, ncn") == ["mnn, ncnn"]
    assert "mnn,aws/c5" in targets("mnn,aws/c5")


def test_a_file_is_completed_as_a_file() -> None:
    assert told("intarsia run mod", 2) == ["file,mod"]
