"""Encoding of requests and decoding of streams."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Mapping
from datetime import datetime, timezone
from typing import Any, Protocol, Union
from urllib.parse import quote, urlencode, urlsplit

import httpcore
import httpx

from .errors import InvalidArgumentError, UnavailableError, YurtError

API = "/api/v1"
BROKEN = (
    httpx.TransportError, httpx.StreamError,
    httpcore.NetworkError, httpcore.ProtocolError, httpcore.TimeoutException, httpcore.ProxyError, httpcore.UnsupportedProtocol,
)
"""The errors of a connection that breaks or cannot be made."""
NEVER_SENT = (httpx.ConnectError, httpcore.ConnectError)
_IDEMPOTENT = ("GET", "PUT", "DELETE")
GONE = ("not_found", "file_not_found", "template_not_found", "context_not_found", "session_ended", "execution_ended")
"""The codes of a removal that finds no object."""
Bytes = Union[bytes, bytearray, memoryview]
BYTES = (bytes, bytearray, memoryview)
MAX_EVENT = 256 << 20  # bytes; the last event of a stream carries the whole result


def address(url: object) -> tuple[str, str]:
    """Returns the address of a server without a trailing slash, and its host name."""
    plain = url.rstrip("/") if isinstance(url, str) else ""
    try:
        parts = urlsplit(plain)
        scheme, host, _ = parts.scheme, parts.hostname, parts.port  # an invalid port raises an error
    except ValueError:
        scheme, host = "", None
    if not host or scheme not in ("http", "https") or re.search(r"\s", plain):
        raise InvalidArgumentError(f"{url!r} is no address of a server; give one such as http://127.0.0.1:8700", code="invalid_argument", field="url")
    return plain, host


def server_of(environment: Mapping[str, str]) -> str:
    """Returns the address that the environment has for programs that name no server. YURT_URL is the older name of YURT_SERVER."""
    return environment.get("YURT_SERVER") or environment.get("YURT_URL") or "http://127.0.0.1:8700"


def segment(name: object) -> str:
    """Escapes the name or id of an object, as one segment of a path."""
    if not isinstance(name, str) or name in ("", ".", ".."):
        raise InvalidArgumentError(f"{name!r} is no name; give that of an object, as a string", code="invalid_argument", field="id")
    return _escape(name)


def _escape(text: object) -> str:
    """Escapes one segment of a path, also one of only dots, which a proxy could take for a step up."""
    if not isinstance(text, str):
        raise InvalidArgumentError(f"it is {text!r}, of type {type(text).__name__}; give a string", code="invalid_argument", field="path")
    if re.search("[\ud800-\udfff]", text):
        raise InvalidArgumentError(f"{text!r} holds a lone surrogate, which is no character; give text", code="invalid_path", field="path")
    return re.sub(r"^\.{1,2}$", lambda dots: dots[0].replace(".", "%2E"), quote(text, safe=""))


def path_of(path: object) -> str:
    """Escapes a path segment by segment."""
    if not isinstance(path, str):
        return _escape(path)
    return "/".join(map(_escape, path.split("/")))


def authorization(key: str | None) -> dict[str, str]:
    """Returns the header with an API key, or no header without one. The error does not contain the key."""
    if key and not (isinstance(key, str) and re.fullmatch("[!-~]+", key)):
        raise InvalidArgumentError("it has a blank, a line break or another character that no key has; give it as it was shown", code="invalid_argument", field="api_key")
    return {"authorization": f"Bearer {key}"} if key else {}


def repeatable(method: str, once: bool, error: YurtError) -> bool:
    """Whether a request can be sent again: the server cannot have got it, or has refused it and can get it twice."""
    return isinstance(error.__cause__, NEVER_SENT) or (error.retry_after is not None and method in _IDEMPOTENT and not once)


def unanswered(error: YurtError) -> bool:
    """Whether the server may have carried out a request whose answer is lost."""
    return isinstance(error, UnavailableError) and not isinstance(error.__cause__, NEVER_SENT) and error.retry_after is None


def query(params: Mapping[str, Any] | None) -> str:
    """Writes a query, with its question mark."""
    return "?" + urlencode(params) if params else ""


def encode(body: Mapping[str, Any]) -> bytes:
    """Writes a request as JSON. The error for a value without JSON names the member."""
    try:
        return json.dumps(body, allow_nan=False, ensure_ascii=False).encode()
    except (TypeError, ValueError):
        for name, value in body.items():
            try:
                json.dumps(value, allow_nan=False, ensure_ascii=False).encode()
            except (TypeError, ValueError) as error:
                raise InvalidArgumentError(f"JSON cannot say it: {error}; give text, finite numbers, lists and dicts", code="invalid_argument", field=name) from None
        raise


def given(**members: Any) -> dict[str, Any]:
    """Returns the members that are not None."""
    return {name: value for name, value in members.items() if value is not None}


def files_of(files: Mapping[str, str | Bytes] | None) -> dict[str, Any] | None:
    """Writes text unchanged and bytes in base64."""
    if files is None:
        return None
    if not isinstance(files, Mapping):
        raise InvalidArgumentError(f"it is of type {type(files).__name__}; give a dict of paths and contents", code="invalid_argument", field="files")
    return {path: {"base64": base64.b64encode(data).decode()} if isinstance(data, BYTES) else data for path, data in files.items()}


def bytes_of(data: str | Bytes, field: str) -> bytes:
    """Returns text in UTF-8, and bytes unchanged."""
    if isinstance(data, str):
        try:
            return data.encode()
        except UnicodeEncodeError as error:
            raise InvalidArgumentError(f"character {error.start} is a lone surrogate, which is no character; give text or bytes", code="invalid_argument", field=field) from None
    if not isinstance(data, BYTES):
        raise InvalidArgumentError(f"it is of type {type(data).__name__}; give str or bytes", code="invalid_argument", field=field)
    return bytes(data)


def instant(name: str, at: datetime | None) -> str | None:
    """Writes a time. Without a zone, it is in this machine's zone."""
    if at is None:
        return None
    if not isinstance(at, datetime):
        raise InvalidArgumentError(f"it is {at!r}, of type {type(at).__name__}; give a datetime", code="invalid_argument", field=name)
    return at.astimezone(timezone.utc).isoformat().replace("+00:00", "Z")


