"""Which kernels a target asks for: its option ``kernels``, a list of ``NODE=KERNEL``, where ``*`` is every node."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from intarsia.backends.contract.traits import EVERY_NODE
from intarsia.backends.onnxruntime.kernels.kernel import WHOLE_BITS

if TYPE_CHECKING:
    from intarsia.target import Target

OPTION = "kernels"
_PRECISION = "inference-precision"
_BITS = {"f32": WHOLE_BITS, "i16": 16}


def asked(target: Target) -> dict[str, str]:
    """The kernel for each node that the target names, by id, and for ``*``; the later of two is in force."""
    pairs = (text.rpartition("=") for text in target[OPTION] or ())
    return {node: kernel for node, _, kernel in pairs}


def asking(target: Target, kernels: Mapping[str, str]) -> Target:
    """The target with these kernels by node, and no others."""
    texts = tuple(f"{node}={kernel}" for node, kernel in kernels.items())
    return target.with_options({OPTION: texts or None})


def bits_of(target: Target) -> int:
    """Of the numbers that our kernels multiply where they can do so in fewer than `WHOLE_BITS`."""
    return _BITS[target[_PRECISION]]


def misnamed(target: Target, known: Mapping[str, tuple[str, ...]]) -> str | None:
    """What is wrong with what the target asks for; ``known`` has the kernels of each node by its id."""
    every = tuple(dict.fromkeys(each for own in known.values() for each in own))
    for node, kernel in asked(target).items():
        text = f"-{OPTION} has {f'{node}={kernel}'!r}"
        if not node:
            return f"{text}, and NODE=KERNEL is what it takes"
        several = every if node == EVERY_NODE else known.get(node, ())
        if not several:
            return f"{text}, and no kernel of ours computes {node}"
        if kernel not in several:
            return f"{text}, and there {'is' if len(several) == 1 else 'are'} {', '.join(several)}"
    return None
