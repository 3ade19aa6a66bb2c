"""Options that several verbs share, and the texts that only the command line has: ``NAME=VALUE``, dimensions."""

from __future__ import annotations

import errno
import logging
import math
import os
import re
import warnings
from collections.abc import Callable
from functools import partial, reduce
from pathlib import Path
from typing import Any, TypeVar

import click

from intarsia.cli.console import QUIET
from intarsia.cli.machine import machine_options
from intarsia.numbers import MOST_SECONDS, MOST_SEED, MOST_THREADS, shown

Verb = TypeVar("Verb", bound=Callable[..., Any])


class File(click.Path):
    """A path that the system could have: not too long for it, and without the character that no path has."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path; whether anything is there is not looked at."""
        try:
            os.lstat(value)
        except FileNotFoundError:
            pass
        except ValueError:
            self.fail(f"{shown(str(value))} is no path: it holds a character that no path has", param, ctx)
        except OSError as error:
            if error.errno in (errno.ENAMETOOLONG, errno.ELOOP):
                self.fail(f"{shown(str(value))} is no path: {error.strerror}", param, ctx)
        return super().convert(value, param, ctx)


class StorePlace(File):
    """Where a record store is: a path, or the URL of a database as a text."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path or the URL."""
        from intarsia.cost.records.store_url import url_of

        return url_of(value) or super().convert(value, param, ctx)


class Seconds(click.FloatRange):
    """A time that something may take: from 0 on, finite, and no more than a year."""

    def __init__(self) -> None:
        super().__init__(min=0)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The seconds, or a usage error."""
        found = super().convert(value, param, ctx)
        if not found <= MOST_SECONDS:  # which also holds for what is no number
            self.fail(f"{value} is no time; give seconds from 0 to {MOST_SECONDS:.0f}, which is a year", param, ctx)
        return float(found)


class Milliseconds(click.FloatRange):
    """A time that a call may take: above 0, finite, and no more than a year."""

    def __init__(self) -> None:
        super().__init__(min=0, min_open=True)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The milliseconds, or a usage error."""
        found = super().convert(value, param, ctx)
        if not found <= 1e3 * MOST_SECONDS:  # which also holds for what is no number
            self.fail(f"{value} is no time; give milliseconds above 0, at most {1e3 * MOST_SECONDS:.0f}", param, ctx)
        return float(found)


class Share(click.FloatRange):
    """A number between 0 and 1."""

    def __init__(self) -> None:
        super().__init__(min=0, max=1, min_open=True, max_open=True)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The share, or a usage error."""
        found = super().convert(value, param, ctx)
        if math.isnan(found):
            self.fail(f"{value} is no number between 0 and 1", param, ctx)
        return float(found)


class Whole(click.IntRange):
    """A whole number from ``least`` up to one that is far more than anybody needs."""

    def __init__(self, least: int, most: int) -> None:
        super().__init__(min=least)
        self._most = most

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number, or a usage error."""
        found = super().convert(value, param, ctx)
        if found > self._most:
            self.fail(f"{shown(found)} is too large; at most {self._most}", param, ctx)
        return int(found)


def _least(
    default: int, context: click.Context, param: click.Parameter, stated: tuple[str, ...]
) -> int | dict[str, int]:
    """One number for every target, or numbers by kind."""
    found: dict[str, int] = {}
    for text in stated:
        kind, _, number = text.rpartition("=")
        if not re.fullmatch("[0-9]{1,18}", number) or (kind == "") != (len(stated) == 1 and "=" not in text):
            raise click.BadParameter(f"{shown(text)}: give one number, or KIND=N for each kind", param=param)
        found[kind] = int(number)
    return found.get("", default) if set(found) <= {""} else found


FILE = File()
SEED = Whole(0, MOST_SEED)


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


def read_dims(text: str) -> tuple[int | str, ...] | int | str:
    """``1x3x224x224`` is a shape, ``8`` the value of one symbolic dimension, ``8x`` the shape of a vector.

    ``1..512`` is a range of values, which stays text. ``Nx3x224x224`` names the first dimension. Anything else is a
    `ValueError`.
    """
    if ".." in text:
        return text
    found = re.fullmatch(r"(?:(?P<name>[A-Za-wyz_][0-9A-Za-wyz_]*)(?=x)|[0-9]+)(x[0-9]+)*x?", text)
    if found is None:
        raise ValueError(text)
    dims = tuple(part if part == found["name"] else int(part) for part in text.split("x") if part)
    return dims if "x" in text else dims[0]


