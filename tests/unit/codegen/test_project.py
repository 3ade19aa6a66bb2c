"""Each option of the executor and the runtime shows in the code, and the code computes what it should."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

from intarsia.codegen import folder, toolchain
from intarsia.codegen.folder import Recorded
from intarsia.codegen.interface import Options, identifier
from intarsia.codegen.project import Project
from intarsia.codegen.source_text import weight_name
from intarsia.codegen.toolchain import STRICT
from intarsia.errors import BackendUnavailableError
from tests.unit.codegen.projects import BY, COUNT, expected, project

X = np.linspace(-3, 5, COUNT, dtype=np.float32).reshape(3, 4)
RECORDED = Recorded(inputs={"The Input": X}, outputs=expected(X), allowed={"y": 1e-6, "out/z": 1e-6})
OPTIONS = {
    "array": Options(),
    "arguments": Options(entry="arguments"),
    "structs": Options(entry="structs"),
    "static": Options(static_workspace=True),
    "weights elsewhere": Options(link_weights=False),
    "registered": Options(registered=True),
    "all": Options(entry="structs", static_workspace=True, link_weights=False, registered=True),
    "aligned": Options(entry="arguments", workspace_alignment=64, constant_alignment=128),
}


@pytest.fixture(scope="module")
def compiler() -> str:
    try:
        return toolchain.host().compiler[0]
    except BackendUnavailableError as error:
        pytest.skip(str(error))


def exported(tmp_path: Path, made: Project, recorded: Recorded = RECORDED) -> Path:
    place = tmp_path / made.name
    place.mkdir(parents=True)
    folder.write(made, place, made.memory, {"c": "Apache-2.0"}, recorded)
    return place


def run(place: Path, *command: str) -> str:
    done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("name", OPTIONS)
def test_the_folder_is_clean_and_its_test_passes(tmp_path: Path, compiler: str, name: str) -> None:
    place = exported(tmp_path, project(OPTIONS[name]))
    sources = sorted(path.name for path in place.glob("*.c"))
    run(place, compiler, *STRICT, "-c", *sources)
    for program in ("my_net_1_test.c", "main.c"):
        units = [each for each in sources if each not in ("my_net_1_test.c", "main.c")]
        sane = ("-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
        run(place, compiler, "-std=c99", *sane, program, *units, "-o", "program", "-lm")
        told = run(place, "./program")
        assert told == "right\n" if program != "main.c" else "y: " in told
    cxx = ('#include "my_net_1.h"', '#include "intarsia_models.h"')[: 1 + (name in ("registered", "all"))]
    (place / "check.cpp").write_text("\n".join([*cxx, "int main() { return MY_NET_1_OK; }"]), encoding="utf-8")
    run(place, compiler, "-x", "c++", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "check.cpp")


def test_the_test_of_c_fails_where_the_answer_is_wrong(tmp_path: Path, compiler: str) -> None:
    wrong = {name: array + np.float32(name == "out/z") for name, array in expected(X).items()}
    place = exported(tmp_path, project(), Recorded(inputs={"The Input": X}, outputs=wrong, allowed=RECORDED.allowed))
    run(place, compiler, "-std=c99", *("my_net_1_test.c", "my_net_1.c", "my_net_1_weights.c"), "-o", "program", "-lm")
    done = subprocess.run("./program", cwd=place, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stdout.endswith("wrong\n")
    assert "out_z[0] is" in done.stdout
    assert not re.search(r"^y\[", done.stdout, re.MULTILINE)


@pytest.mark.parametrize(
    ("name", "prototype"),
    [
        ("array", "my_net_1_run(void *const *arguments, void *workspace)"),
        ("arguments", "my_net_1_run(const float *the_input, float *y, float *out_z, void *workspace)"),
        (
            "structs",
            "my_net_1_run(const struct my_net_1_inputs *inputs, const struct my_net_1_outputs *outputs, "
            "void *workspace)",
        ),
        ("static", "my_net_1_run(void *const *arguments)"),
        ("weights elsewhere", "my_net_1_run(void *const *arguments, void *workspace, const void *weights)"),
    ],
)
def test_the_entry_point_takes_what_the_options_say(name: str, prototype: str) -> None:
    made = project(OPTIONS[name])
    assert f"int32_t {prototype};" in made.header
    assert f"int32_t {prototype}\n{{" in made.code


def test_alignment_shows_in_addresses_and_is_checked(tmp_path: Path, compiler: str) -> None:
    made = project(OPTIONS["aligned"])
    (arena,) = made.memory["arenas"]
    assert all(each["offset"] % 64 == 0 for each in arena["values"])
    assert any(each["offset"] for each in arena["values"])
    assert [each.offset % 128 for each in made.weights] == [0, 0]
    assert "MY_NET_1_WORKSPACE_ALIGNMENT 64u" in made.header
    place = exported(tmp_path, made)
    assert (place / "my_net_1_weights.c").read_text(encoding="utf-8").count("MY_NET_1_ALIGNED(128)") == 2
    (place / "odd.c").write_text(
        """#include "my_net_1.h"
