"""The synchronous counterpart of _aio."""

from __future__ import annotations

import time
from typing import Callable, TypeVar

T = TypeVar("T")


def sleep(seconds: float) -> None:
    time.sleep(seconds)


def in_thread(work: Callable[[], T]) -> T:
    return work()
