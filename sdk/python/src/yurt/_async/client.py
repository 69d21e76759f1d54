"""The connection to one server."""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterable, AsyncIterator, Mapping
from typing import Any, TypeVar
from urllib.parse import urlsplit
from urllib.request import getproxies

import httpx
import msgspec

from .. import _aio as aio
from .._local import LocalServer
from .._wire import EventReader, encode
from ..errors import InvalidArgumentError, OverloadedError, UnavailableError, YurtError, error_of

T = TypeVar("T")

_QUIET = 45.0  # seconds without a heartbeat, which comes every 15, after which a connection is dead
_SLOWEST = 2.0  # seconds between two tries


class AsyncYurt:
    """A client of one server. Sandboxes make their own; give one to several of them to share its connections."""

    def __init__(self, url: str | None = None, *, local: bool = False, patience: float = 10.0, http: httpx.AsyncClient | None = None, api_key: str | None = None) -> None:
        self._local = LocalServer() if local else None
        self.url = (self._local.url if self._local else url or os.environ.get("YURT_URL") or "http://127.0.0.1:8700").rstrip("/")
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InvalidArgumentError(f"{self.url!r} is no address of a server; give one such as http://127.0.0.1:8700", code="invalid_argument", field="url")
        self.patience = patience
        """How many seconds a call that may be repeated tries to reach the server."""
        self.loopback = parts.hostname in ("127.0.0.1", "localhost", "::1")
        key = api_key or os.environ.get("YURT_API_KEY")
        self.authorization = {"authorization": f"Bearer {key}"} if key else {}
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=64)
        self._http: httpx.AsyncClient | None = http
        self._direct: httpx.AsyncHTTPTransport | None = None
        if http is None and (self.loopback or not getproxies()):
            # A client's redirects, cookies and hooks, of which Yurt has none, cost a third of a call.
            self._direct = httpx.AsyncHTTPTransport(verify=parts.scheme == "https", limits=limits)
        elif http is None:
            self._http = httpx.AsyncClient(limits=limits)

    async def send(
        self, method: str, path: str, *, body: Mapping[str, Any] | None = None, content: bytes | AsyncIterable[bytes] | None = None,
        params: Mapping[str, Any] | None = None, headers: Mapping[str, str] | None = None, repeat: bool = False, stream: bool = False,
    ) -> httpx.Response:
        """Sends a request and returns the response of a success. One that may be repeated is, until patience ends."""
        sent = {**self.authorization, **(headers or {})}
        if body is not None:
            content = encode(body)
            sent["content-type"] = "application/json"
        timeout = httpx.Timeout(_QUIET if stream else None, connect=10.0, write=60.0).as_dict()
        build = self._http.build_request if self._http else httpx.Request
        request = build(method, self.url + path, params=params, content=content, headers=sent, extensions={"timeout": timeout})
        end, pause = time.monotonic() + self.patience, 0.05
        while True:
            try:
                return await self._once(request, stream)
            except (UnavailableError, OverloadedError) as error:
                never_sent = isinstance(error.__cause__, httpx.ConnectError) and not isinstance(content, AsyncIterable)
                if not (repeat or never_sent) or time.monotonic() + pause > end:
                    raise
            await aio.sleep(pause)
            pause = min(2 * pause, _SLOWEST)

    async def _once(self, request: httpx.Request, stream: bool) -> httpx.Response:
        try:
            response = await self._answer(request, stream)
            if response.is_success:
                return response
            await response.aread()
        except httpx.TransportError as error:
            raise UnavailableError(f'no answer from {self.url} ({error}); is "yurt dev" running there?', code="unavailable") from error
        await response.aclose()
        raise error_of(response)

    async def _answer(self, request: httpx.Request, stream: bool) -> httpx.Response:
        if self._http:
            return await self._http.send(request, stream=stream)
        assert self._direct, "a client has a transport or an httpx client"
        response = await self._direct.handle_async_request(request)
        response.request = request
        if not stream:
            await response.aread()
        return response

    async def call(self, kind: type[T], method: str, path: str, **how: Any) -> T:
        """Sends a request and returns its answer. A GET may be repeated."""
        response = await self.send(method, path, **{"repeat": method == "GET", **how})
        try:
            return msgspec.json.decode(response.content, type=kind)
        except msgspec.MsgspecError as error:
            raise YurtError(f"the answer of {self.url} is not one of Yurt: {error}", code="internal") from error

    async def events(self, path: str, params: Mapping[str, Any] | None = None) -> AsyncIterator[bytes]:
        """Yields the data of each event of a stream."""
        response = await self.send("GET", path, params=params, headers={"accept": "text/event-stream"}, repeat=True, stream=True)
        try:
            reader = EventReader()
            async for chunk in response.aiter_bytes():
                for data in reader.feed(chunk):
                    yield data
        except httpx.TransportError as error:
            raise UnavailableError(f"the stream from {self.url} broke off ({error}); follow it again", code="unavailable") from error
        finally:
            await response.aclose()

    async def aclose(self) -> None:
        """Closes the connections, and ends a server that it started."""
        for part in (self._http, self._direct):
            if part:
                await part.aclose()
        if self._local:
            await aio.in_thread(self._local.stop)

    async def __aenter__(self) -> AsyncYurt:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()
