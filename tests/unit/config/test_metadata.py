from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings

from intarsia.config import CompilationConfig, from_metadata, one_config, to_metadata
from intarsia.config.metadata import CONFIG_KEY
from intarsia.errors import ConfigError, SpecError
from tests.unit.config.strategies import configs

HERE = CompilationConfig.of("mnn, llvm")


@settings(deadline=None, max_examples=30)
@given(configs(depth=1))
def test_what_is_stored_comes_back(form: dict[str, Any]) -> None:
    config = CompilationConfig.of({name: value for name, value in form.items() if name != "tag"})
    stored = to_metadata(config)
    assert all(isinstance(key, str) and isinstance(value, str) for key, value in stored.items())
    assert from_metadata({"author": "a person", **stored}) == config


def test_a_model_without_one() -> None:
    assert from_metadata({"author": "a person"}) is None
    assert one_config("mnn", {}) == CompilationConfig.of("mnn")
    assert one_config(None, {}) == CompilationConfig.of("llvm")


def test_the_argument_and_the_model_must_agree() -> None:
    carried = to_metadata(HERE)
    assert one_config(None, carried) == HERE
    assert one_config({"targets": ["mnn", "llvm"], "host": "llvm"}, carried) == HERE
    with pytest.raises(ConfigError, match="carries the configuration 'mnn, llvm' and the argument says 'ncnn'"):
        one_config("ncnn", carried)


def test_a_damaged_entry_is_named() -> None:
    with pytest.raises(SpecError, match=r"metadata entry 'intarsia\.config' is not a configuration"):
        from_metadata({CONFIG_KEY: '{"targets": ['})
