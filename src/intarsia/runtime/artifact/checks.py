"""Every number and name of a manifest, checked before anything is made of it: against the file, and against the graph.

A manifest may come from anybody, and the digest of the file says nothing about who wrote it. Engines, and our own code,
take memory to be as large as a shape says; so nothing of a manifest becomes a pointer, a length or a count unchecked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from math import isfinite, prod
from typing import Any

from intarsia.backends import registry
from intarsia.backends.contract import Signature
from intarsia.backends.contract.metadata import INSIDE
from intarsia.config.settings import Pipeline, RunSettings
from intarsia.errors import ArtifactError
from intarsia.json_types import Fault, JsonType
from intarsia.runtime.artifact.manifest import Manifest, StoredBucket, StoredStep, StoredWeight
from intarsia.runtime.artifact.manifest_reading import fault_text
from intarsia.runtime.dtypes import numpy_dtype
from intarsia.runtime.nested_artifacts import STEPS
from intarsia.runtime.plan import Plan, Step

MOST_THREADS = 1024
"""No engine of one machine is asked for more; each is a thread that is made when the plan is loaded."""
MOST_REQUESTS = 4096
"""In flight at one time in a stream; each has memory of its own."""
MOST_BYTES = 2**46
"""Of one value: 64 TiB, which no machine has, and 64 bits hold every sum of."""
MOST_DIMS = 64
"""As many as numpy's arrays may have."""
WEIGHTS, GRAPH, PLAN = "weights.bin", "graph.onnx", "plan.yaml"
_ALIGNMENT = 64
_UNTYPED = "unknown"
"""The dtype of a value of which nobody knows it; its shape is not known either."""
_STRING = "string"


def raise_first(faults: Iterable[Fault]) -> None:
    """Raise the first of these faults as an `ArtifactError`, if there is one."""
    for where, what in faults:
        raise ArtifactError(f"{f'$.{where}' if where else '$'}: {what}")


def check_meta(step: StoredStep, at: str, type_: JsonType | None, plan: Plan) -> None:
    """Check what an engine kept for itself: its types, and that its borders are those of its step.

    The step stands at this place in the manifest. Of an engine that does not say what it keeps, the type is ``None``.

    Raises:
        ArtifactError: Naming the first place where it cannot be right.
    """
    settings = plan.settings
    if not step.meta and (settings.embed or settings.ahead_of_time):  # another step's session, or program, holds it
        return
    if step.inside is not None:
        _check_inside(step, at, step.inside)
        return
    if step.bodies:
        for number, (body, part) in enumerate(zip(step.bodies, _bodies_inside(step, at), strict=True)):
            _check_inside(part, f"{at}.bodies[{number}].plan", body.plan)
    faults: list[Fault] = []
    if type_ is not None:
        type_(step.meta, "", faults)
    if faults:
        raise ArtifactError(fault_text(faults, f"$.{at}.meta"))
    raise_first(_meta_faults(step, at, plan))


def _check_inside(step: StoredStep, at: str, plan: Plan) -> None:
    rows = _rows_inside(step, at, len(plan.steps), "steps")
    for number, (inner, row) in enumerate(zip(plan.steps, rows, strict=True)):
        type_ = registry.of(inner.target, loading=True).meta_type(row["meta"])
        check_meta(_stored(inner, row), f"{at}.inside.steps[{number}]", type_, plan)


def _bodies_inside(step: StoredStep, at: str) -> Iterator[StoredStep]:
    """What each body of a step has, as what the step would have if there were this body alone."""
    for row in _rows_inside(step, at, len(step.bodies), "bodies"):
        yield _stored(replace(step.step, bodies=()), row)


def _stored(step: Step, row: Mapping[str, Any]) -> StoredStep:
    own = {name: getattr(step, name) for name in Step.__slots__}
    return StoredStep(**own, files=tuple(row["files"]), weights=tuple(row["weights"]), meta=row["meta"])