def answer_of(name: str, wanted: bool | None) -> str | None:
    """Writes the value of a yes-or-no filter."""
    if wanted is not None and not isinstance(wanted, bool):
        raise InvalidArgumentError(f"it is {wanted!r}; give True or False", code="invalid_argument", field=name)
    return None if wanted is None else str(wanted).lower()


def range_of(offset: int, length: int | None) -> dict[str, str]:
    """Returns the header that requests a part of a file, or no header for the whole file."""
    for name, number in (("offset", offset), ("length", length)):
        if number is not None and (not isinstance(number, int) or number < (name == "length")):
            raise InvalidArgumentError(f"it is {number!r}; give a whole number from {int(name == 'length')} on", code="invalid_argument", field=name)
    if not offset and length is None:
        return {}
    return {"range": f"bytes={offset}-{'' if length is None else offset + length - 1}"}


def mode_of(mode: str | int | None) -> str | None:
    """Writes permission bits in octal."""
    return f"{mode:o}" if isinstance(mode, int) else mode


class Paged(Protocol):
    """A page of a list."""

    @property
    def next_cursor(self) -> str: ...


class EventReader:
    """Finds the data of server-sent events in the chunks of a stream."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._searched = 0

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        self._buffer += chunk
        while (end := self._buffer.find(b"\n\n", self._searched)) >= 0:
            block = bytes(self._buffer[:end])
            del self._buffer[: end + 2]
            self._searched = 0
            data = b"".join(line[5:].removeprefix(b" ") for line in block.split(b"\n") if line.startswith(b"data:"))
            if data:  # a heartbeat has no data
                yield data
        self._searched = max(0, len(self._buffer) - 1)
        if len(self._buffer) > MAX_EVENT:
            raise UnavailableError(f"the server sent an event of more than {MAX_EVENT >> 20} MiB", code="unavailable")


def condition(if_match: str | None, if_absent: bool) -> dict[str, str]:
    """Returns the headers of a request that replaces only what the caller has read, or what is not there."""
    return {**({"if-match": if_match} if if_match else {}), **({"if-none-match": "*"} if if_absent else {})}
