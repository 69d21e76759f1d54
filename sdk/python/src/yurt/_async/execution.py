"""An execution and the stream of its events."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import msgspec

from .. import _aio as aio
from .. import models
from .._outage import Outage
from .._wire import BROKEN, Bytes, EventReader, bytes_of, given, segment
from ..errors import ConflictError, UnavailableError, YurtError
from ..results import Display, Event, Result
from .client import AsyncYurt
from .transport import AsyncAnswer


class AsyncExecution:
    """A running execution. Iterate over it for its events. If the connection breaks, a new one continues after the last event.

    It has one reader at a time; the methods that control it may be called meanwhile. Leaving it as a context manager cancels the execution if it has not ended.
    """

    def __init__(self, client: AsyncYurt, path: str, answer: AsyncAnswer | None = None) -> None:
        self._client = client
        self._path = path
        self.id = path.rsplit("/", 1)[1]
        self.last = 0
        """Number of the last event."""
        self._ended: Result | None = None
        self._answer = answer
        self._chunks: AsyncIterator[bytes] | None = answer.chunks() if answer else None
        self._reader = EventReader()
        self._ready: Iterator[bytes] = iter(())

    def __aiter__(self) -> AsyncIterator[Event]:
        return self

    async def __anext__(self) -> Event:
        if self._ended is not None:
            raise StopAsyncIteration
        outage = Outage()
        while True:
            try:
                event = await self._next(outage)
            except (*BROKEN, UnavailableError):
                event = None
            if event is not None and event.seq > self.last:
                return await self._take(event)
            if event is None:
                if self._chunks is not None:
                    outage.broke()
                await self.aclose()
                if outage.over:
                    raise UnavailableError(f"the stream of execution {self.id} broke off and could not be resumed; the execution goes on", code="unavailable")
                await aio.sleep(outage.pause())

    async def _next(self, outage: Outage) -> Event | None:
        """Returns the next event of the connection, or None at its end. Connects first if necessary."""
        if self._chunks is None:
            self._answer = await self._client.send(
                "GET", self._path + "/events", headers={"accept": "text/event-stream", "last-event-id": str(self.last)}, stream=True,
            )
            self._chunks = self._answer.chunks()
            outage.connected()
        while (data := next(self._ready, None)) is None:
            try:
                chunk = await self._chunks.__anext__()
            except StopAsyncIteration:
                return None
            self._ready = self._reader.feed(chunk)
        return msgspec.json.decode(data, type=Event)

    async def _take(self, event: Event) -> Event:
        self.last = event.seq
        if event.type == "ended":
            if event.result is None:
                raise YurtError("the last event has no result", code="internal")
            event.result.execution_id = self.id
            self._ended = event.result
            await self._drain()
        return event

    async def _drain(self) -> None:
        """Reads the end of the stream, so that its connection can be used again."""
        try:
            if self._chunks is not None:
                await self._chunks.__anext__()
        except (StopAsyncIteration, *BROKEN):
            pass
        await self.aclose()

    async def result(
        self, *, on_progress: Callable[[str], object] | None = None,
        on_stdout: Callable[[str], object] | None = None, on_stderr: Callable[[str], object] | None = None,
        on_result: Callable[[Display], object] | None = None, on_event: Callable[[Event], object] | None = None,
    ) -> Result:
        """Waits for the end and returns the result. If the wait is interrupted, the execution is cancelled.

        on_progress gets the output of the package manager, and the reasons for which the execution waits.
        """
        try:
            async for event in self:
                if on_event:
                    on_event(event)
                if event.type == "progress" and on_progress:
                    on_progress(event.text)
                elif event.type == "stdout" and on_stdout:
                    on_stdout(event.text)
                elif event.type == "stderr" and on_stderr:
                    on_stderr(event.text)
                elif event.display is not None and on_result:
                    on_result(Display(event.display.data, bool(event.display.main)))
        except UnavailableError:
            raise
        except BaseException:
            await self._abandon()
            raise
        if self._ended is None:
            raise YurtError("the stream ended without a result", code="internal")
        return self._ended

    async def _abandon(self) -> None:
        try:
            await self._client.send("DELETE", self._path)
        except YurtError:
            pass  # it has ended, or the server has gone: the reason for leaving matters more
        await self.aclose()

    async def cancel(self) -> None:
        """Interrupts the execution, kills it after five seconds if it still runs, and waits for its end."""
        try:
            await self._client.send("DELETE", self._path)
        except ConflictError as error:
            if error.code != "execution_ended":
                raise

    async def write_stdin(self, data: str | Bytes = b"", *, eof: bool = False) -> None:
        """Gives an execution that was started with stdin_open data to read, and with eof the end of its input. Text is sent in UTF-8."""
        raw = bytes_of(data, "data")
        body: dict[str, Any] = given(data_base64=base64.b64encode(raw).decode() if raw else None, eof=eof or None)
        await self._client.send("POST", self._path + "/stdin", body=body)

    async def signal(self, signal: str | int) -> None:
        """Sends a signal, such as "INT" or 2, to the first process of the execution and its group. KILL ends all of its processes."""
        await self._client.send("POST", self._path + "/signal", body={"signal": signal})

    async def resize(self, rows: int, cols: int) -> None:
        """Gives the terminal of the execution another size, in characters."""
        await self._client.send("POST", self._path + "/resize", body={"rows": rows, "cols": cols})

    async def record(self) -> models.ExecutionBody:
        """Returns its state, and its result if it has ended."""
        return await self._client.call(models.ExecutionBody, "GET", self._path)

    async def aclose(self) -> None:
        """Closes the stream; the execution continues."""
        answer, self._answer, self._chunks = self._answer, None, None
        self._reader, self._ready = EventReader(), iter(())
        if answer is not None:
            await answer.aclose()

    async def __aenter__(self) -> AsyncExecution:
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._ended is None:
            await self._abandon()
        await self.aclose()


def execution_path(session_path: str, execution_id: str) -> str:
    return f"{session_path}/executions/{segment(execution_id)}"
