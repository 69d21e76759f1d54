"""The errors that calls raise. Code that fails inside a sandbox raises no error here: see Result.error."""

from __future__ import annotations

import re
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

import msgspec

from .models import Problem

if TYPE_CHECKING:
    from .models import ExecutionError


class YurtError(Exception):
    """A call failed. `code` names the kind of failure and never changes between releases."""

    def __init__(
        self, message: str, *, code: str, field: str | None = None, request_id: str | None = None, retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.field = field
        """Dotted path of the wrong input."""
        self.request_id = request_id
        """The request's name in the server's log."""
        self.retry_after = retry_after
        """Seconds until the request may be sent again, since the server did not do the work; None if the server named no time."""
        self.removed = False
        """The object is gone, which an earlier request of the same call has probably removed: its answer was lost."""

    def __str__(self) -> str:
        place = f"{self.field}: " if self.field else ""
        request = f" (request {self.request_id})" if self.request_id else ""
        return f"{place}{self.message} [{self.code}]{request}"


class InvalidArgumentError(YurtError, ValueError):
    """An argument has an invalid value."""


class AccessError(YurtError, PermissionError):
    """The API key is missing, no longer valid, or lacks the scope of the call."""


class NotFoundError(YurtError, LookupError):
    """The sandbox, file, template or other object does not exist."""


class ConflictError(YurtError):
    """The object is in a state that does not allow the call, such as a sandbox that has ended."""


class PreconditionError(ConflictError):
    """The file or template is not the one that if_match or if_absent is for; read it again."""


class OverloadedError(YurtError):
    """The server is full or the tenant has reached a quota; try again after retry_after seconds."""


class UnavailableError(YurtError, ConnectionError):
    """No server answers, or a component that it needs is unavailable."""


class ServerError(YurtError):
    """The server failed, or does not support the call."""


class CodeFailedError(Exception):
    """The code in the sandbox failed. Only Result.raise_for_error raises it."""

    def __init__(self, error: ExecutionError | None, exit_code: int) -> None:
        self.type = error.type if error else "NonZeroExit"
        self.stacktrace = list(error.stacktrace or ()) if error else []
        self.exit_code = exit_code
        super().__init__(f"{self.type}: {error.message}" if error else f"it ended with exit code {exit_code}")


_BY_STATUS: dict[int, type[YurtError]] = {
    400: InvalidArgumentError, 401: AccessError, 403: AccessError, 404: NotFoundError, 409: ConflictError, 412: PreconditionError,
    413: InvalidArgumentError, 416: InvalidArgumentError, 422: InvalidArgumentError, 429: OverloadedError, 502: UnavailableError, 503: UnavailableError,
}


def wait_of(header: str) -> float | None:
    """Reads a Retry-After header: seconds, or a date. Returns None for other text and without the header."""
    if re.fullmatch("[0-9]{1,9}", header):
        return float(header)
    try:
        return max(0.0, (parsedate_to_datetime(header) - datetime.now(timezone.utc)).total_seconds())
    except (TypeError, ValueError):  # an HTTP date has a zone
        return None


def problem_error(body: bytes, status: int, retry_after: str = "") -> YurtError:
    """Returns the error of a response, which may have a Retry-After header."""
    kind = _BY_STATUS.get(status, ServerError)
    wait = wait_of(retry_after) if status in (429, 503) else None
    try:
        problem = msgspec.json.decode(body, type=Problem)
    except msgspec.MsgspecError:
        kind = UnavailableError if status == 504 else kind  # of a proxy that waits no longer for the server
        code = "unavailable" if kind is UnavailableError else "internal"
        return kind(f"the server answered {status}, which is not an answer of Yurt; check the address", code=code, retry_after=wait)
    return kind(problem.detail or problem.title, code=problem.code, field=problem.field, request_id=problem.request_id, retry_after=wait)
