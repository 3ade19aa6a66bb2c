"""Whether code for a target can run here: by architecture, operating system and width."""

from __future__ import annotations

import pytest

from intarsia.target import Target
from intarsia.target.fit import misfit


@pytest.mark.parametrize(
    ("here", "target", "other"),
    [
        ("x86_64-unknown-linux-gnu", "llvm", None),
        ("x86_64-unknown-linux-gnu", "x86", None),
        ("x86_64-unknown-linux-gnu", "llvm -mcpu=haswell", None),
        ("x86_64-unknown-linux-gnu", "llvm -mtriple=x86_64-unknown-unknown", None),
        ("x86_64-unknown-linux-gnu", "arm", ("x86", "aarch64")),
        ("x86_64-unknown-linux-gnu", "c -mcpu=cortex-m4", ("x86", "arm")),
        ("x86_64-unknown-linux-gnu", "llvm -mtriple=mips-linux", ("x86", "mips")),
        ("x86_64-unknown-linux-gnu", "llvm -mtriple=x86_64-apple-macos", ("Linux", "macOS")),
        ("x86_64-unknown-linux-gnu", "llvm -mtriple=i686-linux-gnu", ("64 bits", "32 bits")),
        ("aarch64-unknown-linux-gnu", "llvm -mtriple=aarch64-linux-android30", ("Linux", "Android")),
        ("aarch64-unknown-linux-gnu", "openvino -base='llvm -mtriple=x86_64-linux-gnu'", ("aarch64", "x86")),
        ("arm64-apple-darwin", "apple/m1", None),
        ("x86_64-pc-windows-msvc", "llvm -mtriple=x86_64-windows-gnu", None),
        ("aarch64-unknown-linux-gnu", "raspberry-pi/4b-aarch64", None),
    ],
)
def test_misfit(monkeypatch: pytest.MonkeyPatch, here: str, target: str, other: tuple[str, str] | None) -> None:
    machine = Target({"kind": "llvm", "mtriple": here})
    monkeypatch.setattr("intarsia.target.detect.cpu_here", lambda: machine)
    assert misfit(Target(target)) == other