#include <stddef.h>
static float x[12], y[12], z[12];
static uint8_t memory[MY_NET_1_WORKSPACE_BYTES + 128];
extern const float my_net_1_k0[];
int main(void)
{
    uint8_t *start = memory + (64 - (uintptr_t)memory % 64) % 64;
    if ((uintptr_t)my_net_1_k0 % 128 != 0) {
        return 1;
    }
    return my_net_1_run(x, y, z, start) != MY_NET_1_OK || my_net_1_run(x, y, z, start + 4) != MY_NET_1_BAD_MEMORY ||
           my_net_1_run(x, y, z, NULL) != MY_NET_1_BAD_MEMORY;
}
""",
        encoding="utf-8",
    )
    run(place, compiler, "-std=c99", "odd.c", "my_net_1.c", "my_net_1_weights.c", "-o", "odd", "-lm")
    run(place, "./odd")


def test_the_caller_owns_all_memory_unless_it_is_static(tmp_path: Path, compiler: str) -> None:
    for name, written in (("array", False), ("registered", False), ("static", True)):
        place = exported(tmp_path / name, project(OPTIONS[name]))
        run(place, compiler, "-std=c99", "-O1", "-fno-pie", "-c", "my_net_1.c")
        symbols = run(place, "nm", "my_net_1.o")
        assert bool(re.search(r" [bBdDC] ", symbols)) is written, symbols
        assert not re.search(r"malloc|fopen|printf", symbols)


def test_only_what_needs_mathematics_is_linked_with_it(tmp_path: Path) -> None:
    place = exported(tmp_path, project())
    assert " -lm" in (place / "Makefile").read_text(encoding="utf-8")
    assert "PUBLIC m" in (place / "CMakeLists.txt").read_text(encoding="utf-8")
    assert "-DINTARSIA_LIBRARY" not in (place / "CMakeLists.txt").read_text(encoding="utf-8")


def test_networks_of_one_program_are_found_by_name(tmp_path: Path, compiler: str) -> None:
    first, second = (project(OPTIONS["registered"], name) for name in ("one", "two"))
    for each in (first, second):
        for path in exported(tmp_path, each).iterdir():
            path.replace(tmp_path / path.name)
    (tmp_path / "all.c").write_text(
        """#include "intarsia_models.h"
#include <stdio.h>
static float x[12], y[12], z[12];
static _Alignas(16) uint8_t memory[4096];
int main(void)
{
    void *const arguments[] = {x, y, z};
    void *const memories[] = {memory};
    const struct intarsia_model *two = intarsia_model("two");
    for (size_t place = 0; intarsia_model_at(place) != NULL; place++) {
        printf("%s ", intarsia_model_at(place)->name);
    }
    printf("%d %d %d %d\\n", (int)two->inputs, (int)two->outputs, (int)two->bytes[2], (int)two->memories);
    return two->run(arguments, memories) != 0 || y[0] != 2.0f || intarsia_model("three") != NULL ||
           two->memory[0].bytes > sizeof memory;
}
""",
        encoding="utf-8",
    )
    units = ("all.c", "one.c", "one_weights.c", "two.c", "two_weights.c", "intarsia_models.c")
    table = "-DINTARSIA_MODELS(X)=X(one) X(two)"
    run(tmp_path, compiler, "-std=c11", table, *units, "-o", "all", "-lm")
    assert run(tmp_path, "./all") == "one two 1 2 48 1\n"


def test_make_and_cmake_build_and_test_it(tmp_path: Path, compiler: str) -> None:
    place = exported(tmp_path, project(OPTIONS["weights elsewhere"]))
    assert "right" in run(place, "make", f"CC={compiler}", "test")
    assert "y: 2" in run(place, "make", f"CC={compiler}", "example")
    run(place, "make", "clean")
    assert not list(place.glob("*.o"))


def test_what_is_kept_is_what_was_made() -> None:
    for options in OPTIONS.values():
        made = project(options)
        again = Project.of_files(made.files())
        assert again == made
        assert [name for name, _, _ in again.arrays()] == [weight_name(made.interface, key) for key in ("k0", "k1")]
        np.testing.assert_array_equal(next(array for _, array, _ in again.arrays()), BY)


def test_what_lies_where_is_told() -> None:
    facts = project().memory
    assert facts["workspace_bytes"] == facts["arenas"][0]["bytes"] == 96
    assert [each["layer"] for each in facts["calls"]] == ["'first'", "'second */ node'", "'third'", "'z'"]
    values = {each["name"]: each["layer"] for each in facts["arenas"][0]["values"]}
    assert values == {"v1": "'first'", "v2": "'second */ node'", "scratch of call 1": "'second */ node'"}


def test_a_name_ends_no_comment() -> None:
    assert "second * / node" in project().code


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("conv2d/x:0", "conv2d_x_0"),
        ("3x", "n3x"),
        ("int", "int_"),
        ("", "value"),
        ("Ä", "value"),
        ("workspace", "workspace_"),
    ],
)
def test_names_of_c(text: str, name: str) -> None:
    assert identifier(text) == name
    assert identifier(text, {name}) == f"{name}_2"
