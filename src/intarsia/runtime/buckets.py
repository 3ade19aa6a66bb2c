"""Buckets of sizes, each with a plan of its own, and the check that tells which one a call's feeds belong to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from intarsia.backends.contract import Signature
from intarsia.errors import FeedError
from intarsia.graph.ranges import Dims, Ranges, SizeRange
from intarsia.runtime.executors.feeds import check_feeds, sized
from intarsia.runtime.plan import Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Bucket:
    """Sizes of the open dimensions that share a plan. Its engines get arrays of true sizes, never padded ones."""

    ranges: Ranges
    sizes: Mapping[str, int]
    """Those at which the plan was measured and checked."""
    plan: Plan

    def holds(self, sizes: Mapping[str, int]) -> bool:
        """Whether feeds of these sizes belong here."""
        return all(sizes[name] in range_ for name, range_ in self.ranges.items())

    def __str__(self) -> str:
        return ", ".join(f"{name}={range_}" for name, range_ in self.ranges.items())


@dataclass(frozen=True, slots=True, kw_only=True)
class InputSpec:
    """The inputs of a model with open dimensions."""

    inputs: tuple[Signature, ...]
    """As engines see them: without a shape where a dimension is open."""
    dims: Mapping[str, Dims]
    """The dimensions of each input, open ones by name."""
    buckets: tuple[Bucket, ...]
    """Together they hold every size that each range allows."""

    def samples(self) -> tuple[Signature, ...]:
        """The inputs at the sizes at which the bucket of the largest sizes was measured."""
        return sized(self.inputs, self.dims, self.buckets[-1].sizes)

    def bucket(self, arrays: Mapping[str, np.ndarray]) -> Bucket:
        """The bucket of these feeds; a `FeedError` names every one of a wrong rank or size: no engine has seen it."""
        sizes: dict[str, int] = {}
        problems: list[str] = []
        for name, dims in self.dims.items():
            problems += self._take(name, dims, arrays[name].shape, sizes)
        if problems:
            raise FeedError("; ".join(dict.fromkeys(problems)))
        found = next((bucket for bucket in self.buckets if bucket.holds(sizes)), None)
        if found is None:
            wanted = ", ".join(f"{name}={size}" for name, size in sizes.items())
            raise FeedError(f"no bucket has a plan for {wanted}; compile for these sizes, too")
        return found

    def checked(self, feeds: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The feeds as arrays, checked as `check_feeds` does; `bucket` checks their sizes."""
        return check_feeds(self.inputs, feeds)

    def _take(self, name: str, dims: Dims, shape: Sequence[int], sizes: dict[str, int]) -> list[str]:
        """What is wrong with one feed; its sizes are added to ``sizes``."""
        input_ = f"input {name}[{','.join(map(str, dims))}] was given the shape [{','.join(map(str, shape))}]"
        if len(shape) != len(dims):
            return [input_]
        problems = []
        for dim, size in zip(dims, shape, strict=True):
            if isinstance(dim, int):
                if dim != size:
                    problems.append(input_)
            elif sizes.setdefault(dim, size) != size:
                problems.append(f"{input_}, but {dim} is {sizes[dim]} elsewhere")
            elif size not in self._range(dim):
                may = self._range(dim)
                problems.append(f"{input_}: {dim} may be {may}; for others compile with --shape {dim}=LOW..HIGH")
        return problems

    def _range(self, dim: str) -> SizeRange:
        each = [bucket.ranges[dim] for bucket in self.buckets]
        return SizeRange(low=min(range_.low for range_ in each), high=max(range_.high for range_ in each))
