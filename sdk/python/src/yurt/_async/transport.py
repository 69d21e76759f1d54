"""Requests and responses, through httpcore, or through an httpx client if the caller passes one or a proxy needs it."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator
from urllib.request import getproxies

import httpcore
import httpx

# httpx's objects, redirects, cookies and hooks, which Yurt does not need, would take a third of a call's time.
_KEPT = httpx.Limits(max_connections=None, max_keepalive_connections=64)


class AsyncAnswer:
    """The response to a request. read and aclose close it."""

    def __init__(self, response: httpcore.Response | httpx.Response) -> None:
        self._response = response
        self.status = response.status if isinstance(response, httpcore.Response) else response.status_code
        self.content = b""

    def header(self, name: str) -> str:
        """Returns the header of that lower-case name, or an empty text."""
        headers = self._response.headers if isinstance(self._response, httpcore.Response) else self._response.headers.raw
        wanted = name.encode()
        return next((value.decode("latin-1") for key, value in headers if key.lower() == wanted), "")

    def chunks(self) -> AsyncIterator[bytes]:
        if isinstance(self._response, httpcore.Response):
            return self._response.aiter_stream()
        return self._response.aiter_bytes()

    async def read(self) -> bytes:
        try:
            self.content = b"".join([chunk async for chunk in self.chunks()])
        finally:
            await self.aclose()
        return self.content

    async def aclose(self) -> None:
        await self._response.aclose()


class AsyncTransport:
    """The connections to one server."""

    def __init__(self, url: str, loopback: bool, http: httpx.AsyncClient | None) -> None:
        self._url = url
        base = httpx.URL(url)
        self._place = (base.raw_scheme, base.raw_host, base.port)
        self._prefix = base.raw_path.rstrip(b"/")
        self._host = (b"host", base.netloc)
        self._http = http
        self._pool: httpcore.AsyncConnectionPool | None = None
        if http is None and (loopback or not getproxies()):
            secure = httpx.create_ssl_context() if base.scheme == "https" else None
            self._pool = httpcore.AsyncConnectionPool(ssl_context=secure, max_connections=None, max_keepalive_connections=64, keepalive_expiry=5.0)
        elif http is None:
            self._http = httpx.AsyncClient(limits=_KEPT)

    async def send(
        self, method: str, target: str, headers: dict[str, str], content: bytes | AsyncIterable[bytes] | None, timeout: dict[str, float | None],
    ) -> AsyncAnswer:
        """Sends a request and returns its response, whose body is not read yet."""
        if self._http:
            request = self._http.build_request(method, self._url + target, content=content, headers=headers, extensions={"timeout": timeout})
            return AsyncAnswer(await self._http.send(request, stream=True))
        assert self._pool, "a transport has a pool or an httpx client"
        sent = [self._host, *((name.encode(), value.encode()) for name, value in headers.items())]
        if isinstance(content, bytes):
            sent.append((b"content-length", b"%d" % len(content)))
        elif content is not None:
            sent.append((b"transfer-encoding", b"chunked"))
        elif method != "GET":
            sent.append((b"content-length", b"0"))
        scheme, host, port = self._place
        url = httpcore.URL(scheme=scheme, host=host, port=port, target=self._prefix + target.encode())
        return AsyncAnswer(await self._pool.handle_async_request(
            httpcore.Request(method, url, headers=sent, content=content, extensions={"timeout": timeout}),
        ))

    async def aclose(self) -> None:
        for part in (self._http, self._pool):
            if part:
                await part.aclose()