def _rows_inside(step: StoredStep, at: str, count: int, what: str) -> Sequence[Mapping[str, Any]]:
    """What is kept of each of so many parts of a step, whose files and weights the step has."""
    faults: list[Fault] = []
    INSIDE(step.meta, "", faults)
    if faults:
        raise ArtifactError(fault_text(faults, f"$.{at}.meta"))
    rows: Sequence[Mapping[str, Any]] = step.meta[STEPS]
    if len(rows) != count:
        raise ArtifactError(f"$.{at}.meta.{STEPS}: there are {len(rows)}, and {count} {what} inside")
    for number, row in enumerate(rows):
        for kept, known in (("files", [f"{number}/{name}" for name in row["files"]]), ("weights", row["weights"])):
            lost = next((name for name in known if name not in getattr(step, kept)), None)
            if lost is not None:
                raise ArtifactError(f"$.{at}.meta.{STEPS}[{number}].{kept}: the step has no {lost!r}")
    return rows


def manifest_faults(manifest: Manifest, sizes: Mapping[str, int]) -> Iterator[Fault]:
    """Where a manifest cannot be right, by the entries of its file with their bytes, and by itself."""
    for entry in (WEIGHTS, GRAPH, PLAN):
        if entry not in sizes:
            yield "", f"the file has no {entry}"
    if manifest.machine.cores < 1:
        yield "machine.cores", f"{manifest.machine.cores} is no number of cores"
    yield from _border_faults("inputs", manifest.inputs)
    yield from _border_faults("outputs", manifest.outputs)
    yield from _weight_faults(manifest.weights, sizes.get(WEIGHTS, 0))
    for name, same in manifest.same.items():
        if same not in sizes or same in manifest.same:
            yield f"same.{name}", f"the file has no entry {same!r}"
    if not manifest.steps:
        yield "steps", "there are none"
    for number, step in enumerate(manifest.steps):
        yield from _step_faults(f"steps[{number}]", number, step, manifest, sizes)
    yield from _engine_faults(manifest)
    if manifest.buckets:
        yield from _bucket_faults(manifest)
    else:
        yield from _plan_faults("steps", manifest, range(len(manifest.steps)), manifest.settings, "settings")


def _border_faults(where: str, borders: Sequence[Signature]) -> Iterator[Fault]:
    for place, border in enumerate(borders):
        at = f"{where}[{place}]"
        if not border.name:
            yield f"{at}.name", "it is empty"
        if border.dtype == _UNTYPED and border.shape is None:
            continue
        itemsize = _itemsize(border.dtype)
        if itemsize is None:
            yield f"{at}.dtype", f"there is no type {border.dtype!r}"
        elif border.shape is not None:
            yield from _shape_faults(f"{at}.shape", border.shape, itemsize)
    names = [border.name for border in borders]
    for place, name in enumerate(names):
        if name in names[:place]:
            yield f"{where}[{place}].name", f"{name!r} was there before"


def _shape_faults(at: str, shape: Sequence[int], itemsize: int) -> Iterator[Fault]:
    if len(shape) > MOST_DIMS:
        yield at, f"a rank of {len(shape)} is more than {MOST_DIMS}"
    for axis, size in enumerate(shape):
        if not 0 <= size <= MOST_BYTES:
            yield f"{at}[{axis}]", f"{size} is no size of a dimension"
    if prod(max(size, 1) for size in shape) * max(itemsize, 1) > MOST_BYTES:
        yield at, f"{list(shape)} has more elements than any machine can hold"


def _itemsize(dtype: str) -> int | None:
    """Bytes of one element; ``None`` if there is no such type."""
    try:
        found = numpy_dtype(dtype)
    except (AttributeError, TypeError, ValueError):
        return None
    # numpy takes many spellings, and records; only the canonical name is ever written.
    return found.itemsize if dtype == _STRING or (found.name == dtype and not found.hasobject) else None


