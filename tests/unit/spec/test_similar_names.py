from __future__ import annotations

import pytest

from intarsia.errors import SpecError
from intarsia.spec.similar_names import did_you_mean, tag_near, tags_with
from intarsia.target import Target, list_tags

PI = ["raspberry-pi/4b-aarch64", "raspberry-pi/4b-armhf"]


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("raspberrypi4", PI),
        ("Raspberry Pi 4", PI),
        ("raspberry-pi-4b", PI),
        ("raspberrypi/4", PI),
        ("pi4", PI),
        ("jetsonnano", ["nvidia/jetson-nano"]),
        ("jetson_nano", ["nvidia/jetson-nano"]),
        ("cortexa72", ["arm/cortex-a72"]),
        ("rasp4", ["arm/rasp4b", "arm/rasp4b64"]),
        ("c54xlarge", ["aws/c5.4xlarge", "aws/cpu/c5.4xlarge"]),
        ("4", []),
        ("404", []),
        ("quatsch", []),
    ],
)
def test_separators_vendor_and_end_may_be_left_out(name: str, found: list[str]) -> None:
    assert tags_with(name, list(list_tags())) == found


def test_what_ends_in_the_name_comes_first() -> None:
    assert tags_with("rtx3070", list(list_tags()))[0] == "nvidia/geforce-rtx-3070"


@pytest.mark.parametrize(
    ("name", "found"), [("rasberrypi4b", "raspberry-pi/4b-"), ("jetsonnnao", "nvidia/jetson-nano")]
)
def test_a_misspelling_has_the_same_numbers(name: str, found: str) -> None:
    [near] = tag_near(name, list_tags())
    assert near.startswith(found)


def test_a_few_are_named_and_many_are_counted() -> None:
    assert did_you_mean([], "x") == ""
    assert did_you_mean(["v/x"], "x") == "; did you mean 'v/x'?"
    assert did_you_mean(["v/x", "w/x", "z/x"], "x") == "; did you mean 'v/x', 'w/x' or 'z/x'?"
    assert did_you_mean(["v/x"] * 4, "x") == "; 4 tags are called so, as 'v/x': 'intarsia targets x' lists them"


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("raspberrypi4", "did you mean 'raspberry-pi/4b-aarch64' or 'raspberry-pi/4b-armhf'?"),
        ("raspberry-pi/4", "did you mean 'raspberry-pi/4b-aarch64' or 'raspberry-pi/4b-armhf'?"),
        ("jetsonnano:cuda", "did you mean 'nvidia/jetson-nano'?"),
        ("onnxruntim", "did you mean 'onnxruntime'?"),
    ],
)
def test_a_target_that_is_not_there_hints_at_the_tag(text: str, hint: str) -> None:
    with pytest.raises(SpecError) as raised:
        Target(text)
    assert hint in str(raised.value)
