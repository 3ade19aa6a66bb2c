"""From floating point to int8, turned on the way where channels are to lie last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from intarsia.backends.c.kernels.integers import mve_elementwise
from intarsia.backends.c.kernels.integers.elementwise import float_literal
from intarsia.backends.c.kernels.integers.rounding import HELD
from intarsia.backends.c.kernels.loop import index, merged, nested
from intarsia.backends.c.site import Maker, NoKernelError, Site, function, indented, strides_of
from intarsia.codegen.module import Function, Kernel, Operand, Result


def _quantize(site: Site) -> Sequence[Kernel]:
    if site.reads[0].dtype != "float32":
        raise NoKernelError(f"quantize of {site.reads[0].dtype}")
    read = site.reads[0].shape
    order = site.attrs.get("order", list(range(len(read))))
    own, theirs = strides_of(read), strides_of(site.each.shape)
    # As the result lies: the step in the operand for each of its dimensions.
    sizes, (to, at) = merged(site.each.shape, [theirs, [own[axis] for axis in order]])
    names = [f"i{axis}" for axis in range(len(sizes))]
    number = f"q_quantised(x[{index(names, at)}], {float_literal(site.attrs['scale'])}, {site.attrs['zero']})"
    text = nested(names, sizes, [f"y[{index(names, to)}] = {number};"], independent=False)
    made = function("q_quantize", "const float *x, int8_t *y", indented(text), needs=(HELD, QUANTISED))
    plain = Kernel(functions=(made, HELD, QUANTISED), arguments=(Operand(place=0), Result()))
    if not site.processor.has_mve:
        return [plain]
    # As the operand lies: the step in the result for each of its dimensions.
    behind = [theirs[order.index(axis)] for axis in range(len(read))]
    rows, (_, steps) = merged(read, [own, behind])
    return [mve_elementwise.quantize(site, rows, steps), plain]


QUANTISED = Function(
    name="q_quantised",
    text="""/* Divided, rounded half to even, moved and held: at 1.5 * 2**23 a float's last bit is worth 1. */
static inline int8_t q_quantised(float x, float scale, int32_t zero)
{
#if defined(__ARM_FEATURE_SAT) && defined(__ARM_FEATURE_DSP) && defined(__GNUC__)
    const float moved = x / scale + 12582912.0f;
    const int32_t base = 0x4b400000 - zero;
    int32_t bits;
    memcpy(&bits, &moved, sizeof bits);
    __asm__("qsub %0, %1, %2" : "=r"(bits) : "r"(bits), "r"(base) : "cc");
    return q_held(bits, -128, 127);
#else
    const float quotient = x / scale;
    const float held = quotient > -1024.0f ? (quotient < 1024.0f ? quotient : 1024.0f) : -1024.0f;
    const float moved = held + 12582912.0f;
    return q_held((int32_t)(moved - 12582912.0f) + zero, -128, 127);
#endif
}""",
    needs=(HELD.name,),
    headers=("<string.h>",),
)

MAKERS: Mapping[str, Maker] = MappingProxyType({"quantize": _quantize})
