"""The connection to one server."""

from __future__ import annotations

import os
import random
import time
import uuid
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Mapping
from typing import Any, Literal, TypeVar

import httpx
import msgspec

from .. import _aio as aio
from .. import models
from .._local import LocalServer
from .._wire import API, BROKEN, GONE, EventReader, Paged, address, authorization, encode, given, query, repeatable, segment, server_of, unanswered
from ..errors import OverloadedError, UnavailableError, YurtError, problem_error
from ..results import LogEntry, LogList, Logs
from .transport import AsyncAnswer, AsyncTransport

T = TypeVar("T")
P = TypeVar("P", bound=Paged)

_QUIET = 45.0  # seconds without a heartbeat, which comes every 15, after which a connection is dead
_CONNECT = 10.0
_WRITE = 60.0
_SLOWEST = 2.0  # seconds between two tries


class AsyncYurt:
    """A client of one server. Sandboxes make their own; give one to several of them to share its connections.

    url is the address of the server; by default it is YURT_SERVER of the environment, or http://127.0.0.1:8700. With local, a server is
    started on this machine in its place, and ends with the client. api_key is by default YURT_API_KEY. patience is for how many seconds a
    call is repeated, see send. http makes the connections in place of the client's own code, such as through a proxy, and is closed with the
    client. Calls may be made at the same time.
    """

    def __init__(self, url: str | None = None, *, local: bool = False, patience: float = 10.0, http: httpx.AsyncClient | None = None, api_key: str | None = None) -> None:
        self._local = LocalServer() if local else None
        self.url, host = address(self._local.url if self._local else url or server_of(os.environ))
        self.patience = patience
        """For how many seconds a call that may be repeated is sent again."""
        self.loopback = host in ("127.0.0.1", "localhost", "::1")
        self.authorization = authorization(api_key or os.environ.get("YURT_API_KEY"))
        self._transport = AsyncTransport(self.url, self.loopback, http)

    async def send(
        self, method: str, path: str, *, body: Mapping[str, Any] | None = None, content: bytes | AsyncIterable[bytes] | None = None,
        params: Mapping[str, Any] | None = None, headers: Mapping[str, str] | None = None, repeat: bool | None = None, once: bool = False, stream: bool = False,
    ) -> AsyncAnswer:
        """Sends a request and returns the response of a success.

        One that may be repeated is, until patience ends, and not before the time that the server names by Retry-After. A POST may be, since
        it has a key by which the server carries it out once; `repeat` is for one that changes nothing and needs no key. `once` says that
        the server must not see the request twice. A DELETE is repeated, too; see YurtError.removed.
        """
        sent = {**self.authorization, **(headers or {})}
        if body is not None:
            content = encode(body)
            sent["content-type"] = "application/json"
        whole = isinstance(content, (bytes, type(None)))  # and not a stream, which is read once
        if method == "POST" and whole and not repeat:
            sent["idempotency-key"], repeat = uuid.uuid4().hex, True
        timeout = {"connect": _CONNECT, "read": _QUIET if stream else None, "write": _WRITE}
        if repeat is None:
            repeat = method == "DELETE" and not once
        end, pause, lost = time.monotonic() + self.patience, 0.05, False
        while True:
            try:
                answer = await self._once(method, path + query(params), sent, content, timeout)
                if not stream:
                    await self._read(answer)
                return answer
            except (UnavailableError, OverloadedError) as error:
                wait = max(pause, error.retry_after or 0.0) * random.uniform(1.0, 1.2)  # lest all that were refused come back at once
                lost = lost or unanswered(error)
                again = whole and (repeat or repeatable(method, once, error))
                if not again or time.monotonic() + wait > end:
                    raise
            except YurtError as error:
                error.removed = lost and method == "DELETE" and error.code in GONE
                raise
            await aio.sleep(wait)
            pause = min(2 * pause, _SLOWEST)

    async def _once(
        self, method: str, target: str, headers: dict[str, str], content: bytes | AsyncIterable[bytes] | None, timeout: dict[str, float | None],
    ) -> AsyncAnswer:
        try:
            answer = await self._transport.send(method, target, headers, content, timeout)
        except BROKEN as error:
            raise self._unanswered(error) from error
        if 200 <= answer.status < 300:
            return answer
        await self._read(answer)
        raise problem_error(answer.content, answer.status, answer.header("retry-after"))

    async def _read(self, answer: AsyncAnswer) -> None:
        try:
            await answer.read()
        except BROKEN as error:
            raise self._unanswered(error) from error

    def _unanswered(self, error: Exception) -> UnavailableError:
        return UnavailableError(f'no answer from {self.url} ({error}); is "yurt dev" running there?', code="unavailable")

    async def call(self, kind: type[T], method: str, path: str, **how: Any) -> T:
        """Sends a request and returns its answer. A GET, a PUT or a DELETE may be repeated."""
        answer = await self.send(method, path, **{"repeat": method in ("GET", "PUT", "DELETE") and not how.get("once"), **how})
        try:
            return msgspec.json.decode(answer.content, type=kind)
        except msgspec.MsgspecError as error:
            raise YurtError(f"the answer of {self.url} is not one of Yurt: {error}", code="internal") from error

    async def remove(self, path: str, params: Mapping[str, Any] | None = None) -> None:
        """Removes an object. The object may be gone if the answer to an earlier request was lost."""
        try:
            await self.send("DELETE", path, params=params)
        except YurtError as error:
            if not error.removed:
                raise

    async def pages(self, kind: type[P], path: str, params: Mapping[str, Any] | None = None) -> AsyncIterator[P]:
        """Yields each page of a list."""
        asked = dict(params or {})
        while True:
            page = await self.call(kind, "GET", path, params=asked)
            yield page
            if not page.next_cursor:
                return
            asked["cursor"] = page.next_cursor

    async def version(self) -> models.VersionBody:
        """Returns the server's build."""
        return await self.call(models.VersionBody, "GET", "/version")

    async def health(self) -> models.StatusBody:
        """Checks that the server's process runs, though it may not be ready to serve. It does not retry."""
        return await self.call(models.StatusBody, "GET", "/health", repeat=False, once=True)

    async def ready(self) -> models.StatusBody:
        """Checks that the server is ready to serve, and else raises UnavailableError. It does not retry."""
        return await self.call(models.StatusBody, "GET", "/ready", repeat=False, once=True)

    async def runtimes(self, *, language: str | None = None) -> list[models.RuntimeInfo]:
        """Lists the installed language runtimes, or the one of a language."""
        params = given(language=language)
        return [runtime async for page in self.pages(models.RuntimeList, API + "/runtimes", params) for runtime in page.runtimes or ()]

    async def containers(
        self, *, state: Literal["ready", "paused", "dead"] | None = None, template: str | None = None, node: str | None = None,
        session_id: str | None = None,
    ) -> list[models.Sandbox]:
        """Lists the containers that match, with and without a session, oldest first: warm ones have no session yet."""
        params = given(state=state, template=template, node=node, session_id=session_id)
        return [container async for page in self.pages(models.ContainerList, API + "/containers", params) for container in page.containers or ()]

    async def container(self, id: str) -> models.Sandbox:
        """Returns a container by its own id, not by the id of its session."""
        return await self.call(models.Sandbox, "GET", f"{API}/containers/{segment(id)}")

    async def container_health(self, id: str) -> models.SandboxHealth:
        """Tells whether a sandbox works, and its use of its limits."""
        return await self.call(models.SandboxHealth, "GET", f"{API}/containers/{segment(id)}/health")

    async def container_logs(self, id: str, limit: int = 65536) -> Logs:
        """Returns the last limit bytes of the output of executions in a sandbox, the newest last."""
        return await self.log_of(f"{API}/containers/{segment(id)}", limit)

    def follow_container_logs(self, id: str, limit: int = 65536) -> AsyncGenerator[LogEntry, None]:
        """Yields the entries of container_logs and then new output of executions, until the sandbox has ended."""
        return self.follow_log_of(f"{API}/containers/{segment(id)}", limit)

    async def log_of(self, path: str, limit: int) -> Logs:
        """Returns the log below a path."""
        return Logs(await self.call(LogList, "GET", path + "/logs", params={"limit": limit}))

    async def follow_log_of(self, path: str, limit: int) -> AsyncGenerator[LogEntry, None]:
        """Follows the log below a path."""
        async for data in self.events(path + "/logs", {"limit": limit, "follow": "true"}):
            entry = msgspec.json.decode(data, type=LogEntry)
            if entry.type == "ended":
                return
            yield entry

    async def events(
        self, path: str, params: Mapping[str, Any] | None = None, *, method: str = "GET", content: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> AsyncGenerator[bytes, None]:
        """Yields the data of each event of a stream."""
        sent = {**(headers or {}), "accept": "text/event-stream"}
        answer = await self.send(method, path, content=content, params=params, headers=sent, repeat=method == "GET", stream=True)
        try:
            reader = EventReader()
            async for chunk in answer.chunks():
                for data in reader.feed(chunk):
                    yield data
        except BROKEN as error:
            raise UnavailableError(f"the stream from {self.url} broke off ({error}); follow it again", code="unavailable") from error
        finally:
            await answer.aclose()

    async def aclose(self) -> None:
        """Closes the connections and ends a server that this client started."""
        await self._transport.aclose()
        if self._local:
            await aio.in_thread(self._local.stop)

    async def __aenter__(self) -> AsyncYurt:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()
