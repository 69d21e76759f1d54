"""The smaller parts of a sandbox and of a server."""

from __future__ import annotations

import json
from typing import Any

from .. import models
from .._wire import API, given, segment
from .client import AsyncYurt


class AsyncContexts:
    """Interpreters whose variables, imports and working directory last from one execution to the next."""

    def __init__(self, client: AsyncYurt, session_path: str) -> None:
        self._client = client
        self._path = session_path + "/contexts"

    async def list(self) -> list[models.Context]:
        return (await self._client.call(models.ContextList, "GET", self._path)).contexts or []

    async def restart(self, name: str = "default", *, language: str | None = None) -> None:
        """Gives a context a fresh interpreter."""
        await self._client.send("POST", f"{self._path}/{segment(name)}/restart", params=given(language=language))

    async def remove(self, name: str, *, language: str | None = None) -> None:
        await self._client.send("DELETE", f"{self._path}/{segment(name)}", params=given(language=language))

    async def complete(self, code: str, *, cursor: int | None = None, name: str = "default", language: str | None = None) -> models.Completion:
        """Says how the code may go on at the cursor. None of it is run."""
        body = given(code=code, cursor=cursor, language=language)
        return await self._client.call(models.Completion, "POST", f"{self._path}/{segment(name)}/complete", body=body)

    async def inspect(
        self, code: str, *, cursor: int | None = None, detail: int | None = None, name: str = "default", language: str | None = None,
    ) -> models.Inspection:
        """Says what the name at the cursor stands for. None of the code is run."""
        body = given(code=code, cursor=cursor, detail=detail, language=language)
        return await self._client.call(models.Inspection, "POST", f"{self._path}/{segment(name)}/inspect", body=body)


class AsyncProcesses:
    """What runs in a sandbox."""

    def __init__(self, client: AsyncYurt, session_path: str) -> None:
        self._client = client
        self._path = session_path + "/processes"

    async def list(self) -> list[models.Process]:
        return (await self._client.call(models.ProcessList, "GET", self._path)).processes or []

    async def signal(self, pid: int, signal: str | int) -> None:
        await self._client.send("POST", f"{self._path}/{pid}/signal", body={"signal": signal})

    async def kill(self, pid: int) -> None:
        await self._client.send("DELETE", f"{self._path}/{pid}")


class AsyncTemplates:
    """The templates of a server."""

    def __init__(self, client: AsyncYurt) -> None:
        self._client = client
        self._path = API + "/templates"

    async def list(self) -> list[models.Template]:
        return (await self._client.call(models.TemplateList, "GET", self._path)).templates or []

    async def get(self, name: str) -> models.Template:
        return await self._client.call(models.Template, "GET", f"{self._path}/{segment(name)}")

    async def create(self, source: str | dict[str, Any]) -> models.Template:
        """Makes a template from HCL text that holds one, or from the same as a dict."""
        kind, text = ("application/hcl", source) if isinstance(source, str) else ("application/json", json.dumps(source))
        return await self._client.call(models.Template, "POST", self._path, content=text.encode(), headers={"content-type": kind})

    async def delete(self, name: str) -> None:
        await self._client.send("DELETE", f"{self._path}/{segment(name)}")


class AsyncPools:
    """The warm sandboxes that a server keeps ready."""

    def __init__(self, client: AsyncYurt) -> None:
        self._client = client
        self._path = API + "/pools"

    async def list(self) -> list[models.Pool]:
        return (await self._client.call(models.PoolList, "GET", self._path)).pools or []

    async def get(self, template: str) -> models.Pool:
        return await self._client.call(models.Pool, "GET", f"{self._path}/{segment(template)}")

    async def set(self, template: str, *, min: int | None = None, max: int | None = None) -> models.Pool:
        return await self._client.call(models.Pool, "PUT", f"{self._path}/{segment(template)}", body=given(min=min, max=max))

    async def unset(self, template: str) -> models.Pool:
        return await self._client.call(models.Pool, "DELETE", f"{self._path}/{segment(template)}")
