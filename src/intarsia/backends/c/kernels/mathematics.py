"""Functions of one or two numbers that C lacks, leaves undefined, or that a compiler cannot turn into vectors.

The exponential is a polynomial (Cephes' ``expf``, public domain, by Stephen Moshier) with the power of two put into
the exponent's bits; hyperbolic tangent and error function follow Eigen's rational approximations. All are within a few
units of the last place of float32, and a compiler makes vectors of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from intarsia.codegen.emit import TYPES
from intarsia.codegen.module import BYTES, Function


def _inline(name: str, result: str, parameters: str, body: str, *, headers: tuple[str, ...] = ()) -> Function:
    text = f"static inline {result} {name}({parameters})\n{{\n{body}\n}}"
    return Function(name=name, text=text, headers=headers)


_EXP = _inline(
    "exp_f32",
    "float",
    "float x",
    """    const float held = x > 88.72284f ? 88.72284f : (x < -104.0f ? -104.0f : x);
    const float turned = held * 1.44269504f + 12582912.0f;
    const float n = turned - 12582912.0f;
    const float r = (held - n * 0.693359375f) + n * 2.12194440e-4f;
    float p = 1.9875691500e-4f;
    int32_t whole = (int32_t)n;
    int32_t half = whole >> 1;
    union { uint32_t bits; float value; } low, high;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r * r + r + 1.0f;
    low.bits = (uint32_t)(half + 127) << 23;
    high.bits = (uint32_t)(whole - half + 127) << 23;
    p = p * low.value * high.value;
    return x > 88.72284f ? INFINITY : (x != x ? x : p);""",
    headers=("<math.h>", "<stdint.h>"),
)
"""Half of the power of two at a time, so that numbers near the ends of the range come out, and the smallest ones."""
_TANH = _inline(
    "tanh_f32",
    "float",
    "float x",
    """    const float most = 7.90531110763549805f;
    const float held = x > most ? most : (x < -most ? -most : x);
    const float s = held * held;
    float p = -2.76076847742355e-16f;
    float q = 1.19825839466702e-06f;
    p = p * s + 2.00018790482477e-13f;
    p = p * s + -8.60467152213735e-11f;
    p = p * s + 5.12229709037114e-08f;
    p = p * s + 1.48572235717979e-05f;
    p = p * s + 6.37261928875436e-04f;
    p = p * s + 4.89352455891786e-03f;
    q = q * s + 1.18534705686654e-04f;
    q = q * s + 2.26843463243900e-03f;
    q = q * s + 4.89352518554385e-03f;
    p = (x < 0.0004f && x > -0.0004f) ? x : held * p / q;
    return x != x ? x : p;""",
)
_ERF = _inline(
    "erf_f32",
    "float",
    "float x",
    """    const float held = x > 4.0f ? 4.0f : (x < -4.0f ? -4.0f : x);
    const float s = held * held;
    float p = -2.72614225801306e-10f;
    float q = -1.45660718464996e-05f;
    p = p * s + 2.77068142495902e-08f;
    p = p * s + -2.10102402082508e-06f;
    p = p * s + -5.69250639462346e-05f;
    p = p * s + -7.34990630326855e-04f;
    p = p * s + -2.95459980854025e-03f;
    p = p * s + -1.60960333262415e-02f;
    q = q * s + -2.13374055278905e-04f;
    q = q * s + -1.68282697438203e-03f;
    q = q * s + -7.37332916720468e-03f;
    q = q * s + -1.42647390514189e-02f;
    return x != x ? x : held * p / q;""",
)
FLOAT: Mapping[str, Function] = MappingProxyType({"exp": _EXP, "tanh": _TANH, "erf": _ERF})
"""Functions of a float32 that have a form of ours, by the name of the instruction."""


def whole(name: str, dtype: str) -> Function:
    """Of two integers of one type: ``int_div``, ``mod``, ``fmod``, ``shift_left``, ``shift_right``, ``pow``.

    Nothing is undefined: a division by zero gives zero, a shift by more than there are bits leaves the sign alone.
    """
    kind, signed = TYPES[dtype], not dtype.startswith("u")
    body: Mapping[str, Callable[[], str]] = {
        "int_div": lambda: _division(kind, signed, f"({kind})(0u - ({_unsigned(dtype)})a)", f"({kind})(a / b)"),
        "fmod": lambda: _division(kind, signed, "0", f"({kind})(a % b)"),
        "mod": lambda: _modulo(kind, signed),
        "shift_left": lambda: _shift(dtype, f"({kind})(({_unsigned(dtype)})a << b)", "0"),
        "shift_right": lambda: _shift(dtype, f"({kind})(a >> b)", f"({kind})(a < 0 ? -1 : 0)" if signed else "0"),
        "pow": lambda: _power(dtype),
    }
    return _inline(f"{name}_{dtype}", kind, f"{kind} a, {kind} b", body[name](), headers=("<stdint.h>",))


def _unsigned(dtype: str) -> str:
    """What is computed in where running over must be defined."""
    return "uint64_t" if BYTES[dtype] == 8 else "uint32_t"


def _division(kind: str, signed: bool, by_minus_one: str, text: str) -> str:
    lines = ["if (b == 0) {", "    return 0;", "}"]
    if signed:
        lines += ["if (b == -1) {", f"    return {by_minus_one};", "}"]
    return "\n".join(f"    {line}" for line in (*lines, f"return {text};"))


def _modulo(kind: str, signed: bool) -> str:
    """What is left, with the sign of the divisor."""
    if not signed:
        return _division(kind, signed, "0", f"({kind})(a % b)")
    left = f"({kind})((a % b != 0 && (a % b < 0) != (b < 0)) ? a % b + b : a % b)"
    return _division(kind, signed, "0", left)


def _power(dtype: str) -> str:
    """By squaring, one bit of the exponent after the other."""
    kind, unsigned = TYPES[dtype], _unsigned(dtype)
    lines = [f"{unsigned} result = 1, base = ({unsigned})a;", f"{kind} left = b;"]
    if not dtype.startswith("u"):
        inverse = f"({kind})(a == 1 ? 1 : (a == -1 ? ((b & 1) ? -1 : 1) : 0))"
        lines += ["if (b < 0) {", f"    return {inverse};", "}"]
    lines += [
        "while (left > 0) {",
        "    if (left & 1) {",
        "        result *= base;",
        "    }",
        "    base *= base;",
        f"    left = ({kind})(left >> 1);",
        "}",
        f"return ({kind})result;",
    ]
    return "\n".join(f"    {line}" for line in lines)


def _shift(dtype: str, inside: str, outside: str) -> str:
    bits = 8 * BYTES[dtype]
    met = f"b < {bits}" if dtype.startswith("u") else f"b >= 0 && b < {bits}"
    return f"    if ({met}) {{\n        return {inside};\n    }}\n    return {outside};"


def remainder(dtype: str) -> Function:
    """What is left of a division, with the sign of the divisor, as Python's."""
    kind, suffix = TYPES[dtype], "f" if dtype == "float32" else ""
    return _inline(
        f"mod_{dtype}",
        kind,
        f"{kind} a, {kind} b",
        f"""    {kind} left = fmod{suffix}(a, b);
    if (left == 0) {{
        return copysign{suffix}(0, b);
    }}
    return ((left < 0) != (b < 0)) ? left + b : left;""",
        headers=("<math.h>",),
    )


def truncation(of: str, dtype: str) -> Function:
    """A float as an integer, cut towards zero. What does not fit gives what numpy gives on x86: never undefined."""
    kind, source = TYPES[dtype], TYPES[of]
    suffix = "f" if of == "float32" else ""
    called = f"{dtype}_of_{of}"
    if dtype == "uint64":
        body = f"""    if (x >= 9223372036854775808.0{suffix}) {{
        return x < 18446744073709551616.0{suffix} ? (uint64_t)x : 0u;
    }}
    return x > -9223372036854775808.0{suffix} ? (uint64_t)(int64_t)x : UINT64_C(9223372036854775808);"""
    elif dtype in ("int64", "uint32"):
        held = f"(x >= -9223372036854775808.0{suffix} && x < 9223372036854775808.0{suffix}) ? (int64_t)x : INT64_MIN"
        body = f"    return ({kind})({held});"
    else:
        held = f"(x >= -2147483648.0{suffix} && x < 2147483648.0{suffix}) ? (int32_t)x : INT32_MIN"
        body = f"    return ({kind})({held});"
    return _inline(called, kind, f"{source} x", body, headers=("<stdint.h>",))
