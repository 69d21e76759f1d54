"""Sandboxes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, List, Literal

import msgspec

from .. import _aio as aio
from .. import models
from .._wire import API, Bytes, files_of, given, instant, segment
from ..errors import ConflictError, InvalidArgumentError, NotFoundError, YurtError
from ..results import CreatedKey, Display, Event, LogEntry, Logs, Result
from .client import AsyncYurt
from .execution import AsyncExecution, execution_path
from .files import AsyncFiles
from .follow import follow
from .parts import AsyncContexts, AsyncProcesses
from .terminal import AsyncTerminal

Text = Callable[[str], object]
OnDisconnect = Literal["continue", "interrupt"]


class AsyncSandbox:
    """A sandbox. As a context manager it ends when it was created by this object, and is only left when it was connected to.

    Its calls may be made at the same time. Durations are numbers of seconds, or text such as "1h30m"; sizes are numbers of bytes, or text
    such as "512Mi". Errors are subclasses of YurtError; that code in the sandbox fails is none, see Result.
    """

    def __init__(self, client: AsyncYurt, info: models.Session, *, owned: bool, shared: bool) -> None:
        self._client = client
        self._owned = owned  # this object created it
        self._shared = shared  # the client is the caller's
        self._path = f"{API}/sessions/{segment(info.id)}"
        self.id = info.id
        self.info = info
        """Its last known state."""
        self.files = AsyncFiles(client, self._path)
        self.contexts = AsyncContexts(client, self._path)
        self.processes = AsyncProcesses(client, self._path)

    @classmethod
    async def create(
        cls, template: str | None = None, *, timeout: float | str | None = None, idle_timeout: float | str | None = None,
        env: Mapping[str, str] | None = None, metadata: Mapping[str, str] | None = None, resources: Mapping[str, Any] | None = None,
        files: Mapping[str, str | Bytes] | None = None, agent_id: str | None = None, reuse: bool | None = None,
        mode: Literal["ephemeral", "persistent"] | None = None, url: str | None = None, local: bool = False, client: AsyncYurt | None = None,
    ) -> AsyncSandbox:
        """Makes a sandbox of a template, and returns it once it is ready.

        timeout is its lifetime, and idle_timeout that since its last use. env is for all that runs in it. resources are bounds, such as
        {"cpu": 0.5, "memory": "512Mi", "disk": "1Gi"}. files are in its workspace before it is ready. With reuse it is the live sandbox
        of agent_id, if there is one of the same kind. mode "ephemeral" ends it after its first execution. With local it starts `yurt dev`,
        which ends with the sandbox. Raises OverloadedError when the server is full, or a quota of the tenant is used up.
        """
        body = given(
            template_id=template, timeout=timeout, idle_timeout=idle_timeout, env=env, metadata=metadata, resources=resources,
            files=files_of(files), agent_id=agent_id, reuse=reuse, mode=mode,
        )
        own = client if client is not None else await aio.in_thread(lambda: AsyncYurt(url, local=local))
        try:
            info = await own.call(models.Session, "POST", API + "/sessions", body=body)
        except BaseException:
            if client is None:
                await own.aclose()
            raise
        return cls(own, info, owned=True, shared=client is not None)

    @classmethod
    async def connect(cls, id: str, *, url: str | None = None, client: AsyncYurt | None = None) -> AsyncSandbox:
        """Returns the sandbox of that id. It goes on when this object is closed."""
        own = client or AsyncYurt(url)
        try:
            info = await own.call(models.Session, "GET", f"{API}/sessions/{segment(id)}")
        except BaseException:
            if client is None:
                await own.aclose()
            raise
        return cls(own, info, owned=False, shared=client is not None)

    @classmethod
    async def list(
        cls, *, metadata: Mapping[str, str] | None = None, template: str | None = None, agent_id: str | None = None,
        state: Literal["creating", "ready", "running", "paused", "terminated", "failed"] | None = None, id_prefix: str | None = None,
        created_after: datetime | None = None, created_before: datetime | None = None, ended: bool = False, url: str | None = None, client: AsyncYurt | None = None,
    ) -> list[models.Session]:
        """Lists the sandboxes that match, newest first. Without a state it lists those that have not ended; ended adds those that have."""
        own = client or AsyncYurt(url)
        if not isinstance(metadata or {}, Mapping):
            raise InvalidArgumentError(f"it is of type {type(metadata).__name__}; give a dict", code="invalid_argument", field="metadata")
        params = given(
            template_id=template, agent_id=agent_id, state=state, id_prefix=id_prefix, live=None if ended or state else "true",
            created_after=instant("created_after", created_after), created_before=instant("created_before", created_before),
            **{f"metadata[{k}]": v for k, v in (metadata or {}).items()},
        )
        found: list[models.Session] = []
        try:
            async for page in own.pages(models.SessionList, API + "/sessions", params):
                found.extend(page.sessions or ())
            return found
        finally:
            if client is None:
                await own.aclose()

    async def _start(self, body: Mapping[str, Any]) -> AsyncExecution:
        answer = await self._client.send(
            "POST", self._path + "/execute", body={**body, "stream": True}, headers={"accept": "text/event-stream"}, stream=True,
        )
        execution_id = answer.header("location").rsplit("/", 1)[-1]
        if not execution_id:
            await answer.aclose()
            raise YurtError("the server did not name the execution", code="internal")
        return AsyncExecution(self._client, execution_path(self._path, execution_id), answer)

    async def stream_code(
        self, code: str | None = None, *, language: str | None = None, context: str | None = None, timeout: float | str | None = None,
        env: Mapping[str, str] | None = None, cwd: str | None = None, files: Mapping[str, str | Bytes] | None = None,
        entry: str | None = None, args: Sequence[str] | None = None, dependencies: Sequence[str] | None = None,
        stdin: str | None = None, stdin_open: bool | None = None, tty: Mapping[str, int] | None = None, output_limit: int | str | None = None,
        on_disconnect: OnDisconnect | None = None,
    ) -> AsyncExecution:
        """Starts code and returns its execution, an iterator of events.

        timeout ends it, with a Result that says so. cwd is relative to /workspace. files are written there first, and stay. entry is a file
        to run in place of code, and args are for either. dependencies are packages to install first, such as "numpy==2.1.0". With
        stdin_open more may be written to its input, by Execution.write_stdin. output_limit bounds each stream, in bytes. With tty, such as {"rows": 24, "cols": 80}, its input and output are a terminal. on_disconnect="interrupt" interrupts it when the
        connection of this call ends first, such as with this process.
        """
        body = given(
            code=code, language=language, context=context, timeout=timeout, env=env, cwd=cwd, files=files_of(files), entry=entry, args=args,
            dependencies=dependencies, stdin=stdin, stdin_open=stdin_open, tty=tty, output_limit=output_limit, on_disconnect=on_disconnect,
        )
        return await self._start({**body, "handler": None})  # run code that only defines a handler without calling it

    async def run_code(
        self, code: str | None = None, *, language: str | None = None, context: str | None = None, timeout: float | str | None = None,
        env: Mapping[str, str] | None = None, cwd: str | None = None, files: Mapping[str, str | Bytes] | None = None,
        entry: str | None = None, args: Sequence[str] | None = None, dependencies: Sequence[str] | None = None,
        stdin: str | None = None, output_limit: int | str | None = None, on_disconnect: OnDisconnect | None = None,
        on_progress: Text | None = None, on_stdout: Text | None = None, on_stderr: Text | None = None,
        on_result: Callable[[Display], object] | None = None, on_event: Callable[[Event], object] | None = None,
    ) -> Result:
        """Runs code and returns its result. Variables last from one run to the next, in the context of that name.

        The callbacks get output, displays and events as they come, and on_progress that of the package manager. One that raises cancels the
        execution. Other options: see stream_code.
        """
        execution = await self.stream_code(
            code, language=language, context=context, timeout=timeout, env=env, cwd=cwd, files=files, entry=entry, args=args,
            dependencies=dependencies, stdin=stdin, output_limit=output_limit, on_disconnect=on_disconnect,
        )
        return await execution.result(on_progress=on_progress, on_stdout=on_stdout, on_stderr=on_stderr, on_result=on_result, on_event=on_event)

    async def stream_command(
        self, command: str | Sequence[str], *, timeout: float | str | None = None, env: Mapping[str, str] | None = None,
        cwd: str | None = None, stdin: str | None = None, stdin_open: bool | None = None, tty: Mapping[str, int] | None = None,
        output_limit: int | str | None = None, on_disconnect: OnDisconnect | None = None,
    ) -> AsyncExecution:
        """Starts a line for the shell, or a program with its arguments, and returns its execution. Options: see stream_code."""
        return await self._start(given(
            command=command, timeout=timeout, env=env, cwd=cwd, stdin=stdin, stdin_open=stdin_open, tty=tty, output_limit=output_limit,
            on_disconnect=on_disconnect,
        ))

    async def run_command(
        self, command: str | Sequence[str], *, timeout: float | str | None = None, env: Mapping[str, str] | None = None,
        cwd: str | None = None, stdin: str | None = None, output_limit: int | str | None = None, on_disconnect: OnDisconnect | None = None,
        on_progress: Text | None = None, on_stdout: Text | None = None, on_stderr: Text | None = None,
    ) -> Result:
        """Runs a shell command line, or a program with its arguments, and returns its result."""
        execution = await self.stream_command(
            command, timeout=timeout, env=env, cwd=cwd, stdin=stdin, output_limit=output_limit, on_disconnect=on_disconnect,
        )
        return await execution.result(on_progress=on_progress, on_stdout=on_stdout, on_stderr=on_stderr)

    async def invoke(
        self, code: str | None = None, event: Any = None, *, handler: str = "handler", command: str | Sequence[str] | None = None,
        language: str | None = None, context: Mapping[str, Any] | None = None, timeout: float | str | None = None,
        env: Mapping[str, str] | None = None, cwd: str | None = None, files: Mapping[str, str | Bytes] | None = None,
        dependencies: Sequence[str] | None = None, on_disconnect: OnDisconnect | None = None,
        on_progress: Text | None = None, on_stdout: Text | None = None, on_stderr: Text | None = None,
    ) -> Result:
        """Calls a function of the code with the event, as AWS Lambda does. The result's value is its return value.

        Instead of code, command starts a Lambda runtime client that serves the handler; it is kept for the next call.
        """
        body = given(
            code=code, handler=handler, command=command, language=language, context=context, timeout=timeout, env=env, cwd=cwd,
            files=files_of(files), dependencies=dependencies, on_disconnect=on_disconnect,
        )
        execution = await self._start({**body, "event": event})
        return await execution.result(on_progress=on_progress, on_stdout=on_stdout, on_stderr=on_stderr)

    def execution(self, id: str) -> AsyncExecution:
        """Returns an earlier execution. Iterating over it yields its events from the first."""
        return AsyncExecution(self._client, execution_path(self._path, id))

    async def pty(
        self, command: str | None = None, *, cwd: str | None = None, rows: int = 24, cols: int = 80, execution_id: str | None = None,
        after: int | None = None,
    ) -> AsyncTerminal:
        """Opens a terminal on the shell, on a line for it, or again on one that was opened before, by its execution's id.

        One that is opened again shows all of its output, or that after a number, which is the `last` of the terminal before.
        """
        params = given(command=command, cwd=cwd, rows=rows, cols=cols, execution_id=execution_id, after=after)
        return await AsyncTerminal.open(self._client, self._path + "/pty", params)

    async def logs(self, limit: int = 65536) -> Logs:
        """Returns the last limit bytes of what executions wrote, the newest last."""
        return await self._client.log_of(self._path, limit)

    async def follow_logs(self, limit: int = 65536) -> AsyncIterator[LogEntry]:
        """Yields the entries of logs and then new output of executions, until the sandbox has ended."""
        async for entry in self._client.follow_log_of(self._path, limit):
            yield entry

    async def executions(
        self, *, state: str | None = None, kind: str | None = None, language: str | None = None,
        created_after: datetime | None = None, created_before: datetime | None = None,
    ) -> List[models.Execution]:
        """Lists the executions in the sandbox that match, newest first, without results; execution(id) has the result."""
        params = given(
            state=state, kind=kind, language=language,
            created_after=instant("created_after", created_after), created_before=instant("created_before", created_before),
        )
        pages = self._client.pages(models.ExecutionList, self._path + "/executions", params)
        return [execution async for page in pages for execution in page.executions or ()]

    async def latest(self) -> models.ExecutionBody:
        """Returns the latest execution, with its result if it has ended."""
        return await self._client.call(models.ExecutionBody, "GET", self._path + "/status")

    async def latest_result(self) -> Result:
        """Returns the result of the latest execution. While it runs, the call fails with the code execution_running."""
        return await self._client.call(Result, "GET", self._path + "/result")

    async def events(self) -> List[models.Transition]:
        """Lists the changes of the sandbox's state, oldest first."""
        return [change async for page in self._client.pages(models.TransitionList, self._path + "/events") for change in page.events or ()]

    async def follow_events(self, after: int = 0) -> AsyncIterator[models.SessionEvent]:
        """Yields the changes of the sandbox's state after a number, and then new ones, until the sandbox has ended.

        If the connection breaks, a new one continues after the last change.
        """
        async for data in follow(self._client, self._path + "/events", after):
            event = msgspec.json.decode(data, type=models.SessionEvent)
            yield event
            if event.to in ("terminated", "failed"):
                return

    async def create_token(self, scopes: Sequence[str], *, expires_in: float | str | None = None) -> CreatedKey:
        """Creates a token for a browser or an agent, which sends it as an API key. It gives access only to this sandbox.

        It expires with the sandbox and with the client's key. That key must have the scopes, and must not be an administrator's.
        """
        body = given(scopes=scopes, expires_in=expires_in)
        return await self._client.call(CreatedKey, "POST", self._path + "/tokens", body=body)

    async def metrics(self) -> models.SandboxStats:
        """Says how much processor time, memory, disk and network the sandbox uses."""
        return await self._client.call(models.SandboxStats, "GET", self._path + "/metrics")

    async def _change(self, method: str, verb: str, body: Mapping[str, Any] | None = None) -> models.Session:
        self.info = await self._client.call(models.Session, method, self._path + verb, body=body)
        return self.info

    async def refresh(self) -> models.Session:
        """Asks for the state of the sandbox, and returns it."""
        return await self._change("GET", "")

    async def pause(self) -> models.Session:
        """Stops all processes in the sandbox and keeps their memory."""
        return await self._change("POST", "/pause")

    async def resume(self) -> models.Session:
        """Lets a paused sandbox go on."""
        return await self._change("POST", "/resume")

    async def set_timeout(self, timeout: float | str | None = None, *, idle_timeout: float | str | None = None) -> models.Session:
        """Gives the sandbox another lifetime, since its creation, and another idle timeout. One that is left out stays."""
        return await self._change("POST", "/timeout", given(timeout=timeout, idle_timeout=idle_timeout))

    async def kill(self, *, delete_results: bool = False) -> models.Session:
        """Ends the sandbox. If it has ended already, the call fails with the code session_ended.

        delete_results removes its executions and their results at once, also for a sandbox that has ended.
        """
        params = {"results": "delete"} if delete_results else {}
        try:
            self.info = await self._client.call(models.Session, "DELETE", self._path, params=params)
        except ConflictError as error:
            if not error.removed:
                raise
            return await self.refresh()
        return self.info

    async def aclose(self) -> None:
        """Closes the connections. The sandbox continues, unless its server was started for it."""
        if not self._shared:
            await self._client.aclose()

    async def __aenter__(self) -> AsyncSandbox:
        return self

    async def __aexit__(self, *_: object) -> None:
        try:
            if self._owned:
                await self.kill()
        except (ConflictError, NotFoundError):
            pass  # it has ended already
        finally:
            await self.aclose()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id} {self.info.state}>"
