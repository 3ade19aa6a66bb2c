"""How long the planning of one model may take."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Deadline:
    """When the work has to come to an end."""

    seconds: float
    start: float = field(default_factory=time.monotonic)

    @property
    def spent(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.start

    @property
    def left(self) -> float:
        """Seconds to the end; negative behind it."""
        return self.seconds - self.spent

    def is_over(self, share: float = 1.0) -> bool:
        """Whether this share of the time is spent."""
        return self.spent >= self.seconds * share


NO_END = Deadline(math.inf)
