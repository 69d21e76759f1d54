"""The smaller parts of a sandbox and of a server."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from typing import Any, List

import msgspec

from .. import models
from .._wire import API, answer_of, encode, given, segment
from ..errors import UnavailableError, YurtError, problem_error
from .client import AsyncYurt

Progress = Callable[[str], object]


class AsyncContexts:
    """Interpreters whose variables, imports and working directory last from one execution to the next."""

    def __init__(self, client: AsyncYurt, session_path: str) -> None:
        self._client = client
        self._path = session_path + "/contexts"

    async def list(self, *, language: str | None = None) -> list[models.Context]:
        """Lists the contexts, or those of a language."""
        params = given(language=language)
        return [context async for page in self._client.pages(models.ContextList, self._path, params) for context in page.contexts or ()]

    async def restart(self, name: str = "default", *, language: str | None = None) -> None:
        """Gives a context a fresh interpreter."""
        await self._client.send("POST", f"{self._path}/{segment(name)}/restart", params=given(language=language))

    async def remove(self, name: str, *, language: str | None = None) -> None:
        await self._client.send("DELETE", f"{self._path}/{segment(name)}", params=given(language=language))

    async def complete(
        self, code: str, *, cursor: int | None = None, name: str = "default", language: str | None = None, timeout: float | str | None = None,
    ) -> models.Completion:
        """Says how the code may go on at the cursor. None of it is run. timeout bounds the wait for a context that is busy."""
        body = given(code=code, cursor=cursor, language=language, timeout=timeout)
        return await self._client.call(models.Completion, "POST", f"{self._path}/{segment(name)}/complete", body=body)

    async def inspect(
        self, code: str, *, cursor: int | None = None, detail: int | None = None, name: str = "default", language: str | None = None,
        timeout: float | str | None = None,
    ) -> models.Inspection:
        """Says what the name at the cursor stands for. None of the code is run. timeout bounds the wait for a context that is busy."""
        body = given(code=code, cursor=cursor, detail=detail, language=language, timeout=timeout)
        return await self._client.call(models.Inspection, "POST", f"{self._path}/{segment(name)}/inspect", body=body)


class AsyncProcesses:
    """What runs in a sandbox."""

    def __init__(self, client: AsyncYurt, session_path: str) -> None:
        self._client = client
        self._path = session_path + "/processes"

    async def list(self, *, execution_id: str | None = None) -> list[models.Process]:
        """Lists the processes, or those of an execution."""
        params = given(execution_id=execution_id)
        return [process async for page in self._client.pages(models.ProcessList, self._path, params) for process in page.processes or ()]

    async def signal(self, pid: int, signal: str | int) -> None:
        await self._client.send("POST", f"{self._path}/{segment(str(pid))}/signal", body={"signal": signal})

    async def kill(self, pid: int) -> None:
        await self._client.send("DELETE", f"{self._path}/{segment(str(pid))}")


class AsyncTemplates:
    """The templates of a server."""

    def __init__(self, client: AsyncYurt) -> None:
        self._client = client
        self._path = API + "/templates"

    async def list(self, *, name_prefix: str | None = None, runtime: str | None = None) -> list[models.Template]:
        """Lists the templates that match, by name."""
        pages = self._client.pages(models.TemplateList, self._path, given(name_prefix=name_prefix, runtime=runtime))
        return [template async for page in pages for template in page.templates or ()]

    async def get(self, name: str) -> models.Template:
        return await self._client.call(models.Template, "GET", f"{self._path}/{segment(name)}")

    async def create(self, source: str | Mapping[str, Any], on_progress: Progress | None = None) -> models.Template:
        """Makes a template from HCL text that holds one, or from the same as a dict. on_progress gets the output of package managers."""
        return await self._made("POST", self._path, source, on_progress)

    async def replace(self, name: str, source: str | Mapping[str, Any], on_progress: Progress | None = None) -> models.Template:
        """Gives a name another template, or makes it. Sandboxes that there are go on as they began."""
        return await self._made("PUT", f"{self._path}/{segment(name)}", source, on_progress)

    async def push(
        self, templates: Sequence[Mapping[str, Any]], *, extends: Mapping[str, str] | None = None, replace: bool = False,
        on_progress: Progress | None = None,
    ) -> None:
        """Makes all of the templates, or none of them. Those whose name is taken are replaced, or refused.

        extends has, by a template's name, that of the template which it was made from, and which stays as long as this one does.
        """
        text = encode(given(templates=templates, extends=extends, replace=replace))
        await self._followed("POST", self._path + "/batch", text, {"content-type": "application/json"}, on_progress)

    async def prepare(self, name: str, on_progress: Progress | None = None) -> List[str]:
        """Has each node that can run the template install its packages, and returns the names of these nodes."""
        last = await self._followed("POST", f"{self._path}/{segment(name)}/prepare", None, {}, on_progress)
        return last.nodes or []

    async def _made(self, method: str, path: str, source: str | Mapping[str, Any], on_progress: Progress | None) -> models.Template:
        kind, text = ("application/hcl", source.encode()) if isinstance(source, str) else ("application/json", encode(source))
        last = await self._followed(method, path, text, {"content-type": kind}, on_progress)
        if last.template is None:
            raise YurtError("the server did not tell the template", code="internal")
        return last.template

    async def _followed(
        self, method: str, path: str, content: bytes | None, headers: dict[str, str], on_progress: Progress | None,
    ) -> models.TemplateEvent:
        """Sends a request about templates, tells its progress, and returns its last event."""
        async with aclosing(self._client.events(path, method=method, content=content, headers=headers)) as events:
            async for data in events:
                event = msgspec.json.decode(data, type=models.TemplateEvent)
                if event.problem is not None:
                    raise problem_error(msgspec.json.encode(event.problem), event.problem.status)
                if event.type != "progress":
                    return event
                if on_progress is not None:
                    on_progress(event.data or "")
        raise UnavailableError("the connection broke before the server was done with the template; ask whether it is there", code="unavailable")

    async def delete(self, name: str) -> None:
        await self._client.send("DELETE", f"{self._path}/{segment(name)}")


class AsyncNodes:
    """The machines that sandboxes are on."""

    def __init__(self, client: AsyncYurt) -> None:
        self._client = client
        self._path = API + "/nodes"

    async def list(
        self, *, name_prefix: str | None = None, healthy: bool | None = None, draining: bool | None = None,
    ) -> list[models.NodeInfo]:
        """Lists the nodes that match by name, as they were last heard. A healthy one answers."""
        params = given(name_prefix=name_prefix, healthy=answer_of("healthy", healthy), draining=answer_of("draining", draining))
        return [node async for page in self._client.pages(models.NodeList, self._path, params) for node in page.nodes or ()]

    async def drain(self, name: str, *, grace: float | str | None = None) -> models.Drain:
        """Has a node take no new sandboxes, and ends those on it once the grace is over."""
        return await self._client.call(models.Drain, "POST", f"{self._path}/{segment(name)}/drain", body=given(grace=grace))

    async def undrain(self, name: str) -> models.Drain:
        """Has a node that drains take sandboxes again."""
        return await self._client.call(models.Drain, "DELETE", f"{self._path}/{segment(name)}/drain")


class AsyncPools:
    """The warm sandboxes that a server keeps ready."""

    def __init__(self, client: AsyncYurt) -> None:
        self._client = client
        self._path = API + "/pools"

    async def list(self, *, template_prefix: str | None = None) -> list[models.Pool]:
        """Lists the pools, or those of templates whose name begins so."""
        params = given(template_prefix=template_prefix)
        return [pool async for page in self._client.pages(models.PoolList, self._path, params) for pool in page.pools or ()]

    async def get(self, template: str) -> models.Pool:
        return await self._client.call(models.Pool, "GET", f"{self._path}/{segment(template)}")

    async def set(self, template: str, *, min: int | None = None, max: int | None = None) -> models.Pool:
        return await self._client.call(models.Pool, "PUT", f"{self._path}/{segment(template)}", body=given(min=min, max=max))

    async def unset(self, template: str) -> models.Pool:
        return await self._client.call(models.Pool, "DELETE", f"{self._path}/{segment(template)}")
