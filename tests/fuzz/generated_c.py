"""Runs many models as generated C in one program under the sanitizers: as the files that a person exports.

Inputs, outputs, workspace and weights lie in memory of exactly their size, so that one byte too far is a finding. Each
model runs twice, the second time on a workspace full of other bytes: nothing may be read that was not written before.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from intarsia.backends.c.network import network, prepared_of
from intarsia.backends.c.processor import Processor
from intarsia.codegen import toolchain
from intarsia.codegen.interface import Interface, Options
from intarsia.codegen.memories import lay_out
from intarsia.codegen.project import Project, fitting, project_of
from intarsia.codegen.source_text import weights_text
from intarsia.codegen.toolchain import Build
from intarsia.graph import Graph, extract

SANITIZED = ("-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-ffp-contract=off")
PROCESSORS = (Processor(), Processor(architecture="x86", vector_bytes=16, vector_registers=16))
"""One without vectors, and what every x86 can do."""
OPTIONS = (
    Options(),
    Options(entry="arguments", constant_alignment=64),
    Options(entry="structs", workspace_alignment=64),
    Options(entry="structs", link_weights=False, constant_alignment=1),
    Options(entry="arguments", static_workspace=True),
    Options(workspace_alignment=1),
)
"""Ways to call a network: each model is written in one of them."""
_FEEDS, _RESULTS = "feeds.bin", "results.bin"
_MAIN = """#define _POSIX_C_SOURCE 200112L
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
%(includes)s

static FILE *feeds, *results;

static void *room(size_t size, size_t alignment, int filled)
{
    void *found = NULL;
    if (posix_memalign(&found, alignment < 16u ? 16u : alignment, size) != 0) {
        exit(90);
    }
    memset(found, filled, size);
    return found;
}

static void *fed(size_t size, size_t alignment)
{
    void *found = room(size, alignment, 0);
    if (fread(found, 1, size, feeds) != size) {
        exit(91);
    }
    return found;
}

static void wrong(const char *name, const char *what)
{
    fprintf(stderr, "%%s: %%s\\n", name, what);
    exit(92);
}

static void written(void *first, void *second, const void *kept, size_t size, const char *name)
{
    (void)kept;
    if (memcmp(first, second, size) != 0) {
        wrong(name, "what the workspace held before shows in an output");
    }
    fwrite(first, 1, size, results);
    free(first);
    free(second);
}