def _weight_faults(weights: Mapping[str, StoredWeight], size: int) -> Iterator[Fault]:
    for name, weight in weights.items():
        at = f"weights.{name}"
        itemsize = None if weight.dtype == _STRING else _itemsize(weight.dtype)
        if itemsize is None:
            yield f"{at}.dtype", f"there is no type {weight.dtype!r} of weights"
            continue
        yield from _shape_faults(f"{at}.shape", weight.shape, itemsize)
        if weight.nbytes != prod(weight.shape) * itemsize:
            yield f"{at}.nbytes", f"{weight.dtype}{list(weight.shape)} does not have {weight.nbytes} bytes"
        if weight.offset < 0 or weight.offset + weight.nbytes > size:
            outside = f"{weight.nbytes} bytes from {weight.offset} on are not inside {WEIGHTS} ({size} bytes)"
            yield f"{at}.offset", outside
        if weight.offset % _ALIGNMENT:
            yield f"{at}.offset", f"{weight.offset} is no multiple of {_ALIGNMENT}"
    spans = sorted({(each.offset, each.nbytes) for each in weights.values() if each.nbytes > 0})
    for (start, nbytes), (other, _) in pairwise(spans):
        if other < start + nbytes:
            name = next(name for name, each in weights.items() if each.offset == other)
            yield f"weights.{name}.offset", f"what is at {other} overlaps the {nbytes} bytes from {start} on"


def _step_faults(
    at: str, number: int, step: StoredStep, manifest: Manifest, sizes: Mapping[str, int]
) -> Iterator[Fault]:
    yield from _border_faults(f"{at}.inputs", step.inputs)
    yield from _border_faults(f"{at}.outputs", step.outputs)
    if not step.outputs:
        yield f"{at}.outputs", "there are none"
    if not step.nodes or len(set(step.nodes)) < len(step.nodes):
        yield f"{at}.nodes", "there are none, or one twice"
    for place, name in enumerate(step.files):
        entry = f"steps/{number}/{name}"
        if manifest.same.get(entry, entry) not in sizes:
            yield f"{at}.files[{place}]", f"the file has no entry {entry!r}"
    for place, name in enumerate(step.weights):
        if name not in manifest.weights:
            yield f"{at}.weights[{place}]", f"there is no weight {name!r}"
    yield from _inside_faults(at, step.step)


def _inside_faults(at: str, step: Step) -> Iterator[Fault]:
    """Of a step on a nested configuration, the plan inside: it has its nodes and its borders, and is in order."""
    plan = step.inside
    if (plan is None) != (step.target.kind_name != registry.NESTED):
        yield f"{at}.inside", f"{step.target.kind_name} runs {'no' if plan else 'a'} plan inside"
    if bool(step.bodies) != (step.target.kind_name == registry.CONTROL_FLOW):
        yield f"{at}.bodies", f"{step.target.kind_name} runs {'no' if step.bodies else 'the'} bodies of nodes"
    for number, body in enumerate(step.bodies):
        if body.node not in step.nodes:
            yield f"{at}.bodies[{number}].node", f"the step has no node {body.node!r}"
        yield from _inner_plan_faults(f"{at}.bodies[{number}].plan", body.plan)
    if plan is None:
        return
    where = f"{at}.inside"
    if plan.steps and sorted(step.nodes) != sorted(node for inner in plan.steps for node in inner.nodes):
        yield f"{where}.steps", "they do not have each node of the step once"
    for side, own, outer in (("inputs", plan.inputs, step.inputs), ("outputs", plan.outputs, step.outputs)):
        if own != outer:
            yield f"{where}.{side}", f"these are not the {side} of the step"
    if plan.settings.embed:
        yield f"{where}.settings", "a plan inside is driven step by step"
    yield from _inner_plan_faults(where, plan)


def _inner_plan_faults(where: str, plan: Plan) -> Iterator[Fault]:
    """Of a plan inside of a step what it says by itself."""
    if not plan.steps:
        yield f"{where}.steps", "there are none"
    if plan.settings.ahead_of_time:
        yield f"{where}.settings", "a plan inside is no program"
    yield from _border_faults(f"{where}.inputs", plan.inputs)
    yield from _border_faults(f"{where}.outputs", plan.outputs)
    for number, inner in enumerate(plan.steps):
        below = f"{where}.steps[{number}]"
        yield from _border_faults(f"{below}.inputs", inner.inputs)
        yield from _border_faults(f"{below}.outputs", inner.outputs)
        yield from _inside_faults(below, inner)
    yield from _settings_faults(f"{where}.settings", plan.settings, len(plan.steps))
    rows = [(f"{where}.steps[{number}]", inner) for number, inner in enumerate(plan.steps)]
    yield from _order_faults(f"{where}.steps", rows, plan.inputs, plan.outputs)


