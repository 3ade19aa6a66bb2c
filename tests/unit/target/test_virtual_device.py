"""Virtual devices: their forms, and the laws of joining and defaulting."""

from __future__ import annotations

import pickle
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intarsia.errors import SpecError
from intarsia.target import Target, VirtualDevice

A = Target("cuda -arch=sm_80")
TARGETS = {"cpu": ["llvm", "llvm -mcpu=a\\ b", "openvino"], "cuda": [str(A), "cuda -arch=sm_86"]}
SCOPES = st.sampled_from(["", "", "global", "global.texture", "it's, odd\\"])


def device(
    type_: str | None = "cuda", index: int | None = None, target: Target | None = None, scope: str = ""
) -> VirtualDevice:
    return VirtualDevice(device=type_, index=index, target=target, memory_scope=scope)


@st.composite
def devices(draw: st.DrawFn) -> VirtualDevice:
    type_ = draw(st.sampled_from([None, "cpu", "cuda", "vulkan"]))
    target = draw(st.sampled_from([None, *map(Target, TARGETS.get(type_ or "", []))]))
    return device(type_, draw(st.sampled_from([None, 0, 1])), target, draw(SCOPES))


@pytest.mark.parametrize(
    ("form", "same"),
    [
        ("cuda:3", device(index=3)),
        ("metal:2", device("metal", 2)),
        ("any", VirtualDevice()),
        ("any:1 -memory_scope=l2", device(None, 1, scope="l2")),
        ("cuda -arch=sm_80", device(target=A)),
        ("cuda -target='cuda -arch=sm_80'", device(target=A)),
        ("llvm", device("cpu", target=Target("llvm"))),
        ("llvm:2 -mcpu=x", device("cpu", 2, Target("llvm -mcpu=x"))),
        ({"device": "cuda", "index": 3, "memory_scope": "local"}, device(index=3, scope="local")),
        ({"target": {"kind": "cuda", "arch": "sm_80"}, "index": None}, device(target=A)),
        ({"kind": "cuda:1", "arch": "sm_80"}, device(index=1, target=A)),
        (A, device(target=A)),
        ('{"device": "cpu"}', device("cpu")),
        (device(index=1), device(index=1)),
    ],
)
def test_forms(form: object, same: VirtualDevice) -> None:
    assert VirtualDevice.of(form) == same


@pytest.mark.parametrize(
    ("form", "says"),
    [
        *(
            (bad, f"invalid device string '{bad}'; write cpu or cpu:INDEX")
            for bad in ("cpu:", "cpu:?", "cpu:0:0", "cpu:x")
        ),
        ("cpu -foo=1", "cannot recognize 'foo' as a part of a device"),
        ("cpu -index=1 -index=2", "appears more than once"),
        ("cpu:1 -index=2", "appears more than once"),
        ("cpu -index", "needs a value"),
        ("cpu -index=-1", "too small; the least value is"),
        ("cpu -target='", "mismatched quotes"),
        ("bogus", "is not defined"),
        ("cuda, llvm", "a list of 2"),
        ("", "empty"),
        ("{", "cannot load"),
        ('{"device": "cpu", "device": "cuda"}', "more than once"),
        ({"devce": "cpu"}, "did you mean 'device'?"),
        ({"device": "gpu"}, "device type 'gpu' is not defined"),
        ({"device": 2}, "must be a str"),
        ({"index": True}, "must be an int"),
        ({"memory-scope": "a", "memory_scope": "b"}, "more than once"),
        (
            {"device": "cpu", "target": "cuda"},
            "target 'cuda' has device type cuda but virtual device has device type cpu",
        ),
        (None, "a device is a string, a dict, a Target or a VirtualDevice, found None"),
        (3, "found 3"),
    ],
)
def test_what_is_no_device(form: object, says: str) -> None:
    with pytest.raises(SpecError) as caught:
        VirtualDevice.of(form)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("parts", "says"),
    [
        ({"device": "cpu", "target": A}, "has device type cuda but virtual device has device type cpu"),
        ({"device": "gpuu"}, "device type 'gpuu' is not defined"),
        ({"index": -1}, "0 or more"),
    ],
)
def test_parts_that_do_not_fit(parts: dict[str, object], says: str) -> None:
    with pytest.raises(SpecError, match=says):
        VirtualDevice(**parts)  # type: ignore[arg-type]


def test_a_target_implies_the_device_type() -> None:
    assert VirtualDevice(target=A).device == "cuda"
    assert VirtualDevice().is_free
    assert not VirtualDevice(target=A).is_free


@given(devices())
def test_every_form_gives_the_device_again(one: VirtualDevice) -> None:
    for form in (one, str(one), one.json(), one.export()):
        again = VirtualDevice.of(form)
        assert again == one
        assert hash(again) == hash(one)
        assert str(again) == str(one)
    assert pickle.loads(pickle.dumps(one)) == one


def test_join_takes_each_part_from_who_states_it() -> None:
    stated, placed = device(target=A, scope="global"), device(index=3)
    assert stated.join(placed) == placed.join(stated) == device("cuda", 3, A, "global")
    # By value: a target that was built again is the same target.
    assert device(index=3, target=A).join(device(index=3, target=Target(str(A)))) == device(index=3, target=A)


@pytest.mark.parametrize(
    "other", [device("cpu"), device(index=2), device(target=Target("cuda")), device(scope="local")]
)
def test_parts_that_differ_do_not_join(other: VirtualDevice) -> None:
    assert device("cuda", 3, A, "global").join(other) is None


@given(devices(), devices(), devices())
def test_join_laws(a: VirtualDevice, b: VirtualDevice, c: VirtualDevice) -> None:
    assert a.join(a) == a
    assert a.join(VirtualDevice()) == a
    assert a.join(b) == b.join(a)
    left, right = a.join(b), b.join(c)
    assert (left and left.join(c)) == (right and a.join(right))
    if left is not None:
        assert left.join(a) == left == a.default(b)


@given(devices(), devices())
def test_default_laws(a: VirtualDevice, b: VirtualDevice) -> None:
    filled = a.default(b)
    assert filled.join(a) == filled
    assert filled.default(b) == filled
    assert a.default(VirtualDevice()) == a
    assert VirtualDevice().default(a) == a


def test_a_default_target_is_taken_only_for_its_device_type() -> None:
    other = device("cuda", 3, A, "local")
    assert device("cpu").default(other) == device("cpu", 3, None, "local")
    assert device("cuda").default(other) == other


def test_devices_that_differ_in_one_part_differ() -> None:
    parts = list(product(["cuda"], [2, 3], [A, Target("cuda")], ["local", "global"]))
    assert len({device(*each) for each in parts}) == len(parts) == len({str(device(*each)) for each in parts})


@given(st.text(alphabet="cpuda:0-= 'any\"{}\\target,mory_s", max_size=30))
def test_any_text_is_a_device_or_an_error(text: str) -> None:
    try:
        found = VirtualDevice.of(text)
    except SpecError:
        return
    assert VirtualDevice.of(str(found)) == found
