"""The window of a convolution or a pool over channels-last data, and how far its result may lie over its operand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from intarsia.backends.c.site import NoKernelError, Site
from intarsia.wording import counted

LITTLE_MEMORY = 1 << 20
"""No overlap asks for more bytes than that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Sizes of a walk over (batch, height, width, channels); what has no height has one row.

    Attributes:
        n: Batch.
        h: Rows of the operand.
        w: Columns of it.
        c: Channels of it.
        oh: Rows of the result.
        ow: Columns of it.
        o: Channels of it.
        kh: Rows of the window.
        kw: Columns of it.
        sh: Step down.
        sw: Step to the right.
        dh: From one row of the window to the next.
        dw: From one column of it to the next.
        ph: Rows of padding above.
        pw: Columns of padding before.
    """

    n: int
    h: int
    w: int
    c: int
    oh: int
    ow: int
    o: int
    kh: int
    kw: int
    sh: int
    sw: int
    dh: int
    dw: int
    ph: int
    pw: int

    @classmethod
    def of(cls, site: Site, kernel: Sequence[int]) -> Window:
        """Of an instruction with one or two dimensions between batch and channels.

        Raises:
            NoKernelError: It has more.
        """
        x, y, attrs = site.reads[0].shape, site.each.shape, site.attrs
        if len(x) not in (3, 4):
            raise NoKernelError(f"{site.each.name} over {counted(len(x) - 2, 'dimension')}")
        lone = len(x) == 3
        (h, w), (oh, ow), (kh, kw) = ((1, *pair) if lone else tuple(pair) for pair in (x[1:-1], y[1:-1], kernel))
        steps = [attrs[name] for name in ("strides", "dilations", "before")]
        (sh, sw), (dh, dw), (ph, pw) = (
            ((0 if name == "before" else 1), *each) if lone else tuple(each)
            for name, each in zip(("strides", "dilations", "before"), steps, strict=True)
        )
        return cls(n=x[0], h=h, w=w, c=x[-1], oh=oh, ow=ow, o=y[-1], kh=kh, kw=kw, sh=sh, sw=sw, dh=dh, dw=dw, ph=ph,
                   pw=pw)  # fmt: skip

    @property
    def taps(self) -> int:
        """Elements of the window."""
        return self.kh * self.kw

    @property
    def is_point(self) -> bool:
        """Whether each pixel of the result depends on the one pixel of the operand in its place alone."""
        return self.taps == 1 and (self.sh, self.sw, self.ph, self.pw) == (1, 1, 0, 0)

    @property
    def ahead(self) -> int:
        """Bytes that a result lies ahead of its operand at least, if both are int8 and it is filled row by row.

        A pixel of a 1 x 1 convolution is written behind the last look at the operand's; a row behind the last look at
        all rows above the window.
        """
        before, behind = self.h * self.w * self.c, self.oh * self.ow * self.o
        most = max(0, (self.n - 1) * (behind - before))
        if self.is_point:
            return max(0, self.n * (behind - before), most)
        rows = (
            (row + 1) * self.ow * self.o - max(0, row * self.sh - self.ph) * self.w * self.c for row in range(self.oh)
        )
        return most + max(0, *rows)

    def walked(self, pixel: Sequence[str], row: Sequence[str] = (), batch: str = "b") -> list[str]:
        """Statements for each pixel ``i``, ``j`` of the result ``y``, behind those for each ``row`` of it.

        ``x`` is the operand of this ``batch``.
        """
        return [
            f"for (int32_t {batch} = 0; {batch} < {self.n}; ++{batch}) {{",
            f"    for (int32_t i = 0; i < {self.oh}; ++i) {{",
            *(f"        {line}" for line in row),
            f"        for (int32_t j = 0; j < {self.ow}; ++j) {{",
            *(f"            {line}" for line in pixel),
            f"            y += {self.o};",
            "        }",
            "    }",
            f"    x += {self.h * self.w * self.c};",
            "}",
        ]

    @property
    def needs_padding(self) -> bool:
        """Whether a window reaches beyond the operand."""
        bottom = (self.oh - 1) * self.sh - self.ph + (self.kh - 1) * self.dh
        right = (self.ow - 1) * self.sw - self.pw + (self.kw - 1) * self.dw
        return self.ph > 0 or self.pw > 0 or bottom >= self.h or right >= self.w
