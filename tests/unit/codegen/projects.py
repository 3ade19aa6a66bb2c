"""A network of C made by hand: it scales, shifts and mixes, so that a wrong address or weight shows in its answer."""

from __future__ import annotations

import numpy as np

from intarsia.codegen.interface import Options
from intarsia.codegen.memories import lay_out
from intarsia.codegen.module import (
    Buffer,
    Call,
    Constant,
    Function,
    Literal,
    Overlap,
    Read,
    Scratch,
    SourceModule,
    Write,
)
from intarsia.codegen.project import Project, project_of

SCALE = Function(
    name="scale",
    text="""static void scale(float *y, const float *x, const float *by, int count)
{
    for (int i = 0; i < count; i++) {
        y[i] = x[i] * by[i];
    }
}""",
)
TURN = Function(
    name="turn",
    text="""static void turn(float *y, const float *x, const int32_t *order, void *memory, int count)
{
    float *kept = (float *)memory;
    memcpy(kept, x, (size_t)count * sizeof(float));
    for (int i = 0; i < count; i++) {
        y[i] = kept[order[i]] + sqrtf(4.0f);
    }
}""",
    headers=("<string.h>", "<math.h>"),
)
COPY = Function(
    name="copy",
    text="""static void copy(float *y, const float *x, int count)
{
    for (int i = 0; i < count; i++) {
        y[i] = x[i];
    }
}""",
)
COUNT = 12
BY = np.linspace(-2.5, 3.0, COUNT, dtype=np.float32)
ORDER = np.random.default_rng(0).permutation(COUNT).astype(np.int32)


def network() -> SourceModule:
    """``y = (x * by)[order] + 2`` and ``z = y * by``, the inner value in the workspace."""
    shape = (3, 4)

    def buffer(name: str) -> Buffer:
        return Buffer(name=name, dtype="float32", shape=shape)

    return SourceModule(
        inputs={"The Input": buffer("v0")},
        outputs={"y": buffer("v3"), "out/z": buffer("v4")},
        buffers={"v1": buffer("v1"), "v2": buffer("v2")},
        views={},
        constants={"k0": Constant(name="k0", array=BY), "k1": Constant(name="k1", array=ORDER)},
        functions={each.name: each for each in (SCALE, TURN, COPY)},
        calls=(
            Call(
                function="scale",
                arguments=(Write("v1"), Read("v0"), Read("k0"), Literal(str(COUNT))),
                nodes=("first",),
            ),
            Call(
                function="turn",
                arguments=(Write("v2"), Read("v1"), Read("k1"), Scratch(4 * COUNT), Literal(str(COUNT))),
                overlaps=(Overlap(write="v2", read="v1", ahead=0),),
                nodes=("second */ node",),
            ),
            Call(function="copy", arguments=(Write("v3"), Read("v2"), Literal(str(COUNT))), nodes=("third",)),
            Call(function="scale", arguments=(Write("v4"), Read("v2"), Read("k0"), Literal(str(COUNT))), nodes=("z",)),
        ),
    )


def expected(x: np.ndarray) -> dict[str, np.ndarray]:
    """What the network answers."""
    y = (x.ravel() * BY)[ORDER] + np.float32(2.0)
    return {"y": y.reshape(3, 4), "out/z": (y * BY).reshape(3, 4)}


def project(options: Options | None = None, name: str = "My Net-1") -> Project:
    """The network as a project."""
    found = options or Options()
    layout = lay_out(network(), (), found.workspace_alignment, linked=found.link_weights)
    return project_of(layout, name, found, "a network of the tests")
