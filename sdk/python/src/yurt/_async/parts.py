"""The smaller parts of a sandbox and of a server."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from typing import Any, List, Tuple

import msgspec

from .. import models
from .._wire import API, answer_of, condition, encode, given, segment
from ..errors import UnavailableError, YurtError, problem_error
from .client import AsyncYurt

Progress = Callable[[str], object]


class AsyncContexts:
    """Interpreters that keep variables, imports and the working directory from one execution to the next."""

    def __init__(self, client: AsyncYurt, session_path: str) -> None:
        self._client = client
        self._path = session_path + "/contexts"

    async def list(self, *, language: str | None = None) -> list[models.Context]:
        """Lists the contexts, or those of a language."""
        params = given(language=language)
        return [context async for page in self._client.pages(models.ContextList, self._path, params) for context in page.contexts or ()]

    async def restart(self, name: str = "default", *, language: str | None = None) -> None:
        """Replaces the interpreter of a context by a fresh one."""
        await self._client.send("POST", f"{self._path}/{segment(name)}/restart", params=given(language=language))

    async def remove(self, name: str, *, language: str | None = None) -> None:
        """Removes a context, of each language or of one. Executions that run or wait in it end."""
        await self._client.remove(f"{self._path}/{segment(name)}", given(language=language))

    async def complete(
        self, code: str, *, cursor: int | None = None, name: str = "default", language: str | None = None, timeout: float | str | None = None,
    ) -> models.Completion:
        """Returns the completions of code at the cursor without running it. timeout bounds the wait for a busy context."""
        body = given(code=code, cursor=cursor, language=language, timeout=timeout)
        return await self._client.call(models.Completion, "POST", f"{self._path}/{segment(name)}/complete", body=body, repeat=True)

    async def inspect(
        self, code: str, *, cursor: int | None = None, detail: int | None = None, name: str = "default", language: str | None = None,
        timeout: float | str | None = None,
    ) -> models.Inspection:
        """Describes the name at the cursor without running the code. timeout bounds the wait for a busy context."""
        body = given(code=code, cursor=cursor, detail=detail, language=language, timeout=timeout)
        return await self._client.call(models.Inspection, "POST", f"{self._path}/{segment(name)}/inspect", body=body, repeat=True)


class AsyncProcesses:
    """The processes in a sandbox."""

    def __init__(self, client: AsyncYurt, session_path: str) -> None:
        self._client = client
        self._path = session_path + "/processes"

    async def list(self, *, execution_id: str | None = None) -> list[models.Process]:
        """Lists the processes, or those of an execution."""
        params = given(execution_id=execution_id)
        return [process async for page in self._client.pages(models.ProcessList, self._path, params) for process in page.processes or ()]

    async def signal(self, pid: int, signal: str | int) -> None:
        """Sends a signal, such as "INT" or 2, to a process, by its number in the sandbox."""
        await self._client.send("POST", f"{self._path}/{segment(str(pid))}/signal", body={"signal": signal})

    async def kill(self, pid: int) -> None:
        """Kills a process, by its number in the sandbox."""
        await self._client.send("DELETE", f"{self._path}/{segment(str(pid))}", repeat=False)  # a later process may have the number


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
        """Returns the template of that name."""
        return await self._client.call(models.Template, "GET", f"{self._path}/{segment(name)}")

    async def create(self, source: str | Mapping[str, Any], on_progress: Progress | None = None) -> models.Template:
        """Creates a template from HCL text, or from the same as a dict. on_progress gets the output of package managers."""
        return await self._made("POST", self._path, source, on_progress)

    async def tagged(self, name: str) -> Tuple[models.Template, str]:
        """Returns one template with its etag."""
        answer = await self._client.send("GET", f"{self._path}/{segment(name)}", repeat=True)
        return msgspec.json.decode(answer.content, type=models.Template), answer.header("etag") or ""

    async def replace(
        self, name: str, source: str | Mapping[str, Any], on_progress: Progress | None = None, *, if_match: str | None = None, if_absent: bool = False,
    ) -> models.Template:
        """Replaces the template of that name, or creates it. Existing sandboxes keep their version.

        With if_match, the etag of tagged, no other client's change is lost: a template that has changed is a PreconditionError. With
        if_absent only a template that is not there is made.
        """
        return await self._made("PUT", f"{self._path}/{segment(name)}", source, on_progress, condition(if_match, if_absent))

    async def push(
        self, templates: Sequence[Mapping[str, Any]], *, extends: Mapping[str, str] | None = None, replace: bool = False,
        on_progress: Progress | None = None,
    ) -> None:
        """Creates all of the templates, or fails and creates not one. With replace, they replace templates of the same name; else the call is refused.

        extends maps a template's name to its base. The base cannot be deleted while the template exists.
        """
        text = encode(given(templates=templates, extends=extends, replace=replace))
        await self._followed("POST", self._path + "/batch", text, {"content-type": "application/json"}, on_progress)

    async def prepare(self, name: str, on_progress: Progress | None = None) -> List[str]:
        """Makes each node that can run the template install its packages, and returns the names of these nodes."""
        last = await self._followed("POST", f"{self._path}/{segment(name)}/prepare", None, {}, on_progress)
        return last.nodes or []

    async def _made(self, method: str, path: str, source: str | Mapping[str, Any], on_progress: Progress | None, headers: Mapping[str, str] | None = None) -> models.Template:
        kind, text = ("application/hcl", source.encode()) if isinstance(source, str) else ("application/json", encode(source))
        last = await self._followed(method, path, text, {"content-type": kind, **(headers or {})}, on_progress)
        if last.template is None:
            raise YurtError("the server did not tell the template", code="internal")
        return last.template

    async def _followed(
        self, method: str, path: str, content: bytes | None, headers: dict[str, str], on_progress: Progress | None,
    ) -> models.TemplateEvent:
        """Sends a request about templates, reports its progress, and returns its last event."""
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
        """Removes a template. One that others extend is a ConflictError. Sandboxes that there are go on."""
        await self._client.remove(f"{self._path}/{segment(name)}")


class AsyncNodes:
    """The machines of the sandboxes."""

    def __init__(self, client: AsyncYurt) -> None:
        self._client = client
        self._path = API + "/nodes"

    async def list(
        self, *, name_prefix: str | None = None, healthy: bool | None = None, draining: bool | None = None,
    ) -> list[models.NodeInfo]:
        """Lists the nodes that match, by name, with their last known state. A healthy node answers."""
        params = given(name_prefix=name_prefix, healthy=answer_of("healthy", healthy), draining=answer_of("draining", draining))
        return [node async for page in self._client.pages(models.NodeList, self._path, params) for node in page.nodes or ()]

    async def drain(self, name: str, *, grace: float | str | None = None) -> models.Drain:
        """Has a node take no new sandboxes, and ends those on it once the grace is over: seconds, or text such as "10m"."""
        return await self._client.call(models.Drain, "POST", f"{self._path}/{segment(name)}/drain", body=given(grace=grace))

    async def undrain(self, name: str) -> models.Drain:
        """Ends a drain: the node takes sandboxes again."""
        return await self._client.call(models.Drain, "DELETE", f"{self._path}/{segment(name)}/drain")


class AsyncPools:
    """The warm sandboxes that a server keeps ready."""

    def __init__(self, client: AsyncYurt) -> None:
        self._client = client
        self._path = API + "/pools"

    async def list(self, *, template_prefix: str | None = None) -> list[models.Pool]:
        """Lists the pools, or those of templates whose name begins with the prefix."""
        params = given(template_prefix=template_prefix)
        return [pool async for page in self._client.pages(models.PoolList, self._path, params) for pool in page.pools or ()]

    async def get(self, template: str) -> models.Pool:
        """Returns the pool of a template; one without a pool has a pool of size 0."""
        return await self._client.call(models.Pool, "GET", f"{self._path}/{segment(template)}")

    async def set(self, template: str, *, min: int | None = None, max: int | None = None) -> models.Pool:
        """Gives the pool of a template another size. A bound that is left out stays. The server gets there within a second or so."""
        return await self._client.call(models.Pool, "PUT", f"{self._path}/{segment(template)}", body=given(min=min, max=max))

    async def unset(self, template: str) -> models.Pool:
        """Lets the template size its pool again."""
        return await self._client.call(models.Pool, "DELETE", f"{self._path}/{segment(template)}")
