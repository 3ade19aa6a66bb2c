"""The laws of the spec language, for each of its five types: what is printed reads back, and equal means the same."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from intarsia.config import CompilationConfig, Deployment, Executor, Runtime
from intarsia.target import Target, VirtualDevice
from tests import strategies

Read = Callable[[Any], Any]
LEVELS: Mapping[str, tuple[Read, Callable[[], st.SearchStrategy[Any]]]] = MappingProxyType(
    {
        "target": (Target, strategies.targets),
        "executor": (Executor, strategies.executors),
        "runtime": (Runtime, strategies.runtimes),
        "config": (CompilationConfig.of, strategies.configs),
        "deployment": (Deployment.of, strategies.deployments),
    }
)
each_level = pytest.mark.parametrize("level", LEVELS)
in_ci = settings(
    max_examples=30,
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow, HealthCheck.data_too_large],
)
ORDERS = st.randoms(use_true_random=False)


@each_level
@in_ci
@given(data=st.data())
def test_every_output_form_reads_back(level: str, data: st.DataObject) -> None:
    read, values = LEVELS[level]
    value = data.draw(values())
    for form in (str(value), value.json(), value.export(), value):
        back = read(form)
        assert (back, back.tags, type(back)) == (value, value.tags, type(value))
        assert hash(back) == hash(value)
        assert (str(back), back.json()) == (str(value), value.json())


@each_level
@in_ci
@given(data=st.data())
def test_what_is_exported_is_pure_json(level: str, data: st.DataObject) -> None:
    exported = data.draw(LEVELS[level][1]()).export()
    assert json.loads(json.dumps(exported)) == exported


@each_level
@in_ci
@given(data=st.data())
def test_equality_is_equality_of_keys(level: str, data: st.DataObject) -> None:
    read, values = LEVELS[level]
    one, other = data.draw(values()), data.draw(values())
    assert (one == other) == (one.key == other.key)
    assert one != other or hash(one) == hash(other)
    assert read(one.key) == one


@each_level
@in_ci
@given(data=st.data(), order=ORDERS)
def test_the_order_of_fields_means_nothing(level: str, data: st.DataObject, order: Any) -> None:
    read, values = LEVELS[level]
    value = data.draw(values())
    fields = list(value.export().items())
    order.shuffle(fields)
    assert read(dict(fields)) == value


@each_level
@in_ci
@given(data=st.data())
def test_a_tag_is_printed_and_kept_but_not_compared(level: str, data: st.DataObject) -> None:
    read, values = LEVELS[level]
    value = data.draw(values())
    tagged = read(value.export() | {"tag": ["a/b", "c/d"]})
    assert (tagged, hash(tagged), tagged.key) == (value, hash(value), value.key)
    assert tagged.tags == ("a/b", "c/d")
    assert "a/b" in str(tagged)


@each_level
@in_ci
@given(data=st.data())
def test_values_are_frozen_and_survive_pickling(level: str, data: st.DataObject) -> None:
    value = data.draw(LEVELS[level][1]())
    with pytest.raises(AttributeError):
        value.kind = None
    with pytest.raises(TypeError):
        value.options["x"] = 1
    assert pickle.loads(pickle.dumps(value)) == value


@in_ci
@given(strategies.targets(), strategies.targets(0))
def test_a_host_is_given_and_taken_back(target: Target, host: Target) -> None:
    hosted = target.with_host(host)
    assert hosted.host == host
    assert hosted == Target(target, host) == Target(str(hosted))
    assert hosted.with_host(None) == target.with_host(None)


@in_ci
@given(strategies.virtual_devices(), strategies.virtual_devices(), strategies.virtual_devices())
def test_devices_join_like_what_is_known_about_them(
    one: VirtualDevice, two: VirtualDevice, three: VirtualDevice
) -> None:
    both = one.join(two)
    assert both == two.join(one)
    assert one.join(one) == one == one.join(VirtualDevice())
    rest = two.join(three)
    left = None if both is None else both.join(three)
    right = None if rest is None else one.join(rest)
    assert left == right
    assert both is None or both.join(one) == both


@in_ci
@given(strategies.virtual_devices(), strategies.virtual_devices())
def test_defaults_fill_only_what_is_free(one: VirtualDevice, other: VirtualDevice) -> None:
    filled = one.default(other)
    assert one.join(filled) == filled
    assert filled.default(other) == filled
    assert VirtualDevice().default(other) == other
    for back in (VirtualDevice.of(str(one)), VirtualDevice.of(one.json()), VirtualDevice.of(one.export())):
        assert back == one
