"""Random specs of every level, with nesting, hosts, tags and odd strings, as the dicts that a user would write."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

ODD = st.text(st.sampled_from("ab,:= '\"\\-{}[]1é\t\n"), min_size=1, max_size=6)
"""Strings that need quotes."""
TAGS = st.lists(st.sampled_from(["v/board", "v/other", "v/gt-730,128bit"]), max_size=2, unique=True)


def _spec(draw: st.DrawFn, kind: str, options: dict[str, st.SearchStrategy[Any]]) -> dict[str, Any]:
    stated = {name: draw(values) for name, values in options.items() if draw(st.booleans())}
    tags = draw(TAGS)
    return {"kind": kind, **stated, **({"tag": tags} if tags else {})}


@st.composite
def leaves(draw: st.DrawFn) -> dict[str, Any]:
    """A target of a device kind, or of an engine on the CPU."""
    kind = draw(st.sampled_from(["llvm", "c", "cuda", "opencl", "mnn"]))
    if kind == "mnn":
        return _spec(draw, kind, {"memory": st.sampled_from(["normal", "low"])})
    return _spec(draw, kind, {"model": ODD, "libs": st.lists(ODD, max_size=2), "keys": st.lists(ODD, max_size=2)})


HOSTS = st.sampled_from([{"kind": "llvm"}, {"kind": "llvm", "mcpu": "x y"}, {"kind": "c", "model": "a,'b"}])


@st.composite
def executors(draw: st.DrawFn) -> dict[str, Any]:
    """An executor, with any of its options."""
    options: dict[str, dict[str, st.SearchStrategy[Any]]] = {
        "graph": {"link-params": st.booleans()},
        "vm": {},
        "aot": {"link-params": st.booleans(), "constant-byte-alignment": st.sampled_from((1, 8, 64))},
        "pipeline": {"depth": st.integers(1, 9)},
    }
    kind = draw(st.sampled_from(sorted(options)))
    return _spec(draw, kind, options[kind])


@st.composite
def runtimes(draw: st.DrawFn) -> dict[str, Any]:
    """A runtime, with any of its options."""
    options: dict[str, dict[str, st.SearchStrategy[Any]]] = {
        "python": {},
        "cpp": {"system-lib": st.booleans()},
        "rpc": {"address": ODD},
        "ray": {"resource": ODD},
    }
    kind = draw(st.sampled_from(sorted(options)))
    return _spec(draw, kind, options[kind])


@st.composite
def configs(draw: st.DrawFn, *, depth: int = 2) -> dict[str, Any]:
    """A configuration without faults: at most one CPU target that an engine may be for, and always a default device."""
    targets: list[Any] = draw(st.lists(leaves(), min_size=1, max_size=3, unique_by=lambda leaf: leaf["kind"]))
    if any(target["kind"] == "mnn" for target in targets):
        targets = [target for target in targets if target["kind"] != "c"]
    targets += [{"kind": "llvm"}] if all(target["kind"] != "llvm" for target in targets) else []
    for number, target in enumerate(targets):
        if draw(st.booleans()):
            targets[number] = target | {"kind": f"{target['kind']}:{draw(st.integers(0, 3))}"}
    if depth and draw(st.booleans()):
        targets.insert(draw(st.integers(0, len(targets))), draw(configs(depth=depth - 1)))
    labels = st.dictionaries(ODD, st.sampled_from(["cpu:1", {"device": "cpu"}, {"memory-scope": "a b"}]), max_size=2)
    return _spec(
        draw,
        "config",
        {
            "host": HOSTS,
            "executor": executors(),
            "runtime": runtimes(),
            "devices": labels,
            "default_device": st.sampled_from(["cpu:2", "cpu"]),
            "libraries": st.lists(st.sampled_from(["mnn", "ncnn", "tensor-rt"]), max_size=2),
        },
    ) | {"targets": targets}


@st.composite
def deployments(draw: st.DrawFn) -> dict[str, Any]:
    """Machines with odd names, and a link between each two of them or none."""
    machines = draw(st.dictionaries(ODD, configs(depth=1), min_size=1, max_size=3))
    names = sorted(machines)
    pairs = [[one, other] for one in names for other in names if one < other]
    links = [
        {"between": pair, "bandwidth": draw(st.floats(1, 1e12)), "latency": 1e-3}
        for pair in pairs
        if draw(st.booleans())
    ]
    return _spec(draw, "deployment", {"links": st.just(links)}) | {"machines": machines}