%(functions)s
int main(void)
{
    feeds = fopen("%(feeds)s", "rb");
    results = fopen("%(results)s", "wb");
    if (feeds == NULL || results == NULL) {
        return 93;
    }
%(calls)s    fclose(feeds);
    return fclose(results);
}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A model as C.

    Attributes:
        name: Of the network, a name of C.
        graph: The model.
        feeds: By input.
        project: What an export is written from.
    """

    name: str
    graph: Graph
    feeds: Mapping[str, np.ndarray]
    project: Project


def written(name: str, graph: Graph, feeds: Mapping[str, np.ndarray], turn: int) -> Written:
    """A model as C, for the processor and with the options whose turn it is."""
    program, known = prepared_of(extract(graph, (node.id for node in graph.nodes)))
    module = network(program, known, PROCESSORS[turn // len(OPTIONS) % len(PROCESSORS)])
    options = fitting(OPTIONS[turn % len(OPTIONS)], module)
    layout = lay_out(module, (), options.workspace_alignment, linked=options.link_weights)
    return Written(name=name, graph=graph, feeds=feeds, project=project_of(layout, name, options, name))


def run(every: Sequence[Written], folder: Path) -> list[dict[str, np.ndarray]]:
    """The outputs of each model, by name.

    Raises:
        CompileError: A text is no clean C99.
        AssertionError: A sanitizer found something, or the two runs of a model differ.
    """
    sources: dict[str, str] = {}
    for each in every:
        sources |= each.project.own_sources()
        if each.project.interface.options.link_weights:
            arrays = list(each.project.arrays())
            sources[f"{each.name}_weights.c"] = "".join(weights_text(each.project.interface, arrays, each.name))
    sources["main.c"] = _main(every)
    _lay_feeds(every, folder / _FEEDS)
    what = Build(sources=sources, flags=SANITIZED, link=("-lm",), strict=True)
    program = toolchain.build(toolchain.host(), what, folder, "program")
    # Leaks are of no interest, since what main has is its own; the stack is what a thread has by default.
    environment = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0", "UBSAN_OPTIONS": "print_stacktrace=1"}
    done = subprocess.run(
        [program], cwd=folder, env=environment, capture_output=True, text=True, errors="replace", check=False
    )
    assert done.returncode == 0, done.stderr[:4000]
    return _results(every, (folder / _RESULTS).read_bytes())


def _lay_feeds(every: Sequence[Written], path: Path) -> None:
    with path.open("wb") as file:
        for each in every:
            for value in each.project.interface.inputs:
                file.write(np.ascontiguousarray(each.feeds[value.name]).tobytes())
            if not each.project.interface.options.link_weights:
                file.write(each.project.content)


def _results(every: Sequence[Written], content: bytes) -> list[dict[str, np.ndarray]]:
    found, start = [], 0
    for each in every:
        outputs = {}
        for value in each.project.interface.outputs:
            flat = np.frombuffer(content, value.dtype, value.size // np.dtype(value.dtype).itemsize, start)
            outputs[value.name] = flat.reshape(value.shape)
            start += value.size
        found.append(outputs)
    assert start == len(content)
    return found


def _main(every: Sequence[Written]) -> str:
    return _MAIN % {
        "includes": "\n".join(f'#include "{each.name}.h"' for each in every),
        "functions": "\n".join(_function(each.project.interface) for each in every),
        "calls": "".join(f"    call_{each.name}();\n" for each in every),
        "feeds": _FEEDS,
        "results": _RESULTS,
    }


def _function(it: Interface) -> str:
    """A function that runs a network twice, in memory of its own."""
    lines = [f"static void call_{it.name}(void)", "{"]
    ins = [f"in_{place}" for place, _ in enumerate(it.inputs)]
    outs = [f"out_{place}" for place, _ in enumerate(it.outputs)]
    lines += [f"    void *{name} = fed({each.size}u, 16u);" for name, each in zip(ins, it.inputs, strict=True)]
    if not it.options.link_weights:
        lines.append(f"    void *weights = fed({it.weights_bytes}u, {it.options.constant_alignment}u);")
    for turn, filled in enumerate((0xA5, 0x3C)):
        own = [f"{name}_{turn}" for name in outs]
        lines += [
            f"    void *{name} = room({each.size}u, 16u, {filled});" for name, each in zip(own, it.outputs, strict=True)
        ]
        lines += ["    {"]
        handed = list(_handed(it, ins, own, lines))
        if not it.options.static_workspace:
            for memory, name in it.memories.items():
                size, alignment = it.workspaces[memory], it.options.workspace_alignment
                lines.append(f"        void *{name} = room({size}u, {alignment}u, {filled});")
                handed.append(name)
        if not it.options.link_weights:
            handed.append("weights")
        lines += [
            f"        if ({it.name}_run({', '.join(handed)}) != {it.prefix}_OK) {{",
            f'            wrong("{it.name}", "it refuses its memory");',
            "        }",
        ]
        if not it.options.static_workspace:
            lines += [f"        free({name});" for name in it.memories.values()]
        lines += ["    }"]
    lines += [
        f'    written({name}_0, {name}_1, NULL, {each.size}u, "{it.name}");'
        for name, each in zip(outs, it.outputs, strict=True)
    ]
    lines += [f"    free({name});" for name in ins]
    lines += ["    free(weights);"] if not it.options.link_weights else []
    return "\n".join([*lines, "}", ""])


def _handed(it: Interface, ins: Sequence[str], outs: Sequence[str], lines: list[str]) -> Sequence[str]:
    if it.options.entry == "array":
        lines.append(f"        void *const arguments[] = {{{', '.join([*ins, *outs])}}};")
        return ["arguments"]
    if it.options.entry == "structs":
        for side, own in (("inputs", ins), ("outputs", outs)):
            lines.append(f"        const struct {it.name}_{side} {side} = {{{', '.join(own)}}};")
        return ["&inputs", "&outputs"]
    return [*ins, *outs]
