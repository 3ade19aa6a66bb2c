"""Rows about planning devices: where what is computed, and what is copied between devices."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from intarsia.config import CompilationConfig
from intarsia.devices import Constraint, DevicePlan, plan_devices
from intarsia.target import VirtualDevice
from tests.conformance.rows.diagnostics import expect_error
from tests.conformance.rows.programs import Program, is_readable, read_program
from tests.conformance.rows.row import Row, form
from tests.conformance.rows.virtual_devices import check_device


class Names:
    """How rows call the devices of one machine: ``cpu``, ``gpu`` for its one accelerator, ``host``, or a label."""

    def __init__(self, config: CompilationConfig) -> None:
        self._host = config.host.device_type
        types = {target.device_type for target in config.targets} - {"cpu"}
        self._types = {"host": self._host} | dict.fromkeys(["gpu"] if len(types) == 1 else [], *types)

    def type(self, name: str) -> str:
        """The device type, or the label."""
        return self._types.get(name, name)


def run_plan(row: Row) -> None:
    """A program on a machine, with facts about its plan."""
    config = CompilationConfig.of(row.input["config"])
    names = Names(config)
    program = read_program(row.input["body"])
    constraints = _constraints(program, names)
    graph = program.graph()
    if row.error:
        expect_error(row, lambda: plan_devices(graph, config, constraints))
        return
    plan = plan_devices(graph, config, constraints)
    assert plan_devices(graph, config, plan.constraints) == plan
    for fact, wanted in row.expect.items():
        if fact not in {"idempotent", "succeeds"}:
            _check(row, program, plan, names, fact, wanted)


def _constraints(program: Program, names: Names) -> list[Constraint]:
    writes = {id_: outputs for id_, _, _, outputs in program.rows}
    found: list[Constraint] = []
    for name, device, is_fixed in program.pins:
        place = names.type(device)
        if name in writes and not is_fixed:
            found.append(Constraint.node(name, place))
        else:
            values = writes.get(name, [name])
            found += [Constraint.value(value, place, constrain_result=is_fixed) for value in values]
    return found


def _check(row: Row, program: Program, plan: DevicePlan, names: Names, fact: str, wanted: Any) -> None:
    match fact:
        case "params":
            found = [plan.inputs[param].device for param in row.input["params"]]
            assert found == [names.type(device) for device in wanted]
        case "result":
            assert {plan.outputs[name].device for name in program.outputs} == {names.type(wanted)}
        case "op_devices":
            found_by_op = {node: plan.nodes[node].device for node in wanted}
            assert found_by_op == {node: names.type(device) for node, device in wanted.items()}
        case "copies":
            copies = {(copy.value, copy.source.device, copy.destination.device) for copy in plan.copies}
            assert len(copies) == len(plan.copies)  # one copy per value and destination
            assert copies == {(value, names.type(source), names.type(end)) for value, source, end in wanted}
        case "copies_min":
            assert len([copy for copy in plan.copies if not copy.shares_memory]) >= wanted
        case "note":
            pass
        case _:
            raise AssertionError(f"no check for the fact {fact!r} of a plan")


def run_labels(row: Row) -> None:
    """A program whose annotations are labels of the machine's devices, written ``cuda id 1``."""
    devices = {label: re.sub(r" id (\d+)", r":\1", text) for label, text in row.input["labels"].items()}
    targets = dict.fromkeys(text.partition(":")[0] for text in devices.values())
    config = CompilationConfig.of({"targets": list(targets), "devices": devices})
    program = read_program(row.input["body"])
    constraints = [Constraint.node(node, label) for node, label, _ in program.pins]
    plan = plan_devices(program.graph(), config, constraints)
    for node, label, _ in program.pins:
        assert plan.nodes[node].join(config.devices[label]) == plan.nodes[node]
    for fact, wanted in row.expect.items():
        _check(row, program, plan, Names(config), fact, wanted)


def run_annotation(row: Row) -> None:
    """One annotation: what it binds, and to which device."""
    given: Mapping[str, Any] = row.input["on_device"]
    flags = {name: value for name, value in given.items() if name.startswith("constrain_")}
    annotation = Constraint.value("x", given["device"], **flags)
    if row.error:
        expect_error(row, lambda: VirtualDevice.of(annotation.device))
        return
    facts = dict(row.expect)
    for name in [name for name in facts if name.startswith("constrain_")]:
        assert getattr(annotation, name) == facts.pop(name)
    check_device(VirtualDevice.of(annotation.device), facts, None)


def has_graph(row: Row) -> bool:
    """Whether the program of the row is a graph."""
    return is_readable(row.input["body"])


FORMS = (
    form(run_plan, "config body", "params", areas="virtual_device", when=has_graph),
    form(run_labels, "labels body", areas="virtual_device"),
    form(run_annotation, "on_device"),
)
