"""One version of a model, loaded: its instances, each of which has answered once."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from intarsia.config import RunSettings
from intarsia.errors import ArtifactError, ConfigError
from intarsia.files import Scratch, place_file
from intarsia.runtime import Artifact, CompiledModel, random_feeds
from intarsia.runtime.artifact.trust import UNSTATED, Trust
from intarsia.serving.metadata import ModelMetadata, metadata_of
from intarsia.serving.steady import Model, Steady

if TYPE_CHECKING:
    from intarsia.backends.contract import Signature

WARM_UP_SEED = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """A model that is ready to answer.

    Attributes:
        metadata: What is told of it.
        instances: Each answers one request at a time.
        facts: What the log says of it.
        close: Frees it; nothing may be called any more.
        batch: How many rows of requests one call may answer; 1 where each request has a call of its own.
    """

    metadata: ModelMetadata
    instances: Sequence[Model]
    facts: Mapping[str, object]
    close: Callable[[], object]
    batch: int = 1


class Loader(Protocol):
    """What loads models for a server."""

    @property
    def instances(self) -> int | None:
        """How many requests each model has in hand at one time; ``None`` where its plan says so."""

    def __call__(self, name: str, version: str, path: Path) -> Loaded:
        """The model of a file under a name, as a version, which has answered once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loading:
    """How artifacts are loaded.

    Attributes:
        trust: What they may do.
        instances: How often each is loaded; as often as its plan says if left out.
        batch: How many rows of requests one call may answer, at most as many as its plan says; as many if left out.
        in_place: Whether the file is used where it is. Otherwise a copy is, since weights are mapped from the file: one
            that is written over while it is served would change the weights under a running call.
    """

    trust: Trust = UNSTATED
    instances: int | None = None
    batch: int | None = None
    in_place: bool = False

    def __call__(self, name: str, version: str, path: Path) -> Loaded:
        """The model of an artifact, loaded and called once.

        Raises:
            IntarsiaError: It cannot be loaded, does not answer, has types that the protocol does not, or is not for
                such batches.
        """
        began = time.monotonic()
        with ExitStack() as stack:
            file = path if self.in_place else _copied(path, stack.enter_context(Scratch()).path)
            artifact = Artifact(file, self.trust)
            count = self.instances or artifact.manifest.settings.instances
            batch = batch_of(artifact.manifest.settings, self.batch)
            models = []
            for _ in range(count):
                models.append(stack.enter_context(CompiledModel(artifact)))
                for rows in {1, batch}:
                    models[-1](random_feeds(_with_rows(models[-1].sample_inputs, rows, batch), WARM_UP_SEED))
            plan = models[0].plan
            return Loaded(
                metadata=metadata_of(name, version, models[0]),
                instances=[Steady(model) for model in models],
                facts={
                    "file": str(path),
                    "targets": [str(part.target) for part in plan.partitions],
                    "threads": plan.settings.threads,
                    "instances": count,
                    **({"batch": batch} if batch > 1 else {}),
                    "seconds": round(time.monotonic() - began, 3),
                },
                close=stack.pop_all().close,
                batch=batch,
            )


def batch_of(settings: RunSettings, stated: int | None) -> int:
    """How many rows of requests one call may answer of a plan with these settings, where so many are stated, if any.

    Raises:
        ConfigError: More are stated than the plan was shown to answer rightly.
    """
    if stated is None or stated <= settings.batch:
        return stated or settings.batch
    if settings.batch == 1:
        raise ConfigError(
            f"--batch {stated}: nothing shows that the rows of its inputs are independent of each other; leave "
            "it out, or compile with --objective throughput and an open batch dimension, as by --shape N=1..32"
        )
    raise ConfigError(f"--batch {stated}: this artifact is for {settings.batch} at most; say so, or compile it again")


def _with_rows(inputs: Sequence[Signature], rows: int, batch: int) -> Sequence[Signature]:
    """Inputs of so many rows, where there are batches of several; else as they are."""
    if batch == 1:
        return inputs
    return [replace(each, shape=each.shape and (rows, *each.shape[1:])) for each in inputs]


def _copied(path: Path, folder: Path) -> Path:
    copy = folder / path.name
    try:
        place_file(path, copy)
    except OSError as error:
        if not path.is_file():
            raise ArtifactError(f"{path}: there is no such file") from error
        raise
    return copy
