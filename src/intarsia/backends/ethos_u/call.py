"""The call of a region: its data are copied into the accelerator's memory, the driver is invoked, results come back.

The driver is Arm's (https://gitlab.arm.com/artificial-intelligence/ethos-u/ethos-u-core-driver), and the user's to
build; only the three functions that are called are declared here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from intarsia.backends.c.site import function, indented
from intarsia.codegen.module import Function, Given, Kernel, Operand, Result, Scratch, Table

if TYPE_CHECKING:
    from intarsia.backends.ethos_u.vela import Compiled

DRIVER = Function(
    name="ethos_u_driver",
    text="""/* Of Arm's Ethos-U driver, to be linked in. Estimated by its compiler Vela, not run. */
struct ethosu_driver;
struct ethosu_driver *ethosu_reserve_driver(void);
void ethosu_release_driver(struct ethosu_driver *driver);
int ethosu_invoke_v3(struct ethosu_driver *driver, const void *commands, const int size, uint64_t *const addresses,
                     const size_t *sizes, const int count, void *own);

/* Yours: told what the driver answered where it is not 0; the results are worthless then. */
void ethos_u_failed(int status);""",
)
_ALIGNED = 16
"""Bytes that the accelerator wants its memory aligned to."""


def kernel(made: Compiled) -> Kernel:
    """The kernel of a region that Vela compiled."""
    regions = {made.weight_region: ("weights", made.weights.size), made.memory_region: ("memory", made.memory)}
    if made.fast:
        regions[made.fast_region] = ("fast", made.fast)
    count = max(regions) + 1
    rows = [regions.get(number, ("NULL", 0)) for number in range(count)]
    addresses = ", ".join("0" if name == "NULL" else f"(uint64_t)(uintptr_t){name}" for name, _ in rows)
    sizes = ", ".join(str(size) for _, size in rows)
    names = [f"x{number}" for number in range(len(made.inputs))]
    lines = [
        f"uint64_t addresses[{count}] = {{{addresses}}};",
        f"static const size_t sizes[{count}] = {{{sizes}}};",
        *(
            f"memcpy((uint8_t *){regions[port.region][0]} + {port.offset}, {name}, {port.size}u);"
            for name, port in zip(names, made.inputs, strict=True)
        ),
        "struct ethosu_driver *const driver = ethosu_reserve_driver();",
        "const int status =",
        f"    ethosu_invoke_v3(driver, commands, {made.commands.size}, addresses, sizes, {count}, NULL);",
        "ethosu_release_driver(driver);",
        "if (status != 0) {",
        "    ethos_u_failed(status);",
        "}",
    ]
    start = 0
    for port in made.outputs:
        lines.append(f"memcpy(y + {start}, (const uint8_t *){regions[port.region][0]} + {port.offset}, {port.size}u);")
        start += port.size
    parameters: list[tuple[str, Given]] = [
        *((f"const int8_t *{name}", Operand(place=place)) for place, name in enumerate(names)),
        ("const uint8_t *commands", Table(array=made.commands)),
        ("const uint8_t *weights", Table(array=made.weights)),
        ("int8_t *y", Result()),
        ("void *memory", Scratch(max(made.memory, _ALIGNED))),
        *([("void *fast", Scratch(made.fast))] if made.fast else []),
    ]
    body = function(
        "ethos_u", ", ".join(text for text, _ in parameters), indented(lines), needs=(DRIVER,), headers=("<string.h>",)
    )
    return Kernel(
        functions=(body, DRIVER), arguments=tuple(each for _, each in parameters), estimate=dict(made.estimate)
    )