def _engine_faults(manifest: Manifest) -> Iterator[Fault]:
    used = {registry.engine_of(leaf.target) for step in manifest.steps for leaf in step.step.leaves}
    for name in sorted(used ^ manifest.engines.keys()):
        yield "engines", f"{name!r} is only {'here' if name in manifest.engines else 'among the targets of the steps'}"


def _bucket_faults(manifest: Manifest) -> Iterator[Fault]:
    names = {border.name for border in manifest.inputs}
    dims = {dim for row in manifest.dims.values() for dim in row if isinstance(dim, str)}
    for name, row in manifest.dims.items():
        if name not in names:
            yield f"dims.{name}", "there is no such input"
        for axis, dim in enumerate(row):
            if isinstance(dim, int) and not 0 <= dim <= MOST_BYTES:
                yield f"dims.{name}[{axis}]", f"{dim} is no size of a dimension"
    for place, bucket in enumerate(manifest.buckets):
        at = f"buckets[{place}]"
        yield from _size_faults(at, bucket, dims)
        lost = next((step for step in bucket.steps if not 0 <= step < len(manifest.steps)), None)
        if lost is not None or len(set(bucket.steps)) < len(bucket.steps) or not bucket.steps:
            yield f"{at}.steps", "there are none, or one twice" if lost is None else f"there is no step {lost}"
            continue
        yield from _plan_faults(f"{at}.steps", manifest, bucket.steps, bucket.settings, f"{at}.settings")


def _size_faults(at: str, bucket: StoredBucket, dims: set[str]) -> Iterator[Fault]:
    for where, found in (("ranges", bucket.ranges.keys()), ("sizes", bucket.sizes.keys())):
        if found != dims:
            yield f"{at}.{where}", f"the open dimensions are {', '.join(sorted(dims)) or 'none'}"
    for name, (low, high) in bucket.ranges.items():
        if not 1 <= low <= high <= MOST_BYTES:
            yield f"{at}.ranges.{name}", f"{low}..{high} is no range of sizes"
        elif not low <= bucket.sizes.get(name, low) <= high:
            yield f"{at}.sizes.{name}", f"{bucket.sizes[name]} is not among {low}..{high}"


def _plan_faults(
    at: str, manifest: Manifest, places: Sequence[int], settings: RunSettings, settings_at: str
) -> Iterator[Fault]:
    """Each step reads what is there before it; a name means one value; nothing is written twice."""
    yield from _settings_faults(settings_at, settings, len(places))
    rows = [(f"steps[{place}]", manifest.steps[place].step) for place in places]
    yield from _order_faults(at, rows, manifest.inputs, manifest.outputs)


def _order_faults(
    at: str, steps: Iterable[tuple[str, Step]], inputs: Sequence[Signature], outputs: Sequence[Signature]
) -> Iterator[Fault]:
    known = {border.name: border for border in inputs}
    for where, step in steps:
        for number, border in enumerate(step.inputs):
            if known.get(border.name) != border:
                yield f"{where}.inputs[{number}]", f"nothing before it makes {border.name!r} of such a type and shape"
        for number, border in enumerate(step.outputs):
            if border.name in known:
                yield f"{where}.outputs[{number}]", f"{border.name!r} is there already"
            known[border.name] = border
    for number, border in enumerate(outputs):
        if known.get(border.name) != border:
            yield f"outputs[{number}]", f"no step in {at} makes {border.name!r} of such a type and shape"


