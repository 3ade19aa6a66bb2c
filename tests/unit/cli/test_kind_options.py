from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intarsia.config.cli_overrides import Rewrites
from intarsia.errors import SpecError
from intarsia.target import KINDS, Target, register_kind
from tests.command_flags import read_flags, read_line


def test_a_kind_that_is_registered_has_flags() -> None:
    with KINDS.scope():
        register_kind("my-npu", {"local-memory": 3})
        assert read_flags(["--target-my-npu-local-memory=7"]).options == {"my-npu": {"local-memory": 7}}
    assert read_line(["--target-my-npu-local-memory=7"]).rest == ("--target-my-npu-local-memory=7",)


def test_what_is_said_is_typed_and_the_rest_is_left() -> None:
    line = (
        "compile --target llvm m.onnx --target-llvm-num-cores 4 --target-llvm-mattr=+avx2,-sse --threads 2 "
        "--target-cuda-host=llvm --executor aot --executor-aot-unpacked-api --runtime=crt --runtime-crt-system-lib=0 "
        "--set targets[0].mcpu=a=b --set host=llvm --config a --config=b"
    )
    said = read_line(line.split())
    assert said.rewrites == Rewrites(
        target="llvm",
        options={"llvm": {"num-cores": 4, "mattr": ("+avx2", "-sse")}, "cuda": {"host": Target("llvm")}},
        executor="aot",
        executor_options={"aot": {"unpacked-api": True}},
        runtime="crt",
        runtime_options={"crt": {"system-lib": False}},
        paths=(("targets[0].mcpu", "a=b"), ("host", "llvm")),
    )
    assert (said.config, said.rest) == ("b", ("compile", "m.onnx", "--threads", "2"))


def test_the_last_mention_counts() -> None:
    said = read_flags(["--target=a", "--target-ncnn-fp16=1", "--target", "b", "--target-ncnn-fp16", "false"])
    assert (said.target, said.options) == ("b", {"ncnn": {"fp16": False}})


def test_a_bare_bool_leaves_the_next_word() -> None:
    said = read_line(["--target-ncnn-fp16", "m.onnx", "--target-ncnn-sgemm"])
    assert (said.rewrites.options, said.rest) == ({"ncnn": {"fp16": True, "sgemm": True}}, ("m.onnx",))


@given(st.lists(st.text(max_size=6)))
def test_words_after_two_dashes_are_left(words: list[str]) -> None:
    assert read_line(["--", *words]).rest == tuple(words)


@given(
    st.lists(st.sampled_from(["--target", "--target=x", "--target-llvm-mcpu", "--set", "--config=", "-x", "m", "--"]))
)
def test_any_words_are_read_or_refused(words: list[str]) -> None:
    try:
        rest = list(read_line(words).rest)
    except SpecError:
        return
    left = iter(words)
    assert all(word in left for word in rest)


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--target"], r"--target needs a value"),
        (["--target-llvm-mcpu", "--json"], r"--target-llvm-mcpu needs a value; if it starts with '-'"),
        (
            ["--target-llvm-num-cores=0"],
            r"--target-llvm-num-cores: 0 \(int\) is too small; the least value is 1\n  0\n  \^",
        ),
        (["--target-onnxruntime-execution-mode=parallell"], r"did you mean 'parallel'\?"),
        (["--target-cuda-host=lvm"], r"--target-cuda-host: target kind 'lvm' is not defined; did you mean 'llvm'"),
        (["--set", "host"], r"--set host: write PATH=VALUE"),
    ],
)
def test_errors_name_the_flag(argv: list[str], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        read_flags(argv)
