"""Plan files: a partitioning and its run settings as YAML that a person can read, edit and replay.

Says where a file is wrong, by line; whether its nodes cover a model is left to `Partitioning.of`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NoReturn, TypeVar

import yaml

from intarsia.config.precision import Means, Precision, Range, Scheme
from intarsia.config.settings import Pipeline, RunSettings, Spin
from intarsia.errors import PlanError, SpecError
from intarsia.numbers import MOST_THREADS
from intarsia.partitioning.partitioning import BodyPlan, Inside, Partition, Partitioning
from intarsia.partitioning.plan_rows import partition_rows
from intarsia.spec.documents import TextError
from intarsia.spec.problems import nearest
from intarsia.spec.yaml_text import NULL, compose
from intarsia.target import Target
from intarsia.target.kinds.catalogue import CONTROL_FLOW, NESTED

VERSION = 1
T = TypeVar("T")

_SETTINGS = ("model", "threads", "spin", "embed", "parallel", "pipeline", "instances", "max_error")

_HEADER = """\
# A plan of Intarsia: which target runs which nodes.
# Change a target, or move node ids from one partition to another, and replay it:
#   intarsia compile MODEL --partition manual --plan THIS_FILE
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanFile:
    """What a plan file says.

    Attributes:
        partitions: As listed: not yet checked against a model.
        model: Fingerprint of the graph that the plan was made for.
        threads: Threads that compute at one time.
        spin: What idle threads may do.
        embed: Whether partitions run inside one engine's session.
        parallel: Whether partitions that do not depend on each other run at one time.
        pipeline: How a stream of requests is driven.
        instances: How often a server loads it.
        max_error: The largest error of an output where partitions compute in reduced precision.
        devices: The device of each node that the file places, by id: a label, or text of a `VirtualDevice`.
    """

    partitions: tuple[Partition, ...]
    model: str | None = None
    threads: int | None = None
    spin: Spin | None = None
    embed: bool | None = None
    parallel: bool | None = None
    pipeline: Pipeline | None = None
    instances: int | None = None
    max_error: float | None = None
    devices: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


def dump_plan(
    partitioning: Partitioning,
    settings: RunSettings,
    *,
    model: str | None = None,
    devices: Mapping[str, str] | None = None,
    notes: Iterable[str] = (),
) -> str:
    """The text of a plan file; equal plans have equal text.

    Args:
        partitioning: The plan.
        settings: The run settings that it was made for.
        model: Fingerprint of its graph.
        devices: The device of each node, by id, where devices were planned; each partition has one.
        notes: Sentences for a person, which stand as comments before all else.
    """
    document = {
        "version": VERSION,
        **({} if model is None else {"model": model}),
        "threads": settings.threads,
        "spin": settings.spin.value,
        **({"embed": True} if settings.embed else {}),
        **({"parallel": True} if settings.parallel else {}),
        **({} if settings.pipeline is None else {"pipeline": settings.pipeline.facts()}),
        **({} if settings.instances == 1 else {"instances": settings.instances}),
        **({} if settings.max_error is None else {"max_error": settings.max_error}),
        "partitions": [partition_rows(partition, devices) for partition in partitioning.partitions],
    }
    return _HEADER + "".join(f"# {note}\n" for note in notes) + _yaml(document)


def dump_plan_file(plan: PlanFile) -> str:
    """The text that `parse_plan` reads as this plan, which may leave settings open."""
    spin, pipeline = plan.spin, plan.pipeline
    stated = {
        "model": plan.model,
        "threads": plan.threads,
        "spin": None if spin is None else spin.value,
        "embed": plan.embed,
        "parallel": plan.parallel,
        "pipeline": None if pipeline is None else pipeline.facts(),
        "instances": plan.instances,
        "max_error": plan.max_error,
    }
    rows = [partition_rows(partition, plan.devices or None) for partition in plan.partitions]
    return _yaml(
        {
            "version": VERSION,
            **{name: value for name, value in stated.items() if value is not None},
            "partitions": rows,
        }
    )


def _yaml(document: Mapping[str, object]) -> str:
    """Node ids may be long; a folded line would be hard to move about."""
    text: str = yaml.safe_dump(dict(document), sort_keys=False, allow_unicode=True, width=100_000)
    return text


