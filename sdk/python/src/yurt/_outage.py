"""The time limit of a stream of numbered events without a connection."""

from __future__ import annotations

import time

_LIMIT = 60.0  # seconds
_LONGEST_PAUSE = 1.0  # seconds between two tries


class Outage:
    """Counts the seconds without a connection since the last event. Each second with one cancels a second without."""

    def __init__(self) -> None:
        self._without = 0.0
        self._turned = time.monotonic()
        self._pause = 0.0

    def _lap(self) -> float:
        turned, self._turned = self._turned, time.monotonic()
        return self._turned - turned

    def connected(self) -> None:
        self._without += self._lap()

    def broke(self) -> None:
        """Notes that the connection is lost. A new outage begins with a connection."""
        self._without = max(0.0, self._without - self._lap())

    @property
    def over(self) -> bool:
        """Whether the time without a connection has reached the limit."""
        return self._without + time.monotonic() - self._turned > _LIMIT

    def pause(self) -> float:
        """Returns the seconds until the next try."""
        pause, self._pause = self._pause, min(2 * self._pause + 0.05, _LONGEST_PAUSE)
        return pause