def _settings_faults(at: str, settings: RunSettings, steps: int) -> Iterator[Fault]:
    for name in ("threads", "instances"):
        if not 1 <= (count := getattr(settings, name)) <= MOST_THREADS:
            yield f"{at}.{name}", f"{count} is no number of {name} from 1 to {MOST_THREADS}"
    if not 1 <= settings.batch <= MOST_REQUESTS:
        yield f"{at}.batch", f"{settings.batch} is no number of requests from 1 to {MOST_REQUESTS}"
    if settings.max_error is not None and not (isfinite(settings.max_error) and settings.max_error >= 0):
        yield f"{at}.max_error", f"{settings.max_error} is no error"
    cores = None if settings.emulated is None else settings.emulated.cores
    if cores is not None and not 1 <= cores <= MOST_THREADS:
        yield f"{at}.emulated.cores", f"{cores} is no number of cores from 1 to {MOST_THREADS}"
    if settings.pipeline is not None:
        yield from _pipeline_faults(at, settings, settings.pipeline, steps)


def _pipeline_faults(at: str, settings: RunSettings, pipeline: Pipeline, steps: int) -> Iterator[Fault]:
    numbers = (*pipeline.stages, *pipeline.threads, pipeline.lanes)
    if not pipeline.stages or not all(1 <= number <= MOST_THREADS for number in numbers):
        yield f"{at}.pipeline", f"its numbers are not from 1 to {MOST_THREADS}"
    elif not all(0 <= index < MOST_THREADS for index in pipeline.processors):
        yield f"{at}.pipeline.processors", f"they are not from 0 to {MOST_THREADS - 1}"
    elif not 1 <= pipeline.depth <= MOST_REQUESTS:
        yield f"{at}.pipeline.depth", f"{pipeline.depth} is not from 1 to {MOST_REQUESTS}"
    elif settings.embed:
        yield f"{at}.pipeline", "partitions inside one engine's session run one request after another"
    elif (fault := pipeline.fault(steps, settings.threads)) is not None:
        yield f"{at}.pipeline", fault


def _meta_faults(step: StoredStep, at: str, plan: Plan) -> Iterator[Fault]:
    holds_others = "partitions" in step.meta
    is_whole = holds_others or plan.settings.ahead_of_time  # the first step of a program holds all of it
    sides = (("inputs", step.inputs, plan.inputs), ("outputs", step.outputs, plan.outputs))
    for side, own, whole in sides:
        borders = whole if is_whole else own
        kept = step.meta.get(side)
        if kept is None:
            continue
        wanted = [(each.name, each.dtype, None if each.shape is None else tuple(each.shape)) for each in borders]
        found = list(map(_kept_border, kept))
        if holds_others:  # its session lists them in the order of use, and binds by name
            found, wanted = sorted(found, key=_name_of), sorted(wanted, key=_name_of)
        if found != wanted:
            yield f"{at}.meta.{side}", f"these are not the {side} of the {'plan' if is_whole else 'step'}"
    if holds_others:
        yield from _partition_faults(step, at, plan)


def _name_of(border: tuple[str, str, tuple[int, ...] | None]) -> str:
    return border[0]


def _kept_border(row: Any) -> tuple[str, str, tuple[int, ...] | None]:
    if isinstance(row, Mapping):  # ncnn's, which are all of one type
        return row["name"], "float32", tuple(row["shape"])
    name, dtype, shape = row
    return name, dtype, None if shape is None else tuple(shape)


def _partition_faults(step: StoredStep, at: str, plan: Plan) -> Iterator[Fault]:
    """How many values each partition takes, and which come in blocks: its kernel hands over that many pointers."""
    partitions = [each for each in plan.steps if each.target != step.target]
    counts = [[len(partition.inputs), len(partition.outputs)] for partition in partitions]
    if [list(pair) for pair in step.meta["partitions"]] != counts:
        yield f"{at}.meta.partitions", f"of inputs and outputs, the other steps have {counts}"
        return
    block = step.meta["block"]
    for number, sides in step.meta["borders"].items():
        where = f"{at}.meta.borders.{number}"
        if not number.isdecimal() or int(number) >= len(partitions):
            yield where, "there is no such partition"
            continue
        partition = partitions[int(number)]
        for values, blocked in zip((partition.inputs, partition.outputs), sides, strict=True):
            for place in blocked:
                shape = values[place].shape if 0 <= place < len(values) else None
                if shape is None or len(shape) != 4 or shape[0] != 1 or block < 1 or shape[1] % block:
                    yield where, f"its value {place} cannot be handed over in blocks of {block} channels"
