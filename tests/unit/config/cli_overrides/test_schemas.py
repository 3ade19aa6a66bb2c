from __future__ import annotations

import pytest

from intarsia.config.cli_overrides.paths import kind_named, kind_of, print_path, read_path, read_text, type_at
from intarsia.config.compilation import LEVEL as CONFIG_LEVEL
from intarsia.errors import SpecError
from intarsia.spec import Int
from intarsia.target.target import LEVEL as TARGET_LEVEL

FORM = {
    "targets": [
        {"kind": "opencl:1"},
        {"kind": "composite", "devices": [{"kind": "ethosn"}]},
        {"targets": [{"tag": "aws/c5"}]},
    ],
    "executor": {"kind": "aot"},
    "devices": {"gpu": "opencl:1"},
}


@pytest.mark.parametrize(
    ("path", "spelling", "label"),
    [
        ("targets", "targets", "list of target or config, ordered"),
        ("targets[0]", "targets[0]", "target or config"),
        ("targets[0].max-num-threads", "targets[0].max_num_threads", "int ≥ 0"),
        ("targets[1].devices[0].tops", "targets[1].devices[0].tops", None),
        ("targets[2].targets[0].mattr", "targets[2].targets[0].mattr", "list of str, by sign"),
        ("executor.unpacked_api", "executor.unpacked-api", "bool"),
        ("devices.cpu", "devices.cpu", "device"),
        ("default-device", "default_device", "label or device"),
        ("target_host", "host", "target"),
    ],
)
def test_the_schema_knows_the_place(path: str, spelling: str, label: str | None) -> None:
    steps, type_ = type_at(FORM, read_path(path))
    assert print_path(steps) == spelling
    assert label in (None, type_.label)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("target", "target: cannot recognize 'target'; did you mean 'targets'"),
        ("targets[9].mcpu", r"there is no targets\[9\]; targets holds 3"),
        ("targets[0].mcpuu", "cannot recognize 'mcpuu'"),
        ("host.mcpu", "there is no host.mcpu; set host first, as host=…"),
        ("executor[0]", "cannot recognize '0'"),
        ("runtime.system-lib", "set runtime first, as runtime=…"),
        ("targets[0].device.x", "there is no"),
        ("targets[0].kind", r"the kind cannot change alone, since another has other options; write targets\[0\]=KIND"),
    ],
)
def test_a_path_that_leads_nowhere_says_so(path: str, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        type_at(FORM, read_path(path))


def test_the_kind_of_a_form() -> None:
    named = {word: kind_named(TARGET_LEVEL, word) for word in ("opencl:1", "acl", "nothing", "llvm")}
    assert {word: kind and kind.name for word, kind in named.items()} == {
        "opencl:1": "opencl",
        "acl": "arm_acl",
        "nothing": None,
        "llvm": "llvm",
    }
    of = kind_of(TARGET_LEVEL, {"tag": "nvidia/v100"})
    assert of is not None
    assert of.name == "cuda"
    assert kind_of(TARGET_LEVEL, {"kind": "llvm -mcpu=x"}) is TARGET_LEVEL.kinds["llvm"]
    assert kind_of(CONFIG_LEVEL, {"targets": []}) is CONFIG_LEVEL.kinds["config"]
    assert kind_of(TARGET_LEVEL, {}) is None


def test_a_text_is_read_with_its_place() -> None:
    assert read_text(Int(), " 7 ", "x") == 7
    with pytest.raises(SpecError, match=r"x\.y: cannot parse integer from '7a' \(str\)\n  7a\n  \^\^"):
        read_text(Int(), "7a", "x.y")
    with pytest.raises(SpecError, match=r"mismatched quotes"):
        read_text(TARGET_LEVEL.kinds["llvm"].options["mcpu"].type, "'a", "x")
