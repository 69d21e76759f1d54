"""Streams of numbered events that go on after a connection breaks."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator

import msgspec

from .. import _aio as aio
from .._wire import BROKEN, EventReader
from ..errors import UnavailableError
from .client import AsyncYurt

_RECONNECT = 60.0  # seconds without a connection after which a stream gives up


class Numbered(msgspec.Struct):
    seq: int


async def follow(client: AsyncYurt, path: str, after: int) -> AsyncGenerator[bytes, None]:
    """Yields the data of each event after a number, until the server says that there is no further one."""
    end, pause = time.monotonic() + _RECONNECT, 0.0
    while True:
        headers = {"accept": "text/event-stream", "last-event-id": str(after)}
        try:
            answer = await client.send("GET", path, headers=headers, stream=True)
        except UnavailableError:
            if time.monotonic() > end:
                raise
        else:
            began = time.monotonic()
            reader = EventReader()
            try:
                if answer.status == 204:
                    return
                async for chunk in answer.chunks():
                    for data in reader.feed(chunk):
                        after, pause = msgspec.json.decode(data, type=Numbered).seq, 0.0
                        yield data
            except BROKEN:
                pass
            finally:
                await answer.aclose()
            end += time.monotonic() - began
        await aio.sleep(pause)
        pause = min(2 * pause + 0.05, 1.0)
