"""ONNX Runtime's exceptions, and ours as one of them: what a script catches there, it catches here.

An error that leaves an interface of ONNX Runtime's is of its own class still, and besides of the class that
ONNX Runtime raises in such a case.
"""
# ruff: noqa: N818 - the names are ONNX Runtime's

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from intarsia.errors import (
    ArtifactError,
    BackendError,
    ConfigError,
    ExecutionError,
    FeedError,
    IntarsiaError,
    ModelError,
    NoCoverError,
    SpecError,
)

Given = ParamSpec("Given")
Answer = TypeVar("Answer")


class Fail(Exception):
    """It did not work."""


class InvalidArgument(Exception):
    """A name, type or shape that the model does not have."""


class NoSuchFile(Exception):
    """There is no model at this path."""


class NoModel(Exception):
    """No model was loaded."""


class EngineError(Exception):
    """An engine does not work."""


class RuntimeException(Exception):
    """A run failed."""


class InvalidProtobuf(Exception):
    """A file that is no ONNX model."""


class ModelLoaded(Exception):
    """A model was loaded before."""


class NotImplemented(Exception):
    """No engine has the operator."""


class InvalidGraph(Exception):
    """A model that contradicts itself."""


class EPFail(Exception):
    """A provider does not work."""


class NotFound(Exception):
    """Something that was named is not there."""


class ModelLoadCanceled(Exception):
    """Loading was cancelled."""


class ModelRequiresCompilation(Exception):
    """The model is to be compiled first."""


class DeviceReset(Exception):
    """The device was lost."""


_RAISED: tuple[tuple[type[IntarsiaError], tuple[type[Exception], ...]], ...] = (
    (FeedError, (InvalidArgument, Fail)),
    (ModelError, (InvalidProtobuf, InvalidGraph, InvalidArgument, Fail)),  # theirs: by how far reading got
    (ArtifactError, (InvalidProtobuf, Fail)),
    (SpecError, (InvalidArgument, Fail)),
    (ConfigError, (InvalidArgument, Fail)),
    (NoCoverError, (NotImplemented, Fail)),
    (ExecutionError, (RuntimeException, Fail)),
    (BackendError, (EPFail, Fail)),
)
"""What ONNX Runtime raises where we raise one of these; the first that fits."""


def as_theirs(call: Callable[Given, Answer]) -> Callable[Given, Answer]:
    """The same function, of which our errors can be caught as ONNX Runtime's too."""

    @wraps(call)
    def called(*args: Given.args, **kwargs: Given.kwargs) -> Answer:
        try:
            return call(*args, **kwargs)
        except IntarsiaError as error:
            made = theirs(error)
            if made is error:
                raise
            raise made.with_traceback(error.__traceback__) from error.__cause__

    return called


def theirs(error: IntarsiaError) -> IntarsiaError:
    """An error that is of both classes; an attribute that is missing stays what it is, as it does there."""
    if isinstance(error, (AttributeError, *_ALL)):
        return error
    return _made(type(error), _kinds(error), error.args, vars(error))


def _made(
    ours: type[IntarsiaError], kinds: tuple[type[Exception], ...], args: tuple[Any, ...], facts: Mapping[str, Any]
) -> IntarsiaError:
    """An error of a class that is called as ours is and is of the others too. It can be sent to another process."""

    def reduced(_: IntarsiaError) -> tuple[Any, ...]:
        return _made, (ours, kinds, args, dict(facts))

    own = {"__module__": ours.__module__, "__doc__": ours.__doc__, "__reduce__": reduced}
    both: type[IntarsiaError] = type(ours.__name__, (ours, *kinds), own)
    made = both.__new__(both, *args)
    made.args = args
    vars(made).update(facts)
    return made


def _kinds(error: IntarsiaError) -> tuple[type[Exception], ...]:
    if isinstance(error, ModelError) and isinstance(error.__cause__, FileNotFoundError):
        return (NoSuchFile, Fail)
    return next((kinds for ours, kinds in _RAISED if isinstance(error, ours)), (Fail,))


_ALL = (
    *(Fail, InvalidArgument, NoSuchFile, NoModel, EngineError, RuntimeException, InvalidProtobuf, ModelLoaded),
    *(NotImplemented, InvalidGraph, EPFail, NotFound, ModelLoadCanceled, ModelRequiresCompilation, DeviceReset),
)
