"""The engine `c`: a program as C99 with kernels of our own, compiled by a C compiler or handed out as source."""

NATIVES = frozenset({"sigmoid", "softmax"})
"""Operations beyond the primitives that there are kernels for."""
ENTRY = "intarsia_run"
"""``void intarsia_run(inputs, outputs, workspace, constants)``, each but the workspace an array of addresses."""
