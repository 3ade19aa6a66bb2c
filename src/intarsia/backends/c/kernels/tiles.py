"""The inner kernel of products and convolutions: a tile of the result in registers, and how weights lie for it.

A tile has so many rows, each with its own pointers to what it reads (the indirection of Dukhan, "The Indirect
Convolution Algorithm", 2019), and so many columns, which lie side by side in packed weights. Padding is a row of
zeros that pointers point to, so the inner loop knows nothing of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from intarsia.backends.c.processor import Processor
from intarsia.backends.c.site import indented
from intarsia.codegen.emit import TYPES
from intarsia.codegen.module import BYTES, Function


@dataclass(frozen=True, slots=True, kw_only=True)
class Tile:
    """The size of a tile.

    Attributes:
        dtype: ``float32`` or ``float64``.
        rows: Of the result.
        lanes: Elements of a vector.
        vectors: Vectors of a row.
    """

    dtype: str
    rows: int
    lanes: int
    vectors: int

    @property
    def columns(self) -> int:
        """Elements of a row."""
        return self.lanes * self.vectors

    @classmethod
    def of(cls, dtype: str, rows: int, columns: int, processor: Processor) -> Tile:
        """The tile for a result of so many rows and columns: few empty rows, and all registers in use.

        On a processor with 32 vector registers 8 x 2 vectors are sums, on one with 16 they are 6 x 2; the others hold
        a row of weights and what it is multiplied with.
        """
        lanes = processor.lanes(BYTES[dtype])
        if lanes == 1:
            vectors, most = min(4, columns), 4
        else:
            vectors = 1 if columns <= lanes else 2
            most = 8 if processor.vector_registers >= 32 else 6
        best = min(range(1, most + 1), key=lambda count: (-(-rows // count) * (count + 1), -count))
        return cls(dtype=dtype, rows=best, lanes=lanes, vectors=vectors)

    def function(self) -> tuple[Function, ...]:
        """The kernel, and the type of its vectors."""
        kind = TYPES[self.dtype]
        name = f"tile_{self.dtype}_{self.rows}x{self.columns}" + ("" if self.lanes == 1 else "v")
        head = (
            f"static void {name}(size_t taps, size_t depth, size_t offset, const {kind} *const *from, "
            f"const {kind} *w, {kind} *y, size_t step, size_t rows, size_t columns)"
        )
        if self.lanes == 1:
            text = f"{head}\n{{\n{self._body(kind, kind, kind)}\n}}"
            return (Function(name=name, text=text, headers=("<stddef.h>",)),)
        vector = self._vector(kind)
        text = (
            f"{head}\n{{\n#if defined(__GNUC__)\n{self._body(kind, vector.name, f'{vector.name}_at')}\n#else\n"
            f"{self._plain(kind)}\n#endif\n}}"
        )
        return (Function(name=name, text=text, needs=(vector.name,), headers=("<stddef.h>",)), vector)

    def _vector(self, kind: str) -> Function:
        size, bytes_ = self.lanes * BYTES[self.dtype], BYTES[self.dtype]
        name = f"vector_{kind}_{self.lanes}"
        return Function(
            name=name,
            text=f"""#if defined(__GNUC__)
typedef {kind} {name} __attribute__((vector_size({size})));
typedef {kind} {name}_at __attribute__((vector_size({size}), aligned({bytes_}), may_alias));
#endif""",
        )

    def _body(self, kind: str, vector: str, at: str) -> str:
        """With vectors, or with single numbers where a vector is one."""
        rows, columns = range(self.rows), range(self.vectors)
        lines = [f"{vector} a0_{v} = *(const {at} *)(w + {v * self.lanes});" for v in columns]
        lines += [f"{vector} a{r}_{v} = a0_{v};" for r in rows[1:] for v in columns]
        lines += [
            f"w += {self.columns};",
            "for (; taps != 0; --taps) {",
            *(f"    const {kind} *const p{r} = from[{r}] + offset;" for r in rows),
            f"    from += {self.rows};",
            "    for (size_t k = 0; k < depth; ++k) {",
            *(f"        const {vector} b{v} = *(const {at} *)(w + {v * self.lanes});" for v in columns),
            *(f"        a{r}_{v} += p{r}[k] * b{v};" for r in rows for v in columns),
            f"        w += {self.columns};",
            "    }",
            "}",
            f"if (columns == {self.columns}u) {{",
        ]
        for r in rows:
            lines += [f"    if (rows == {r}u) {{", "        return;", "    }"] if r else []
            lines += [f"    *({at} *)(y + {v * self.lanes}) = a{r}_{v};" for v in columns]
            lines += ["    y += step;"] if r + 1 < self.rows else []
        lines += ["} else {", f"    {kind} held[{self.rows * self.columns}];"]
        lines += [
            f"    *({at} *)(held + {r * self.columns + v * self.lanes}) = a{r}_{v};" for r in rows for v in columns
        ]
        lines += [
            "    for (size_t r = 0; r < rows; ++r) {",
            "        for (size_t j = 0; j < columns; ++j) {",
            f"            y[r * step + j] = held[r * {self.columns} + j];",
            "        }",
            "    }",
            "}",
        ]
        if self.rows == 1:
            lines.append("(void)step;\n    (void)rows;")
        return indented(lines)

    def _plain(self, kind: str) -> str:
        """For a compiler without vectors as a type."""
        return f"""    for (size_t r = 0; r < rows; ++r) {{
        for (size_t j = 0; j < columns; ++j) {{
            {kind} sum = w[j];
            for (size_t t = 0; t < taps; ++t) {{
                for (size_t k = 0; k < depth; ++k) {{
                    sum += from[t * {self.rows} + r][offset + k] * w[(1 + t * depth + k) * {self.columns} + j];
                }}
            }}
            y[r * step + j] = sum;
        }}
    }}"""

    def packed(self, weights: np.ndarray, bias: np.ndarray | None) -> np.ndarray:
        """Weights as the kernel reads them: panels of columns, each with its bias before it.

        Args:
            weights: (groups, depth of all taps, columns).
            bias: (groups, columns), or zeros.

        Returns:
            (groups, panels, 1 + depth, columns of a tile), with zeros where there are no columns.
        """
        groups, depth, columns = weights.shape
        panels = -(-columns // self.columns)
        held = np.zeros((groups, 1 + depth, panels * self.columns), weights.dtype)
        held[:, 1:, :columns] = weights
        if bias is not None:
            held[:, 0, :columns] = bias
        return np.ascontiguousarray(held.reshape(groups, 1 + depth, panels, self.columns).transpose(0, 2, 1, 3))


def rounded_up(number: int, step: int) -> int:
    """The next multiple."""
    return -(-number // step) * step


def chunk_rows(tile: Tile, rows: int, row_bytes: Sequence[int], processor: Processor) -> int:
    """Rows that are computed before what stands behind them: so few that they stay in a near cache, whole tiles.

    Args:
        tile: Of the kernel.
        rows: Of the result.
        row_bytes: Bytes that one row takes here and there.
        processor: Without vectors memory is dear, and a chunk is one tile.
    """
    most = rounded_up(rows, tile.rows)
    if processor.vector_bytes == 4:
        return tile.rows
    fitting = _NEAR // max(1, sum(row_bytes))
    return max(tile.rows, min(most, rounded_up(max(1, min(fitting, 256)), tile.rows)))


_NEAR = 1 << 18
"""Bytes of the results and pointers of a chunk: a part of the second cache of all but the smallest processors."""