SHAPE = Binding("NAME=DIMS", read_dims, "input=1x3x224x224, N=8, N=1..512 or input=Nx3x224x224")
ARRAY = Binding("NAME=FILE.npy", Path, "data=image.npy")


def _be_quiet(context: click.Context, _: click.Parameter, is_asked: bool) -> None:
    if is_asked:
        context.meta[QUIET] = True
        root = logging.getLogger()
        context.call_on_close(partial(root.setLevel, root.level))
        root.setLevel(logging.ERROR)
        context.with_resource(warnings.catch_warnings())
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
    "--verbose", is_flag=True, help="Print the long lists too; say more on stderr, and show the traceback of an error."
)
store_option = click.option(
    "--store",
    metavar="FILE|URL",
    type=StorePlace(),
    help="Record store of measurements: a file, or postgresql://USER@HOST/DATABASE. [default: a file in the user's "
    "cache folder]",
)
seed_option = click.option(
    "--seed", metavar="N", type=SEED, default=0, show_default=True, help="For inputs and search."
)
shape_option = click.option(
    "--shape",
    "shapes",
    type=SHAPE,
    multiple=True,
    callback=lambda _, __, pairs: dict(pairs) or None,
    help="Bind an input's shape, or a symbolic dimension to a size or a range.",
)
setting_options = (
    *machine_options,
    click.option(
        "--threads",
        type=Whole(1, MOST_THREADS),
        metavar="N",
        help="Threads for the model. [default: what this process may use]",
    ),
    click.option(
        "--budget",
        type=Seconds(),
        metavar="SECONDS",
        default=60.0,
        show_default=True,
        help="Seconds that all of it may take; more only where that is announced.",
    ),
    click.option(
        "--objective",
        metavar="NAME",
        type=click.Choice(["latency", "throughput"]),
        default="latency",
        show_default=True,
        help="What to be best at: latency, the time of one call; or throughput, the requests a second of several "
        "instances, as intarsia serve loads them.",
    ),
    click.option(
        "--max-latency",
        type=Milliseconds(),
        metavar="MS",
        help="With --objective throughput: what 99 of 100 calls may take at most under load.",
    ),
    click.option(
        "--max-memory",
        metavar="AMOUNT",
        help="Memory that the plan may add to its process at its peak, as 500MB. "
        "[default: for a mix, 1.3 times what the best single engine needs, or a sixteenth of the memory that may "
        "be used here, whichever is more]",
    ),
    store_option,
    shape_option,
    click.option(
        "--max-error",
        type=Share(),
        metavar="E",
        help="Largest error that outputs may have, as a share of their length; allows reduced precision. "
        "[default: fp32 only]",
    ),
    click.option(
        "--strict",
        is_flag=True,
        help="Refuse a model that no engine could be shown to answer rightly. [default: ship the best, and say so]",
    ),
    click.option(
        "--strict-machine",
        is_flag=True,
        help="Refuse a description of a machine that is not this one. [default: measure here, and say what differs]",
    ),
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
"""Every setting of a compile but for how the model is divided; `search_options` has that too."""
search_options = (
    *setting_options,
    *(
        click.option(
            f"--min-{what}",
            f"min_{what}",
            metavar="[KIND=]N",
            multiple=True,
            callback=partial(_least, 1 if what == "nodes" else 0),
            help=f"Where priority divides the model, {meaning} a target is given in one piece; of one kind, or of all.",
        )
        for what, meaning in (("nodes", "the fewest nodes"), ("flops", "the least floating-point work"))
    ),
    click.option(
        "--partition",
        type=click.Choice(["single", "greedy", "collage", "manual"]),
        help="How to divide the model. [default: collage, or manual with --plan]",
    ),
    click.option("--plan", metavar="FILE", type=FILE, help="Plan file that --partition manual replays."),
)


def with_options(*options: Callable[[Verb], Verb]) -> Callable[[Verb], Verb]:
    """Several option decorators as one, shown by ``--help`` in the order given."""
    return lambda verb: reduce(lambda made, option: option(made), reversed(options), verb)
