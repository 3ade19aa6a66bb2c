"""Device planning: what flows, what is copied, what clashes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intarsia.config import CompilationConfig
from intarsia.devices import Constraint, Copy, DevicePlan, plan_devices
from intarsia.errors import ConfigError
from intarsia.partitioning import fused_groups
from intarsia.target import VirtualDevice
from tests.fakes import dags, fake_dag, fake_graph

if TYPE_CHECKING:
    from intarsia.graph import Graph

LABELS = {"gpu1": "cuda:0", "gpu2": "cuda:1", "cpu1": "cpu:1"}
MACHINE = CompilationConfig.of({"targets": ["llvm", "cuda -arch=sm_80"], "default_device": "cuda", "devices": LABELS})

on = Constraint.value


def network(*statements: str, outputs: Sequence[str] | None = None) -> Graph:
    """A graph from statements such as ``"t = add a b"``; each node is called after what it computes."""
    rows = []
    for statement in statements:
        writes, _, call = statement.partition(" = ")
        op_type, *reads = call.split()
        rows.append((writes.split()[0], op_type, reads, writes.split()))
    return fake_graph(rows, outputs=outputs)


def types(devices: dict[str, VirtualDevice] | object) -> dict[str, str | None]:
    assert hasattr(devices, "items")
    return {name: device.device for name, device in devices.items()}


def copies(plan: DevicePlan) -> list[tuple[str, str | None, str | None]]:
    return [(copy.value, copy.source.device, copy.destination.device) for copy in plan.copies]


CASES = {
    "a constraint reaches what it reads, and ends with the flow": (
        network("t0 = add a b", "t2 = add c d", "r = subtract t0 t2"),
        [on("t0", "cpu")],
        {"a": "cpu", "b": "cpu", "c": "cuda", "d": "cuda"},
        {"r": "cuda"},
        [("t0", "cpu", "cuda")],
    ),
    "a value read twice on one device is copied once": (
        network("t0 = add a b", "r = subtract t0 t0", "s = negative t0"),
        [on("t0", "cpu"), on("t0", "cpu")],
        {"a": "cpu", "b": "cpu"},
        {"r": "cuda", "s": "cuda"},
        [("t0", "cpu", "cuda")],
    ),
    "a machine's default device may go unused": (
        network("t0 = add x y", "t2 = subtract t0 z"),
        [on("t0", "cuda"), on("t2", "cpu")],
        {"x": "cuda", "y": "cuda", "z": "cpu"},
        {"t2": "cpu"},
        [("t0", "cuda", "cpu")],
    ),
    "there and back": (
        network("c0 = conv d1 w", "c1 = conv d2 w", "t4 = add c0 c1", "c2 = conv t4 w"),
        [on("c0", "cpu"), on("c1", "cpu"), on("t4", "cuda"), on("c2", "cpu")],
        {"d1": "cpu", "w": "cpu", "d2": "cpu"},
        {"c2": "cpu"},
        [("c0", "cpu", "cuda"), ("c1", "cpu", "cuda"), ("t4", "cuda", "cpu")],
    ),
    "outputs of one node are copied each": (
        network("t t1 t2 = split x", "t4 = subtract t t1", outputs=["t4"]),
        [on("t", "cpu"), on("t4", "cuda")],
        {"x": "cpu"},
        {"t4": "cuda"},
        [("t", "cpu", "cuda"), ("t1", "cpu", "cuda")],
    ),
    "what two constraints reach is where the first reader is": (
        network("t0 = add a b", "t2 = add b c", "r = subtract t0 t2"),
        [on("t0", "cpu"), on("t2", "cuda")],
        {"a": "cpu", "b": "cpu", "c": "cuda"},
        {"r": "cuda"},
        [("b", "cpu", "cuda"), ("t0", "cpu", "cuda")],
    ),
    "an input is fed where the caller says, and copied": (
        network("r = add a b"),
        [Constraint.inputs("cpu")],
        {"a": "cpu", "b": "cpu"},
        {"r": "cuda"},
        [("a", "cpu", "cuda"), ("b", "cpu", "cuda")],
    ),
    "a result is handed over where the caller says": (
        network("r = add a b", "s = negative r"),
        [Constraint.outputs("cpu", "s")],
        {"a": "cuda", "b": "cuda"},
        {"s": "cpu"},
        [("s", "cuda", "cpu")],
    ),
    "a device copy is a constraint on each end": (
        network("r = add x k"),
        [on("x", "cpu"), on("x", "cuda", constrain_body=False, constrain_result=True)],
        {"x": "cpu", "k": "cuda"},
        {"r": "cuda"},
        [("x", "cpu", "cuda")],
    ),
    "both ends of a fixed value are on its device": (
        network("t = add a b", "r = add t c"),
        [on("t", "cpu", constrain_result=True)],
        {"a": "cpu", "b": "cpu", "c": "cpu"},
        {"r": "cpu"},
        [],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_devices_and_copies(case: str) -> None:
    graph, constraints, inputs, outputs, wanted = CASES[case]
    plan = plan_devices(graph, MACHINE, constraints)
    assert (types(plan.inputs), types(plan.outputs), copies(plan)) == (inputs, outputs, wanted)
    assert plan_devices(graph, MACHINE, plan.constraints) == plan


def test_free_values_stay_where_they_are_if_they_can() -> None:
    """Three calls of a function whose parameter and result are in scope b."""
    graph = network("p = call a", "q = call b", "r = call c", "s = add p q", "t = add s r")
    scope = {letter: f"cpu -memory-scope={letter}" for letter in "ab"}
    free = [on(name, "cpu", constrain_body=False) for name in ("a", "b", "c", "t")]
    calls = [on(name, scope["b"], constrain_result=True) for name in ("p", "q", "r")]
    ends = [
        Constraint.inputs("cpu", "a"),
        Constraint.inputs(scope["a"], "b"),
        Constraint.inputs(scope["b"], "c"),
        Constraint.outputs(scope["a"]),
    ]
    plan = plan_devices(graph, CompilationConfig.of("llvm"), [*free, *calls, *ends])
    assert [device.memory_scope for device in plan.inputs.values()] == ["b", "a", "b"]
    moved = [(copy.value, copy.source.memory_scope, copy.destination.memory_scope) for copy in plan.copies]
    assert moved == [("b", "a", "b"), ("t", "b", "a")]


def test_equal_gpus_need_a_copy_between_them() -> None:
    graph = network("x = add a b", "y = add c d", "r = add x y")
    plan = plan_devices(graph, MACHINE, [on("x", "gpu1"), on("y", "gpu2")])
    gpu1, gpu2 = (VirtualDevice.of(f"cuda:{index} -target='cuda -arch=sm_80'") for index in range(2))
    assert plan.nodes == {"x": gpu1, "y": gpu2, "r": gpu1}
    assert plan.copies == (Copy(value="y", source=gpu2, destination=gpu1),)


def test_devices_that_share_memory_are_copied_in_name_only() -> None:
    plan = plan_devices(network("x = add a b", "r = negative x"), MACHINE, [on("x", "cpu1"), on("r", "cpu:0")])
    assert [copy.shares_memory for copy in plan.copies] == [True]
    plan = plan_devices(network("x = add a b", "r = negative x"), MACHINE, [on("x", "cpu1")])
    assert [copy.shares_memory for copy in plan.copies] == [False]


def test_weights_are_on_every_device_that_reads_them() -> None:
    graph = fake_graph([("a", "Add", ["x", "w"], ["u"]), ("b", "Add", ["u", "w"], ["v"])], weights=["w"])
    plan = plan_devices(graph, MACHINE, [Constraint.node("a", "cpu")])
    assert copies(plan) == [("u", "cpu", "cuda")]


def test_the_reason_names_the_constraint_that_reached_a_node() -> None:
    graph = network("t = add a b", "u = negative t", "r = add u c")
    plan = plan_devices(graph, MACHINE, [Constraint.node("u", "cpu1", source="mine.yaml")])
    assert plan.reasons == {
        "t": "node 'u' on 'cpu1' (from mine.yaml)",
        "u": "node 'u' on 'cpu1' (from mine.yaml)",
        "r": "no constraint reaches it, so it is on the default device",
    }


def test_two_constraints_on_one_node_clash() -> None:
    resolved = [Constraint.node("t", "gpu1", source="a.yaml"), on("t", "cpu", source="the model")]
    with pytest.raises(ConfigError) as caught:
        plan_devices(network("t = add a b"), MACHINE, resolved)
    assert str(caught.value).splitlines() == [
        "two device constraints cannot both hold:",
        "  node 't' on 'gpu1' (from a.yaml)",
        "  value 't' on 'cpu' (from the model)",
        "  both are about node 't'",
        "change one of them, or leave it out",
    ]


def test_a_clash_tells_the_path_over_values_that_cannot_be_copied() -> None:
    graph = fake_graph(
        [("a", "SequenceEmpty", ["x"], ["s"]), ("b", "SequenceInsert", ["s"], ["t"]), ("c", "Concat", ["t"], ["y"])],
        dtypes={"s": None},
        shapes={"t": None},
    )
    with pytest.raises(ConfigError) as caught:
        plan_devices(graph, MACHINE, [Constraint.node("a", "gpu1"), Constraint.node("c", "gpu2")])
    assert (
        "  no copy can be made on the path between them: node 'a' → s → node 'b' → t → node 'c'"
        in str(caught.value).splitlines()
    )


def test_the_caller_gets_any_value_where_it_wants_it() -> None:
    graph = fake_dag([[], [0]], shapes={"v0": None, "v1": None})
    plan = plan_devices(graph, MACHINE, [Constraint.node("n0", "gpu2"), Constraint.outputs("cpu")])
    assert plan.nodes["n1"] == plan.nodes["n0"]
    assert copies(plan) == [("v1", "cuda", "cpu")]
    with pytest.raises(ConfigError, match="node 'n1' → v1 → output 'v1'"):
        plan_devices(graph, MACHINE, [on("v1", "gpu2", constrain_result=True), Constraint.outputs("cpu")])


def test_a_quantised_group_is_on_one_device() -> None:
    graph = fake_dag([[], [0], [1]], ["DequantizeLinear", "Conv", "QuantizeLinear"])
    groups = fused_groups(graph)
    plan = plan_devices(graph, MACHINE, [Constraint.node("n1", "cpu")], together=groups)
    assert set(types(plan.nodes).values()) == {"cpu"}
    with pytest.raises(ConfigError, match="node 'n0' stays with node 'n1'"):
        plan_devices(graph, MACHINE, [Constraint.node("n0", "cpu"), Constraint.node("n1", "gpu1")], together=groups)


def test_a_long_path_is_told_without_its_middle() -> None:
    graph = fake_dag(
        [[number - 1] if number else [] for number in range(50)], dtypes={f"v{n}": None for n in range(50)}
    )
    with pytest.raises(ConfigError, match="→ v3 → node 'n4' … 41 more … → v45 → node 'n46'"):
        plan_devices(graph, MACHINE, [Constraint.node("n0", "cpu"), Constraint.node("n49", "gpu1")])


def test_all_that_is_wrong_is_told_together() -> None:
    resolved = [
        Constraint.node("tt", "cpu"),
        on("zz", "cpu"),
        Constraint.inputs("cpu", "aa"),
        Constraint.node("t", "gpu3"),
        Constraint.node("t", "vulkan"),
    ]
    with pytest.raises(ConfigError) as caught:
        plan_devices(network("t = add a b"), MACHINE, resolved)
    told = str(caught.value)
    assert "the graph has no node 'tt'; did you mean 't'?" in told
    assert "the graph has no value 'zz'" in told
    assert "'aa' is not one of the graph's inputs; did you mean 'a'?" in told
    assert "'gpu3' is neither a label of this machine nor a device; did you mean 'gpu2'?" in told
    assert "this machine has no 'vulkan': no target is specified for device type vulkan" in told


def test_many_clashes_are_counted() -> None:
    graph = fake_dag([[]] * 9)
    resolved = [Constraint.node(f"n{number}", device) for number in range(9) for device in ("cpu", "cuda")]
    with pytest.raises(ConfigError) as caught:
        plan_devices(graph, MACHINE, resolved)
    assert str(caught.value).count("cannot both hold") == 5
    assert str(caught.value).endswith("and 4 more conflicts")


def test_a_weight_cannot_be_constrained() -> None:
    graph = fake_graph([("a", "Add", ["x", "w"], ["u"])], weights=["w"])
    with pytest.raises(ConfigError, match="value 'w' is a weight, which is on every device that reads it"):
        plan_devices(graph, MACHINE, [on("w", "cpu")])


DEVICES = st.sampled_from(["cpu", "cuda", "gpu1", "gpu2", "cpu1", "any:1", "any -memory-scope=s", "cuda:7"])


@given(dags(), st.data())
def test_a_plan_gives_itself_again_and_copies_each_value_once_to_each_device(graph: Graph, data: st.DataObject) -> None:
    names = [node.id for node in graph.nodes]
    pinned = data.draw(st.dictionaries(st.sampled_from(names), DEVICES))
    ends = data.draw(st.lists(st.builds(Constraint.inputs, DEVICES), max_size=1))
    ends += data.draw(st.lists(st.builds(Constraint.outputs, DEVICES), max_size=1))
    values = data.draw(st.lists(st.sampled_from([name for name in graph.values if name not in graph.inputs])))
    free = [on(name, "cpu", constrain_body=False) for name in values]
    plan = plan_devices(graph, MACHINE, [*(Constraint.node(*pin) for pin in pinned.items()), *ends, *free])
    assert plan_devices(graph, MACHINE, plan.constraints) == plan
    assert plan_devices(graph, MACHINE, [*plan.constraints, *free]) == plan
    keys = [(copy.value, copy.destination) for copy in plan.copies]
    assert len(set(keys)) == len(keys)
    have = {(name, device) for name, device in plan.inputs.items()} | set(keys)
    have |= {(name, plan.nodes[node.id]) for node in graph.nodes for name in node.outputs}
    reads = {(name, plan.nodes[node.id]) for node in graph.nodes for name in node.reads}
    assert reads | {(name, device) for name, device in plan.outputs.items()} <= have
    assert set(keys) <= reads | set(plan.outputs.items())


@given(dags(), st.data())
def test_constraints_hold_in_any_order(graph: Graph, data: st.DataObject) -> None:
    pinned = data.draw(st.dictionaries(st.sampled_from([node.id for node in graph.nodes]), DEVICES))
    constraints = [Constraint.node(*pin) for pin in pinned.items()]
    plan = plan_devices(graph, MACHINE, constraints)
    assert plan_devices(graph, MACHINE, data.draw(st.permutations(constraints))) == plan
    for id_, text in pinned.items():
        wished = MACHINE.devices.get(text) or VirtualDevice.of(text)
        assert wished.join(plan.nodes[id_]) == plan.nodes[id_]


def test_twenty_thousand_nodes_in_a_chain() -> None:
    graph = fake_dag([[number - 1] if number else [] for number in range(20_000)])
    resolved = [Constraint.node("n9999", "gpu2"), Constraint.outputs("cpu")]
    plan = plan_devices(graph, MACHINE, resolved)
    assert [plan.nodes[f"n{number}"].index for number in (0, 9_999, 10_000, 19_999)] == [1, 1, 0, 0]
    assert [copy.value for copy in plan.copies] == ["v9999", "v19999"]
    assert plan_devices(graph, MACHINE, plan.constraints) == plan


def test_twenty_thousand_nodes_in_a_chain_that_clash() -> None:
    count = 20_000
    links = [[number - 1] if number else [] for number in range(count)]
    graph = fake_dag(links, dtypes={f"v{number}": None for number in range(count)})
    with pytest.raises(ConfigError, match="… 19991 more …"):
        plan_devices(graph, MACHINE, [Constraint.node("n0", "cpu"), Constraint.node(f"n{count - 1}", "cuda")])
