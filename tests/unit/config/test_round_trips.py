"""Laws of every type of the level above targets: each output form reads back, equal values have equal hashes."""

from __future__ import annotations

import contextlib
import json
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from intarsia.config import CompilationConfig, Deployment, Executor, Runtime
from intarsia.errors import SpecError
from intarsia.spec import Spec
from intarsia.target import TAGS, register_tag
from tests.unit.config.strategies import configs, deployments, executors, runtimes


@pytest.fixture(autouse=True, scope="module")
def _known_tags() -> Iterator[None]:
    with TAGS.scope():
        for name in ("v/board", "v/other", "v/gt-730,128bit"):
            register_tag(name, "llvm -mcpu=of-the-tag")
        yield


def _all_forms_read_back(read: Callable[[Any], Spec[Any]], form: dict[str, Any]) -> None:
    value = read(form)
    assert read(value) == value
    for output in (str(value), value.text(), value.json(), value.export(), json.loads(value.json())):
        back = read(output)
        assert back == value
        assert (hash(back), back.tags, str(back)) == (hash(value), value.tags, str(value))
    assert pickle.loads(pickle.dumps(value)) == value
    assert type(value).__name__ in repr(value)
    with pytest.raises(AttributeError):
        value.kind = value.kind


@given(executors())
def test_executors(form: dict[str, Any]) -> None:
    _all_forms_read_back(Executor, form)


@given(runtimes())
def test_runtimes(form: dict[str, Any]) -> None:
    _all_forms_read_back(Runtime, form)


@settings(deadline=None, max_examples=60)
@given(configs())
def test_configs(form: dict[str, Any]) -> None:
    _all_forms_read_back(CompilationConfig.of, form)


@settings(deadline=None, max_examples=30)
@given(deployments())
def test_deployments(form: dict[str, Any]) -> None:
    _all_forms_read_back(Deployment.of, form)


@settings(deadline=None, max_examples=60)
@given(configs(), st.randoms())
def test_the_order_of_fields_and_of_labels_means_nothing(form: dict[str, Any], chance: Any) -> None:
    fields = list(form.items())
    chance.shuffle(fields)
    assert CompilationConfig.of(dict(fields)) == CompilationConfig.of(form)


@settings(deadline=None, max_examples=60)
@given(configs())
def test_what_is_derived_may_be_stated(form: dict[str, Any]) -> None:
    config = CompilationConfig.of(form)
    stated = form | {"host": config.host, "default_device": config.default_device, "devices": dict(config.devices)}
    assert CompilationConfig.of(stated) == config


WORDS = (
    "config",
    "deployment",
    "composite",
    "llvm",
    "cuda:1",
    "aot",
    "-targets=",
    "-machines=a=",
    "-devices=",
    "-host=",
)
WORKLOADS = st.sampled_from([*WORDS, *"\"', -=:{}[]\\"])


@settings(deadline=None)
@given(st.lists(WORKLOADS | st.characters(), max_size=12).map("".join))
def test_any_text_is_a_value_or_a_spec_error(text: str) -> None:
    for read in (CompilationConfig.of, Deployment.of, Executor, Runtime):
        with contextlib.suppress(SpecError):
            value = read(text)
            assert read(str(value)) == value
