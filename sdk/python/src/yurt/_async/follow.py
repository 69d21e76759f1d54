"""Streams of numbered events that continue after a connection breaks."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import msgspec

from .. import _aio as aio
from .._outage import Outage
from .._wire import BROKEN, EventReader
from ..errors import UnavailableError
from .client import AsyncYurt


class Numbered(msgspec.Struct):
    seq: int


async def follow(client: AsyncYurt, path: str, after: int) -> AsyncGenerator[bytes, None]:
    """Yields the data of each event after a number, until the server says that the stream has ended."""
    outage = Outage()
    while True:
        error: Exception | None = None
        try:
            answer = await client.send("GET", path, headers={"accept": "text/event-stream", "last-event-id": str(after)}, stream=True)
        except UnavailableError as unanswered:
            error = unanswered
        else:
            outage.connected()
            reader = EventReader()
            try:
                if answer.status == 204:
                    return
                async for chunk in answer.chunks():
                    for data in reader.feed(chunk):
                        after, outage = msgspec.json.decode(data, type=Numbered).seq, Outage()
                        yield data
            except BROKEN as broken:
                error = broken
            finally:
                await answer.aclose()
            outage.broke()
        if outage.over:
            raise UnavailableError("the stream broke off and could not be resumed; follow it again", code="unavailable") from error
        await aio.sleep(outage.pause())
