"""Terminals of a sandbox."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlencode

import websockets.asyncio.client
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus

from ..errors import UnavailableError, YurtError, problem_error
from .client import AsyncYurt


class AsyncTerminal:
    """A terminal. Read until None, which means that its program has ended: see exit_code. It has one reader at a time."""

    def __init__(self, connection: Any, execution_id: str, last: int) -> None:
        self._connection = connection
        self.execution_id = execution_id
        self.exit_code: int | None = None
        self.last = last
        """Number of the last event that was read, after which a terminal goes on whose connection broke."""

    @classmethod
    async def open(cls, client: AsyncYurt, path: str, params: dict[str, Any]) -> AsyncTerminal:
        url = "ws" + (client.url + path).removeprefix("http") + "?" + urlencode(params)
        try:
            connection = await websockets.asyncio.client.connect(
                url, max_size=1 << 20, proxy=None if client.loopback else True, additional_headers=client.authorization,
            )
            first = json.loads(await connection.recv())
        except InvalidStatus as error:
            answer = error.response
            raise problem_error(bytes(answer.body or b""), answer.status_code, answer.headers.get("retry-after", "")) from None
        except (OSError, InvalidHandshake, ConnectionClosed) as error:
            raise UnavailableError(f"no terminal could be opened at {client.url}: {error}", code="unavailable") from error
        return cls(connection, first.get("execution_id", ""), params.get("after") or 1)  # event 1 says that the execution has started

    async def read(self) -> bytes | None:
        """Returns the next output to show. Raises UnavailableError when the connection breaks; the program goes on then."""
        while True:
            try:
                message = await self._connection.recv()
            except ConnectionClosed as error:
                if self.exit_code is not None:
                    return None
                raise UnavailableError(f"the terminal broke off; execution {self.execution_id} goes on", code="unavailable") from error
            if isinstance(message, bytes):  # there is one for each event
                self.last += 1
                return message
            told = json.loads(message)
            if told.get("type") == "gap":
                self.last = told["gap"]["to"]
            if told.get("type") == "exited":
                self.exit_code = told.get("exit_code", 0)
                return None
            if told.get("type") == "failed":
                raise YurtError(told["error"]["message"], code=told["error"]["type"])

    async def write(self, data: str | bytes) -> None:
        """Types."""
        await self._connection.send(data.encode() if isinstance(data, str) else data)

    async def resize(self, rows: int, cols: int) -> None:
        """Gives the terminal another size, in characters."""
        await self._connection.send(json.dumps({"type": "resize", "rows": rows, "cols": cols}))

    async def aclose(self) -> None:
        """Hangs up, which its programs notice."""
        await self._connection.close()

    async def __aenter__(self) -> AsyncTerminal:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()
