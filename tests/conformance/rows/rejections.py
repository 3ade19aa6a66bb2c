"""Shapes of rows that are not ours to fulfil, each with the point of the system's description that decides it.

``C2`` is such a point: what a configuration says about hosts, targets and their order. A shape may have more keys than
those named.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from tests.conformance.rows.plans import has_graph
from tests.conformance.rows.row import Rejection, Row, Shape, words

OUTSIDE = "outside our scope"
Condition = Callable[[Row], bool]


def _always(row: Row) -> bool:
    return True


def _no(decided_by: str, reason: str, needs: str, *, areas: str = "", when: Condition = _always) -> Rejection:
    shape = Shape(needs=words(needs), open=True, areas=words(areas), when=when)
    return Rejection(shape=shape, decided_by=decided_by, reason=reason)


def _expects(fact: str) -> Condition:
    return lambda row: fact in row.expect


def _asks(query: str) -> Condition:
    return lambda row: row.input["query"] == query


def _begins_with(*verbs: str) -> Condition:
    return lambda row: bool(row.input["argv"]) and row.input["argv"][0] in verbs


def _names_helper(row: Row) -> bool:
    return '"helper' in json.dumps(row.input)


def _has_two_preprocessors(row: Row) -> bool:
    return any({"parser", "preprocessor"} <= fixture.keys() for fixture in row.fixtures.values())


def _keeps_other_host(row: Row) -> bool:
    target, host = row.input["canon_target_and_host"]
    return not row.error and isinstance(target, str) and "host" in target and not target.endswith(f"host {host}")


def _hosts_disagree(row: Row) -> bool:
    hosts = {str(target["host"]) for target in row.input["targets"] if isinstance(target, Mapping) and "host" in target}
    return len(hosts) > 1


def _refuses_order(row: Row) -> bool:
    """Engines stand before the device they generate code for, and that is taken for an error."""
    return "first target" in row.error


def _refuses_second_of_kind(row: Row) -> bool:
    """Different targets of one kind, and that is taken for an error."""
    texts = [str(target["target"] if isinstance(target, Mapping) else target) for target in row.input["targets"]]
    kinds = {text.partition(" ")[0] for text in texts}
    return bool(row.error) and len(set(texts)) == len(texts) > len(kinds)


def _refuses_third_device(row: Row) -> bool:
    return "only two" in row.error.lower()


def _compares_objects(row: Row) -> bool:
    return "join" in row.expect and "separately built" in str(row.input["join"])


def _has_no_graph(row: Row) -> bool:
    return not has_graph(row)


def _has_pools(row: Row) -> bool:
    return any(flag.startswith("--workspace-pools") for flag in row.input["argv"])


def _makes_candidates(row: Row) -> bool:
    return not row.input.keys() & {"op_cost", "inside"}


ONE_DOOR = "a target has one constructor; tables of products are tags"
TWO_HOSTS = "two hosts that differ are an error that names both"
PREFERENCE = "targets stand in the order of preference, engines first, several of one kind if need be"
REJECTIONS = (
    _no("U1", ONE_DOOR, "", areas="target", when=_names_helper),
    _no("S7", "a kind fills in by one function, so two of them cannot clash", "target", when=_has_two_preprocessors),
    _no("S6", "which tags there are is ours to say", "query", when=_expects("total")),
    _no(OUTSIDE, "passes over another compiler's code; options reach an engine in its target", "targets program"),
    _no("C2", TWO_HOSTS, "canon_target_and_host", when=_keeps_other_host),
    _no("C2", TWO_HOSTS, "targets", areas="config", when=_hosts_disagree),
    _no("C2", PREFERENCE, "targets", areas="config", when=_refuses_order),
    _no("C2", PREFERENCE, "targets", areas="config", when=_refuses_second_of_kind),
    _no("C2", PREFERENCE, "target", areas="cli", when=_refuses_third_device),
    _no("C2", "the first CPU target is the host, whatever the form of the list", "legacy_map"),
    _no(OUTSIDE, "one model is compiled at a time, so there is no map from target to module", "target_map"),
    _no("C1", "device placement and engine offload are one partitioning", "capability", areas="composite"),
    _no(
        "C4", "levels are types; a sketch of one recursive type names none", "config", when=_expects("accepted_levels")
    ),
    _no("V1", "devices are compared by value, so equal targets are one target", "join", when=_compares_objects),
    _no("P0", "functions are inlined before devices are planned", "body functions", areas="virtual_device"),
    _no(OUTSIDE, "kernels with memory scopes are another compiler's", "body kernel", areas="virtual_device"),
    _no(
        OUTSIDE,
        "functions as values, branches, references, memory and shape operators: an ONNX graph has none of this sort",
        "config body",
        areas="virtual_device",
        when=_has_no_graph,
    ),
    _no("S9", "options of an engine stay in its target; there is no second channel", "target codegen", areas="cli"),
    _no("S4", "options of passes belong to no level", "pass_config", areas="cli"),
    _no("C7", "--config takes a name or a path; no variable moves the folder", "env", areas="cli"),
    _no("U2", "tune is a verb of a later stage", "argv", areas="cli", when=_begins_with("tune")),
    _no(
        OUTSIDE,
        "archives for microcontrollers go through another project's tool",
        "argv",
        when=_begins_with("run", "micro"),
    ),
    _no(OUTSIDE, "memory pools belong to another compiler's planner", "argv", when=_has_pools),
    _no("S11", "the device to run on is part of the plan", "query", when=_asks("run --device")),
    _no("M1", "how long to measure follows from the noise", "targets", areas="cli", when=_expects("min_repeat_ms")),
    _no("P0", "tuples are no values of an ONNX graph", "program op_cost", when=_expects("host")),
    _no("M2", "equal pieces are measured once; how few is not fixed", "program", when=_expects("max_cost_estimates")),
    _no(
        "P3",
        "candidates are runs of atoms, not matches of patterns",
        "program",
        areas="collage",
        when=_makes_candidates,
    ),
    _no("P4", "large candidates are in scope, so no depth has to be set", "pass_config", areas="collage"),
    _no("P3", "an engine says per node what it takes, so none lacks a table", "targets", areas="collage"),
)
