"""The results and displays of executions."""

from __future__ import annotations

import base64
import json
from typing import Any, List

import msgspec

from . import models
from .errors import CodeFailedError, InvalidArgumentError

_TABLE = "application/vnd.dataresource+json"


class Display:
    """A value that code showed: `data` has its representations by MIME type."""

    def __init__(self, data: dict[str, Any], main: bool = False) -> None:
        self.data = data
        self.main = main
        """Whether it is the value of the last expression."""

    def _text_of(self, mime: str) -> str | None:
        value = self.data.get(mime)
        if value is None or isinstance(value, str):
            return value
        return json.dumps(value)

    def _bytes_of(self, mime: str) -> bytes | None:
        value = self.data.get(mime)
        return base64.b64decode(value) if isinstance(value, str) else None

    @property
    def text(self) -> str | None:
        return self._text_of("text/plain")

    @property
    def html(self) -> str | None:
        return self._text_of("text/html")

    @property
    def svg(self) -> str | None:
        return self._text_of("image/svg+xml")

    @property
    def png(self) -> bytes | None:
        return self._bytes_of("image/png")

    @property
    def jpeg(self) -> bytes | None:
        return self._bytes_of("image/jpeg")

    def dataframe(self) -> Any:
        """Returns a displayed table as a DataFrame. It needs pandas."""
        table = self.data.get(_TABLE)
        if not isinstance(table, dict):
            raise InvalidArgumentError("this is no table; let the last expression of the code be a DataFrame", code="not_a_table")
        import pandas  # type: ignore[import-untyped,import-not-found,unused-ignore]  # pyright: ignore[reportMissingImports]

        frame = pandas.DataFrame(table.get("data", []))
        schema = table.get("schema", {})
        for field in schema.get("fields", ()):  # JSON has no such types
            if field.get("type") == "datetime" and field.get("name") in frame:
                frame[field["name"]] = pandas.to_datetime(frame[field["name"]], format="ISO8601")
        keys = schema.get("primaryKey")
        return frame.set_index(keys) if keys else frame

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return self.data

    def __repr__(self) -> str:
        return self.text or f"Display({', '.join(self.data)})"


class CreatedKey(models.CreatedKey, kw_only=True):
    """A new API key or session token. A client sends `key`, which printing the object does not show."""

    def __repr__(self) -> str:
        return f"CreatedKey(id={self.id!r}, name={self.name!r}, scopes={self.scopes!r}, expires_at={self.expires_at!r})"


class Result(models.Result, kw_only=True):
    """The result of an execution. A notebook shows it as if the code had run there."""

    execution_id: str = ""

    @property
    def ok(self) -> bool:
        return self.error is None and self.exit_code == 0

    @property
    def value(self) -> Any:
        """The return value of the handler, or the value of the last expression if JSON can hold it exactly."""
        return self.result

    @property
    def displays(self) -> list[Display]:
        return [Display(data, i == self.main_result) for i, data in enumerate(self.results or ())]

    def _first(self, attribute: str) -> Any:
        """Returns the attribute of the main display, or else of the first display that has it."""
        for display in sorted(self.displays, key=lambda d: not d.main):
            found = getattr(display, attribute)
            if found is not None:
                return found
        return None

    @property
    def text(self) -> str | None:
        """The value of the last expression, as its language would show it."""
        return next((d.text for d in self.displays if d.main), None)

    @property
    def png(self) -> bytes | None:
        """The first picture."""
        found: bytes | None = self._first("png")
        return found

    @property
    def html(self) -> str | None:
        found: str | None = self._first("html")
        return found

    def dataframe(self) -> Any:
        """Returns the first displayed table as a DataFrame. It needs pandas."""
        shown = sorted(self.displays, key=lambda d: not d.main)
        return next((d for d in shown if _TABLE in d.data), Display({})).dataframe()

    def raise_for_error(self) -> Result:
        """Raises CodeFailedError if the code failed, and returns the result otherwise."""
        if not self.ok:
            raise CodeFailedError(self.error, self.exit_code)
        return self

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        for display in sorted(self.displays, key=lambda d: not d.main):
            return display.data
        failure = f"{self.error.type}: {self.error.message}" if self.error else ""
        return {"text/plain": "\n".join(part for part in (self.stdout, failure) if part)}


def _bytes(of: models.EventBody | models.LogBody) -> bytes:
    if of.data_base64 is not None:
        return base64.b64decode(of.data_base64)
    return (of.data or "").encode()


def _text(of: models.EventBody | models.LogBody) -> str:
    return _bytes(of).decode(errors="replace") if of.data is None else of.data


class LogEntry(models.LogBody, kw_only=True):
    """A piece of the output of executions."""

    @property
    def bytes(self) -> bytes:
        """The output as it was written."""
        return _bytes(self)

    @property
    def text(self) -> str:
        """The output as text; bytes that are no UTF-8 become U+FFFD."""
        return _text(self)


class LogList(msgspec.Struct):
    """The logs as the API has them."""

    logs: list[LogEntry] | None
    truncated: bool


class Logs(List[LogEntry]):
    """The last pieces of what executions wrote, the newest last."""

    def __init__(self, told: LogList) -> None:
        super().__init__(told.logs or ())
        self.truncated = told.truncated
        """There was more than the limit."""


class Event(models.EventBody, kw_only=True):
    """One step of an execution."""

    result: Result | None = None  # pyright: ignore[reportIncompatibleVariableOverride]

    @property
    def bytes(self) -> bytes:
        """The output as it was written."""
        return _bytes(self)

    @property
    def text(self) -> str:
        """The output as text; bytes that are no UTF-8 become U+FFFD."""
        return _text(self)
