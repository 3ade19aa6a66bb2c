from __future__ import annotations

from typing import Any

import pytest

from intarsia.config import CompilationConfig
from intarsia.config.cli_overrides.forms import divided, opened
from intarsia.errors import SpecError
from intarsia.target import TAGS, register_tag

FORMS: list[object] = [
    "llvm",
    "ethos-n77, acl, llvm mattr=+neon",
    "acl",
    "nvidia/jetson-nano",
    "nvidia/jetson-nano:cuda",
    "opencl:1 -device=mali, llvm",
    '{"kind": "composite", "devices": ["mnn", "openvino -threads=2"], "host": "llvm"}',
    '["cuda", {"targets": ["mnn", "llvm"]}]',
    "config -executor=vm -targets=cuda,llvm",
    {"cuda": "cuda", "cpu": "llvm"},
    {"tag": "nvidia/v100", "max_num_threads": 7},
    {"targets": ["cuda", "llvm"], "host": "llvm -mcpu=x", "executor": "vm"},
    {"targets": [{"targets": ["mnn"], "host": "x86"}, "llvm"], "devices": {"one": "llvm"}},
    ["acl"],
]


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_opening_changes_no_meaning(form: object) -> None:
    found = opened(form)
    assert CompilationConfig.of(found.brought | found.fields) == CompilationConfig.of(form)


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_opened_is_opened(form: object) -> None:
    fields = opened(form).brought | opened(form).fields
    again = opened(fields)
    assert again.brought | again.fields == fields


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_no_text_is_left_where_a_path_leads(form: object) -> None:
    fields = opened(form).brought | opened(form).fields
    assert all(isinstance(element, dict) for element in fields["targets"])
    assert not isinstance(fields.get("executor"), str)


def test_a_tag_of_the_whole_is_told_from_what_is_laid_over_it() -> None:
    with TAGS.scope():
        register_tag("a/board", {"targets": ["cuda", "llvm"], "executor": "vm"}, level="config")
        found = opened({"tag": "a/board", "executor": "graph"})
    assert (found.tag, found.brought["executor"], found.fields) == (
        "a/board",
        {"kind": "vm"},
        {"executor": {"kind": "graph"}},
    )


def test_settings_are_told_from_fields() -> None:
    config, settings = divided({"targets": ["llvm"], "target-host": "llvm", "budget": 3, "pass-config": {"a": "1"}})
    assert config.fields == {"targets": [{"kind": "llvm"}], "host": {"kind": "llvm"}}
    assert settings == {"budget": 3, "pass-config": {"a": "1"}}
    config, settings = divided({"kind": "llvm", "threads": 2})
    assert (config.fields, settings) == ({"targets": [{"kind": "llvm", "threads": 2}]}, {})
    config, settings = divided({"budget": 3})
    assert (config.fields, config.brought, settings) == ({}, {}, {"budget": 3})


def test_a_list_of_targets_may_be_one_text_or_one_target() -> None:
    assert opened({"targets": {"kind": "llvm"}}).fields == {"targets": [{"kind": "llvm"}]}
    assert opened({"targets": "cuda:1, llvm"}).fields == {"targets": [{"kind": "cuda:1"}, {"kind": "llvm"}]}


def test_values_that_stand_there_already_are_left_as_they_are() -> None:
    raw: dict[str, Any] = {
        "targets": [{"kind": "ethosu", "accelerator_config": 3}],
        "executor": {"kind": "aot", "x": 1},
    }
    assert opened(raw).fields == raw


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ("onnxruntim", r"did you mean 'onnxruntime'\?\n  onnxruntim\n  \^"),
        ("llvm, cuda -arhc=sm_80", r"did you mean 'arch'\?\n  llvm, cuda -arhc=sm_80\n"),
        ('{"targets": ["llvm", "cud"]}', r"targets\[1\]: .*did you mean 'cuda'"),
        ("[", r"cannot load config dict"),
        ({"machines": {"a": "llvm"}}, r"several machines"),
        ({"nothing": 3}, r"field 'kind' is not found"),
    ],
)
def test_errors_keep_their_place(form: object, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        opened(form)
