"""The few operations that differ between the asynchronous and the synchronous SDK."""

from __future__ import annotations

import asyncio
from typing import Callable, TypeVar

T = TypeVar("T")


async def sleep(seconds: float) -> None:
    await asyncio.sleep(seconds)


async def in_thread(work: Callable[[], T]) -> T:
    """Runs blocking work in a thread."""
    return await asyncio.to_thread(work)
