"""Options that several verbs share, and the texts that only the command line has: ``NAME=VALUE``, dimensions."""

from __future__ import annotations

import logging
import re
import warnings
from collections.abc import Callable
from functools import reduce
from pathlib import Path
from typing import Any, TypeVar

import click

from intarsia.cli.console import QUIET
from intarsia.cli.machine import machine_options

Verb = TypeVar("Verb", bound=Callable[..., Any])

FILE = click.Path(path_type=Path)


class Binding(click.ParamType[tuple[str, Any]]):
    """``NAME=VALUE`` as a pair; the first ``=`` divides."""

    name = "binding"

    def __init__(self, metavar: str, read: Callable[[str], Any], example: str) -> None:
        self._metavar = metavar
        self._read = read
        self._example = example

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        """What ``--help`` shows for the value."""
        return self._metavar

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, Any]:
        """The pair, or a usage error that shows an example."""
        name, _, text = value.partition("=")
        try:
            read = self._read(text) if name and text else None
        except ValueError:
            read = None
        if read is None:
            self.fail(f"{value!r} is not {self._metavar}, as in {self._example}", param, ctx)
        return name, read


def read_dims(text: str) -> tuple[int, ...] | int | str:
    """``1x3x224x224`` is a shape, ``8`` the value of one symbolic dimension, ``8x`` the shape of a vector.

    ``1..512`` is a range of values, which stays text.

    Raises:
        ValueError: Anything else.
    """
    if ".." in text:
        return text
    if not re.fullmatch(r"[0-9]+(x[0-9]+)*x?", text):
        raise ValueError(text)
    dims = tuple(int(part) for part in text.split("x") if part)
    return dims if "x" in text else dims[0]


SHAPE = Binding("NAME=DIMS", read_dims, "input=1x3x224x224, N=8 or N=1..512")
ARRAY = Binding("NAME=FILE.npy", Path, "data=image.npy")


def _be_quiet(context: click.Context, _: click.Parameter, is_asked: bool) -> None:
    if is_asked:
        context.meta[QUIET] = True
        logging.getLogger().setLevel(logging.ERROR)
        warnings.simplefilter("ignore")


def json_option(verb: Verb) -> Verb:
    """What every verb has: how it is to print."""
    return with_options(
        click.option("--json", "as_json", is_flag=True, help="Print one JSON object on stdout and nothing else."),
        click.option(
            *("-q", "--quiet"),
            is_flag=True,
            expose_value=False,
            callback=_be_quiet,
            help="Show neither progress nor warnings: the result alone.",
        ),
    )(verb)


verbose_option = click.option(
    "--verbose", is_flag=True, expose_value=False, help="Say more on stderr, and show the traceback of an error."
)
long_option = click.option(
    "--verbose",
    is_flag=True,
    help="Print the long lists too; say more on stderr, and show the traceback of an error.",
)
store_option = click.option(
    "--store",
    metavar="FILE",
    type=FILE,
    help="Record store of measurements. [default: one in the user's cache folder]",
)
measuring_options = (
    *machine_options,
    click.option(
        "--threads",
        type=click.IntRange(min=1),
        metavar="N",
        help="Threads for the model. [default: what this process may use]",
    ),
    click.option(
        "--budget",
        type=click.FloatRange(min=0),
        metavar="SECONDS",
        default=60.0,
        show_default=True,
        help="Seconds that all of it may take; more only where that is announced.",
    ),
    click.option(
        "--max-memory",
        metavar="AMOUNT",
        help="Memory that the plan may add to its process at its peak, as 500MB. "
        "[default: for a mix, 1.3 times what the best single engine needs]",
    ),
    store_option,
    click.option(
        "--shape",
        "shapes",
        type=SHAPE,
        multiple=True,
        help="Bind an input's shape, or a symbolic dimension to a size or a range.",
    ),
    click.option(
        "--max-error",
        type=click.FloatRange(min=0, max=1, min_open=True, max_open=True),
        metavar="E",
        help="What outputs may be off by, as a share of their length; allows 8 bits. [default: fp32 only]",
    ),
    click.option(
        "--strict",
        is_flag=True,
        help="Refuse a model that no engine could be shown to answer rightly. [default: ship the best, and say so]",
    ),
)
seed_option = click.option("--seed", metavar="N", type=int, default=0, show_default=True, help="For inputs and search.")
search_options = (
    *measuring_options,
    click.option(
        "--partition",
        type=click.Choice(["single", "greedy", "collage", "manual"]),
        help="How to divide the model. [default: collage, or manual with --plan]",
    ),
    click.option("--plan", metavar="FILE", type=FILE, help="Plan file that --partition manual replays."),
    click.option("--constraints", metavar="FILE", type=FILE, help="File that says what runs on which device."),
    click.option(
        "--custom-ops",
        metavar="LIB",
        type=FILE,
        multiple=True,
        help="Library that brings operators of its own to ONNX Runtime.",
    ),
    seed_option,
)


def with_options(*options: Callable[[Verb], Verb]) -> Callable[[Verb], Verb]:
    """Several option decorators as one, shown by ``--help`` in the order given."""
    return lambda verb: reduce(lambda made, option: option(made), reversed(options), verb)