def parse_bodies(text: str) -> tuple[BodyPlan, ...]:
    """What `intarsia.partitioning.bodies_text` wrote; a `PlanError` if it is no such text."""
    reader = _Reader("the plan of a body")
    return tuple(reader._bodies(reader._root(text), None))


def parse_plan(text: str, source: str = "plan") -> PlanFile:
    """Read a plan file.

    Args:
        text: Its contents.
        source: What messages call it, such as its path.

    Raises:
        PlanError: The text is no YAML, or says what a plan file cannot say.
    """
    return _Reader(source).plan(text)


class _Reader:
    """Reads the YAML nodes instead of plain data: nodes know their lines, and ``1e3`` stays a name."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._text_read = ""

    def plan(self, text: str) -> PlanFile:
        fields = self._fields(self._root(text), "a plan", ("version", "partitions"), _SETTINGS)
        self._version(fields["version"])
        devices: dict[str, str] = {}
        partitions = tuple(self._partitions(fields["partitions"], devices))

        def stated(name: str, read: Callable[[yaml.Node, str], T]) -> T | None:
            return read(fields[name], repr(name)) if name in fields else None

        threads = stated("threads", self._count)
        pipeline = self._pipeline(fields["pipeline"], len(partitions), threads) if "pipeline" in fields else None
        embed, parallel = stated("embed", self._flag), stated("parallel", self._flag)
        instances = stated("instances", self._count)
        if instances is not None and instances > MOST_THREADS:
            self._fail(f"{instances} instances: give a number from 1 to {MOST_THREADS}", fields["instances"])
        max_error = stated("max_error", self._fraction)
        if max_error is None and any(partition.precision for partition in partitions):
            problem = "a plan with 'precision' needs 'max_error', the largest error of an output"
            self._fail(problem, fields["partitions"])
        against = "parallel" if parallel else "pipeline"
        if embed and (parallel or pipeline):
            self._fail(f"'embed' and {against!r} exclude each other; leave one out", fields[against])
        return PlanFile(
            partitions=partitions,
            model=stated("model", self._text),
            threads=threads,
            spin=stated("spin", self._spin),
            embed=embed,
            parallel=parallel,
            pipeline=pipeline,
            instances=instances,
            max_error=max_error,
            devices=MappingProxyType(devices),
        )

    def _root(self, text: str) -> yaml.Node | None:
        self._text_read = text
        try:
            return compose(text)
        except TextError as fault:
            raise PlanError(fault.text_in(self._source)) from None

    def _version(self, node: yaml.Node) -> None:
        version = self._count(node, "'version'")
        if version != VERSION:
            self._fail(f"version {version} of the plan format is not supported; write version {VERSION}", node)

    def _partitions(self, node: yaml.Node, devices: dict[str, str]) -> Iterator[Partition]:
        """The partitions; what they say of devices goes to ``devices``."""
        for item in self._items(node, "'partitions'"):
            fields = self._fields(item, "a partition", ("target", "nodes"), ("device", "precision", "inside", "bodies"))
            text = self._text(fields["target"], "'target'")
            try:
                target = Target(text)
            except SpecError as error:
                raise self._fault(str(error), fields["target"]) from error
            ids = self._items(fields["nodes"], "'nodes'")
            nodes = tuple(self._text(id_, "a node id") for id_ in ids)
            if "device" in fields:
                devices.update(dict.fromkeys(nodes, self._text(fields["device"], "'device'")))
            precision = self._precision(fields["precision"], nodes) if "precision" in fields else None
            inside = self._inside(fields["inside"], target, nodes) if "inside" in fields else None
            if "bodies" in fields and target.kind.name != CONTROL_FLOW:
                self._fail(f"'bodies' is of {CONTROL_FLOW}, and the target is {text!r}", fields["bodies"])
            bodies = tuple(self._bodies(fields["bodies"], nodes)) if "bodies" in fields else ()
            yield Partition(target=target, nodes=nodes, precision=precision, inside=inside, bodies=bodies)

    def _bodies(self, node: yaml.Node | None, nodes: Collection[str] | None) -> Iterator[BodyPlan]:
        """How the bodies of these nodes run, of any if none are told."""
        for item in self._items(node, "'bodies'"):
            fields = self._fields(item, "a body", ("node", "body", "partitions"), ("embed", "parallel"))
            devices: dict[str, str] = {}
            partitions = tuple(self._partitions(fields["partitions"], devices))
            if devices:
                self._fail("a device is that of the partition around; leave it out inside", fields["partitions"])
            holder = self._text(fields["node"], "'node'")
            if nodes is not None and holder not in nodes:
                self._fail(f"{holder!r} is not a node of this partition", fields["node"])
            yield BodyPlan(
                node=holder,
                body=self._text(fields["body"], "'body'"),
                partitions=partitions,
                embed="embed" in fields and self._flag(fields["embed"], "'embed'"),
                parallel="parallel" in fields and self._flag(fields["parallel"], "'parallel'"),
            )

    def _inside(self, node: yaml.Node, target: Target, nodes: Collection[str]) -> Inside:
        """How a nested configuration runs these nodes."""
        if target.kind.name != NESTED:
            self._fail(f"'inside' is of nested configurations, and the target is {str(target)!r}", node)
        fields = self._fields(node, "what is inside", ("partitions",), ("threads", "parallel", "pipeline"))
        devices: dict[str, str] = {}
        partitions = tuple(self._partitions(fields["partitions"], devices))
        if devices:
            self._fail("a device is that of the partition around; leave it out inside", fields["partitions"])
        if sorted(nodes) != sorted(id_ for part in partitions for id_ in part.nodes):
            self._fail("the partitions inside must hold each node of this partition once", fields["partitions"])
        threads = self._count(fields["threads"], "'threads'") if "threads" in fields else None
        pipeline = self._pipeline(fields["pipeline"], len(partitions), threads) if "pipeline" in fields else None
        if pipeline is not None and pipeline.processors:
            self._fail("stages inside are bound to no processors of their own; leave them out", fields["pipeline"])
        parallel = "parallel" in fields and self._flag(fields["parallel"], "'parallel'")
        return Inside(partitions=partitions, threads=threads, parallel=parallel, pipeline=pipeline)

    def _precision(self, node: yaml.Node, nodes: Collection[str]) -> Precision:
        fields = self._fields(node, "a precision", (), (*(scheme.value for scheme in Scheme), "ranges", "means"))
        schemes: dict[str, Scheme] = {}
        own = frozenset(nodes)
        for scheme in Scheme:
            for item in self._items(fields[scheme.value], f"{scheme.value!r}") if scheme.value in fields else ():
                id_ = self._text(item, "a node id")
                if id_ not in own or id_ in schemes:
                    why = "stated twice in this precision" if id_ in schemes else "not a node of this partition"
                    self._fail(f"{id_!r} is {why}", item)
                schemes[id_] = scheme
        ranges = self._ranges(fields["ranges"]) if "ranges" in fields else {}
        means = self._means(fields["means"]) if "means" in fields else {}
        return Precision.of(schemes, ranges, means)

    def _means(self, node: yaml.Node) -> dict[str, Means]:
        if not isinstance(node, yaml.MappingNode):
            self._fail(f"'means' must be a mapping of values to texts; this is {_kind(node)}", node)
        return {self._text(key, "a value's name"): self._text(value, "means") for key, value in node.value}

    def _ranges(self, node: yaml.Node) -> dict[str, Range]:
        if not isinstance(node, yaml.MappingNode):
            self._fail(f"'ranges' must be a mapping of values to [low, high]; this is {_kind(node)}", node)
        ranges: dict[str, Range] = {}
        for key, value in node.value:
            ends = [self._number(item, "an end of a range") for item in self._items(value, "a range")]
            if len(ends) != 2 or not ends[0] <= ends[1]:
                self._fail("a range must be [low, high]", value)
            ranges[self._text(key, "a value's name")] = (ends[0], ends[1])
        return ranges

    def _fraction(self, node: yaml.Node, what: str) -> float:
        number = self._number(node, what)
        if not 0.0 < number < 1.0:
            self._fail(f"{what} must be between 0 and 1, not {number:g}", node)
        return number

    def _number(self, node: yaml.Node, what: str) -> float:
        text = self._text(node, what)
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            self._fail(f"{what} must be a number, not {text!r}", node)
        return number

    def _spin(self, node: yaml.Node, what: str) -> Spin:
        text = self._text(node, what)
        known = [spin.value for spin in Spin]
        if text not in known:
            hint = nearest(text, known, f"known are {', '.join(known)}")
            self._fail(f"{what} cannot be {text!r}{hint}", node)
        return Spin(text)

    def _pipeline(self, node: yaml.Node, steps: int, budget: int | None) -> Pipeline:
        fields = self._fields(node, "a pipeline", ("stages", "threads", "depth"), ("lanes", "processors"))
        pipeline = Pipeline(
            stages=self._counts(fields["stages"], "'stages'"),
            threads=self._counts(fields["threads"], "'threads'"),
            lanes=self._count(fields["lanes"], "'lanes'") if "lanes" in fields else 1,
            depth=self._count(fields["depth"], "'depth'"),
            processors=self._indices(fields["processors"]) if "processors" in fields else (),
        )
        fault = pipeline.fault(steps, budget)
        if fault is not None:
            self._fail(f"this pipeline does not fit the plan: {fault}", node)
        return pipeline

    def _indices(self, node: yaml.Node) -> tuple[int, ...]:
        found = [self._text(item, "each of 'processors'") for item in self._items(node, "'processors'")]
        if not all(each.isascii() and each.isdecimal() and len(each) < 5 for each in found):
            self._fail("each of 'processors' must be an index, such as 0 or 1", node)
        return tuple(map(int, found))

    def _counts(self, node: yaml.Node, what: str) -> tuple[int, ...]:
        return tuple(self._count(item, f"each of {what}") for item in self._items(node, what))

    def _flag(self, node: yaml.Node, what: str) -> bool:
        text = self._text(node, what)
        if text not in ("true", "false"):
            self._fail(f"{what} must be true or false, not {text!r}", node)
        return text == "true"

    def _fields(
        self, node: yaml.Node | None, what: str, required: Collection[str], optional: Collection[str]
    ) -> Mapping[str, yaml.Node]:
        legal = (*required, *optional)
        known = ", ".join(legal)
        if not isinstance(node, yaml.MappingNode):
            self._fail(f"{what} must be a mapping with the keys {known}; this is {_kind(node)}", node)
        fields: dict[str, yaml.Node] = {}
        for key_node, value in node.value:
            key = self._text(key_node, "a key")
            if key not in legal:
                hint = nearest(key, legal, f"it has {known}")
                self._fail(f"{what} has no key {key!r}{hint}", key_node)
            fields[key] = value
        missing = [key for key in required if key not in fields]
        if missing:
            self._fail(f"{what} needs {' and '.join(map(repr, missing))}", node)
        return fields

    def _items(self, node: yaml.Node | None, what: str) -> list[yaml.Node]:
        if not isinstance(node, yaml.SequenceNode):
            self._fail(f"{what} must be a list; this is {_kind(node)}", node)
        if not node.value:
            self._fail(f"{what} is empty", node)
        items: list[yaml.Node] = node.value
        return items

    def _text(self, node: yaml.Node, what: str) -> str:
        if not isinstance(node, yaml.ScalarNode) or node.tag == NULL:
            self._fail(f"{what} must be text; this is {_kind(node)}", node)
        text: str = node.value
        return text

    def _count(self, node: yaml.Node, what: str) -> int:
        text = self._text(node, what)
        if not (text.isascii() and text.isdecimal() and len(text) < 10 and int(text) > 0):
            self._fail(f"{what} must be a whole number above zero, not {text!r}", node)
        return int(text)

    def _fail(self, problem: str, node: yaml.Node | None) -> NoReturn:
        raise self._fault(problem, node)

    def _fault(self, problem: str, node: yaml.Node | None) -> PlanError:
        place = None if node is None else node.start_mark.index
        return PlanError(TextError(problem, self._text_read, place).text_in(self._source))


def _kind(node: yaml.Node | None) -> str:
    if isinstance(node, yaml.MappingNode):
        return "a mapping"
    if isinstance(node, yaml.SequenceNode):
        return "a list"
    return "nothing" if node is None or not node.value else f"{node.value!r}"
