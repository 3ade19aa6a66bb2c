"""Plans whose steps hold plans: of nested configurations, and of the bodies of control flow."""

from __future__ import annotations

from dataclasses import replace

from onnx import parser

from intarsia.config.settings import RunSettings, Spin
from intarsia.graph.bodies import load_typed
from intarsia.runtime import Plan, plan_of
from intarsia.runtime.plan import body_plan
from intarsia.target import Target
from tests.control_flow import stepwise

BRANCHES = """
<ir_version: 10, opset_import: ["": 21]>
g (float[2,3] x, bool p) => (float[2,3] y)
{
  a = Relu(x)
  y = If(p) <then_branch = tb () => (float[2,3] u) { u = Exp(a) }, else_branch = eb () => (float[2,3] v) { v = Neg(a) }>
}"""
GRAPH = load_typed(parser.parse_model(BRANCHES))


def _plan(*targets: str) -> Plan:
    return plan_of(GRAPH, stepwise(GRAPH, [Target(each) for each in targets]), RunSettings(threads=2))


def test_the_engines_of_a_plan_are_those_inside_its_steps_too() -> None:
    plan = _plan("mnn", "ncnn")
    assert plan.engines == ("mnn",)
    assert [leaf.target.kind.name for leaf in plan.leaves] == ["mnn", "mnn", "mnn"]
    assert [[body.name for body in step.bodies] for step in plan.steps] == [[], ["else_branch", "then_branch"]]


def test_a_plan_is_another_one_if_a_body_runs_otherwise() -> None:
    assert _plan("mnn").fingerprint == _plan("mnn").fingerprint
    assert _plan("mnn").fingerprint != _plan("ncnn").fingerprint
    step = _plan("mnn").steps[1]
    other = replace(step, bodies=step.bodies[:1])
    plan = _plan("mnn")
    assert replace(plan, steps=(plan.steps[0], other)).fingerprint != plan.fingerprint


def test_the_partitions_of_a_plan_give_it_again() -> None:
    plan = _plan("mnn")
    assert plan_of(GRAPH, plan.partitions, plan.settings) == plan


def test_a_body_obeys_the_settings_of_its_step() -> None:
    body = _plan("mnn").steps[1].bodies[0]
    settings = body_plan(body, RunSettings(threads=1, spin=Spin.NEVER, parallel=True)).settings
    assert (settings.threads, settings.spin, settings.parallel) == (1, Spin.NEVER, False)
