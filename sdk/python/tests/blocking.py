"""Calls the asynchronous classes of the SDK from outside the event loop, so that they run the scenarios of the synchronous ones."""

from __future__ import annotations

import asyncio
import inspect
import threading
from typing import Any

import yurt

_loop = asyncio.new_event_loop()
threading.Thread(target=_loop.run_forever, daemon=True).start()


def run(awaitable: Any) -> Any:
    """Waits for an awaitable. An interrupt cancels its task and waits for the task's end, as asyncio.run does."""
    ended = threading.Event()

    async def task() -> Any:
        try:
            return await awaitable
        finally:
            ended.set()

    future = asyncio.run_coroutine_threadsafe(task(), _loop)
    try:
        return future.result()
    except KeyboardInterrupt:
        future.cancel()
        ended.wait(60)
        raise


class Blocking:
    """Wraps an asynchronous object or class."""

    def __init__(self, of: Any) -> None:
        self._of = of

    def __call__(self, *args: Any, **named: Any) -> Any:
        bare = {name: unwrapped(value) for name, value in named.items()}
        return wrapped(self._of(*map(unwrapped, args), **bare))

    def __getattr__(self, name: str) -> Any:
        return wrapped(getattr(self._of, "aclose" if name == "close" else name))

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> Any:
        try:
            return wrapped(run(anext(self._of)))
        except StopAsyncIteration:
            raise StopIteration from None

    def __enter__(self) -> Any:
        return wrapped(run(self._of.__aenter__()))

    def __exit__(self, *why: Any) -> None:
        run(self._of.__aexit__(*why))


def wrapped(value: Any) -> Any:
    if inspect.isawaitable(value):
        return wrapped(run(value))
    ours = type(value).__module__.startswith("yurt._async")
    return Blocking(value) if ours or inspect.ismethod(value) or inspect.isasyncgen(value) else value


def unwrapped(value: Any) -> Any:
    return value._of if isinstance(value, Blocking) else value


for _name in ("AuditLog", "Keys", "Nodes", "Pools", "Sandbox", "Templates", "Tenants", "Yurt"):
    globals()[_name] = Blocking(getattr(yurt, "Async" + _name))
