"""ONNX Runtime's exceptions, and ours as one of them: what a script catches there, it catches here.

An error that leaves an interface of ONNX Runtime's is of its own class still, and besides of the class that
ONNX Runtime raises in such a case.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from types import MappingProxyType
from typing import Any, Final, ParamSpec, TypeVar

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


_SAID: Final = {
    "Fail": "It did not work.",
    "InvalidArgument": "A name, type or shape that the model does not have.",
    "NoSuchFile": "There is no model at this path.",
    "NoModel": "No model was loaded.",
    "EngineError": "An engine does not work.",
    "RuntimeException": "A run failed.",
    "InvalidProtobuf": "A file that is no ONNX model.",
    "ModelLoaded": "A model was loaded before.",
    "NotImplemented": "No engine has the operator.",
    "InvalidGraph": "A model that contradicts itself.",
    "EPFail": "A provider does not work.",
    "NotFound": "Something that was named is not there.",
    "ModelLoadCanceled": "Loading was cancelled.",
    "ModelRequiresCompilation": "The model is to be compiled first.",
    "DeviceReset": "The device was lost.",
}
THEIRS: Final[Mapping[str, type[Exception]]] = MappingProxyType(
    {name: type(name, (Exception,), {"__module__": __name__, "__doc__": said}) for name, said in _SAID.items()}
)
"""ONNX Runtime's exceptions by their names."""
globals().update(THEIRS)  # where pickle looks for them

_RAISED: tuple[tuple[type[IntarsiaError], tuple[str, ...]], ...] = (
    (FeedError, ("InvalidArgument",)),
    (ModelError, ("InvalidProtobuf", "InvalidGraph", "InvalidArgument")),  # theirs: by how far reading got
    (ArtifactError, ("InvalidProtobuf",)),
    (SpecError, ("InvalidArgument",)),
    (ConfigError, ("InvalidArgument",)),
    (NoCoverError, ("NotImplemented",)),
    (ExecutionError, ("RuntimeException",)),
    (BackendError, ("EPFail",)),
)
"""What ONNX Runtime raises, beside ``Fail``, where we raise one of these; the first that fits."""


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
    if isinstance(error, (AttributeError, *THEIRS.values())):
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
    names = next((names for ours, names in _RAISED if isinstance(error, ours)), ())
    if isinstance(error, ModelError) and isinstance(error.__cause__, FileNotFoundError):
        names = ("NoSuchFile",)
    return tuple(THEIRS[name] for name in (*names, "Fail"))
