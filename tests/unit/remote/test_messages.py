"""The descriptors that are read are those of the text that people read."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from intarsia.remote import messages
from intarsia.remote.protocol import CALLS


def test_the_descriptors_are_those_of_the_text(tmp_path: Path) -> None:
    source = messages.DESCRIPTORS.with_suffix(".proto")
    made = tmp_path / "made.binpb"
    compiler = [sys.executable, "-m", "grpc_tools.protoc"]
    line = [*compiler, f"-I{source.parent}", f"--descriptor_set_out={made}", source.name]
    subprocess.run(line, check=True, cwd=source.parent)
    assert made.read_bytes() == messages.DESCRIPTORS.read_bytes(), "run: make proto"


def test_every_message_of_a_call_is_there() -> None:
    names = {each.DESCRIPTOR.full_name for call in CALLS.values() for each in (call.asks, call.answers)}
    assert all(name.startswith(f"{messages.PACKAGE}.") for name in names)
