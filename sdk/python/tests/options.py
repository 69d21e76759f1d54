"""Calls each method with all of its options, and prints the values that it returned, by operation of the API.

A test compares both with the OpenAPI document. Its server answers each request with all fields of the document.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Iterable
from datetime import datetime, timezone
from typing import Any

import msgspec

from yurt import AuditLog, Display, Keys, Nodes, Pools, Sandbox, Templates, Tenants, Yurt, YurtError

NOW = datetime(2026, 1, 1, tzinfo=timezone.utc)
TOLD: dict[str, list[Any]] = {}


def plain(value: Any) -> Any:
    return value.data if isinstance(value, Display) else str(value)


def told(operation: str, value: Any) -> None:
    if isinstance(value, Iterable) and not isinstance(value, (str, dict)):
        attributes = vars(value) if isinstance(value, list) and hasattr(value, "__dict__") else {}
        value = {"list": list(value), **attributes}
    TOLD.setdefault(operation, []).append(msgspec.to_builtins(value, enc_hook=plain))


def server(client: Yurt) -> None:
    told("version", client.version())
    told("health", client.health())
    told("ready", client.ready())
    told("list-runtimes", client.runtimes(language="python"))
    told("list-containers", client.containers(state="ready", template="t", node="n", session_id="s"))
    told("get-container", client.container("c"))
    told("get-container-health", client.container_health("c"))
    told("get-container-logs", client.container_logs("c", limit=1000))
    told("get-container-logs", client.follow_container_logs("c", limit=1000))
    nodes, pools, templates = Nodes(client), Pools(client), Templates(client)
    told("list-nodes", nodes.list(name_prefix="n", healthy=True, draining=False))
    told("drain-node", nodes.drain("n", grace=60))
    told("undrain-node", nodes.undrain("n"))
    told("list-pools", pools.list(template_prefix="t"))
    told("get-pool", pools.get("t"))
    told("set-pool", pools.set("t", min=1, max=2))
    told("unset-pool", pools.unset("t"))
    told("list-templates", templates.list(name_prefix="t", runtime="python"))
    told("get-template", templates.get("t"))
    lines: list[str] = []
    for operation, call in {
        "create-template": lambda: templates.create('template "t" {}', lines.append),
        "replace-template": lambda: templates.replace("t", {"name": "t"}, lines.append, if_match='"a"', if_absent=True),
        "push-templates": lambda: templates.push([{"name": "t"}], extends={"t": "default"}, replace=True, on_progress=lines.append),
        "prepare-template": lambda: templates.prepare("t", lines.append),
    }.items():
        told(operation, [call(), *lines])
    templates.delete("t")


def accounts(client: Yurt) -> None:
    keys, tenants = Keys(client), Tenants(client)
    told("list-keys", keys.list(tenant="a"))
    told("create-key", keys.create(["files"], tenant="a", name="n", expires_in=60))
    told("revoke-key", keys.revoke("key_a"))
    told("list-tenants", tenants.list())
    told("get-usage", tenants.usage("a"))
    told("list-usage-samples", tenants.samples("a", session_id="s"))
    told("set-quotas", tenants.set_quotas("a", sessions=1, creates_per_minute=2, cpu=3, memory="4Mi", disk="5Mi", executions=6, storage="7Mi"))
    told("list-audit", AuditLog(client).list(
        tenant="a", action="create-session", decision="allowed", session_id="s", key_id="k", subject="u", request_id="r", since=NOW, until=NOW, limit=3,
    ))


def sandbox(client: Yurt) -> Sandbox:
    resources = {"cpu": 1, "memory": "64Mi", "disk": "64Mi", "disk_kind": "memory", "io_weight": 100, "pids": 64, "ulimits": {"nofile": 64, "fsize": "1Mi", "stack": "1Mi"}}
    box = Sandbox.create(
        "t", timeout=60, idle_timeout="1m", env={"A": "1"}, metadata={"a": "b"}, resources=resources, files={"a": b"x"}, agent_id="a", reuse=False,
        mode="persistent", client=client,
    )
    told("create-session", box.info)
    told("get-session", Sandbox.connect(box.id, client=client).info)
    told("list-sessions", Sandbox.list(
        metadata={"a": "b"}, template="t", agent_id="a", state="ready", id_prefix="s", created_after=NOW, created_before=NOW, client=client,
    ))
    Sandbox.list(client=client)
    told("pause-session", box.pause())
    told("resume-session", box.resume())
    told("set-session-timeout", box.set_timeout(60, idle_timeout=30))
    told("get-session-metrics", box.metrics())
    told("get-session-logs", box.logs(limit=1000))
    told("get-session-logs", box.follow_logs(limit=1000))
    told("list-session-events", box.events())
    told("list-session-events", box.follow_events(after=0))
    told("create-token", box.create_token(["files"], expires_in=60))
    return box


def executions(box: Sandbox) -> None:
    code: dict[str, Any] = {
        "language": "python", "context": "c", "timeout": 5, "env": {"A": "1"}, "cwd": "/", "files": {"a": "x"}, "entry": "a", "args": ["b"], "dependencies": ["numpy"],
        "stdin": "x", "output_limit": 1000, "on_disconnect": "continue",
    }
    told("execute", box.stream_code("1", stdin_open=True, tty={"rows": 1, "cols": 2}, **code))
    events: list[Any] = []
    told("execute", [box.run_code("1", on_event=events.append, on_result=events.append, on_stdout=events.append, on_stderr=events.append, **code), *events])
    command: dict[str, Any] = {"timeout": 5, "env": {"A": "1"}, "cwd": "/", "stdin": "x", "output_limit": 1000, "on_disconnect": "continue"}
    told("execute", box.run_command("ls", **command))
    told("execute", box.stream_command(["ls"], stdin_open=True, tty={"rows": 1, "cols": 2}, **command))
    told("execute", box.invoke(
        "x", {"a": 1}, handler="h", command=["c"], language="python", context={"a": 1}, timeout=5, env={"A": "1"}, cwd="/", files={"a": "x"}, dependencies=["numpy"],
    ))
    told("list-executions", box.executions(state="succeeded", kind="code", language="python", created_after=NOW, created_before=NOW))
    told("get-status", box.latest())
    told("get-result", box.latest_result())
    execution = box.execution("exe_a")
    told("get-execution", execution.record())
    execution.write_stdin(b"x", eof=True)
    execution.signal("TERM")
    execution.resize(1, 2)
    execution.cancel()
    told("watch-execution", execution)
    try:
        box.pty("ls", cwd="/", rows=1, cols=2, execution_id="exe_a", after=3)
    except YurtError:
        pass  # the test's server opens no terminal


def contexts(box: Sandbox) -> None:
    told("list-contexts", box.contexts.list(language="python"))
    told("complete-in-context", box.contexts.complete("p", cursor=1, name="c", language="python", timeout=1))
    told("inspect-in-context", box.contexts.inspect("p", cursor=1, detail=1, name="c", language="python", timeout=1))
    box.contexts.restart("c", language="python")
    box.contexts.remove("c", language="python")
    told("list-processes", box.processes.list(execution_id="exe_a"))
    box.processes.signal(1, "TERM")
    box.processes.kill(1)


def files(box: Sandbox) -> None:
    told("put-file", box.files.write("a", "x", append=True, mode=0o600))
    told("put-file", box.files.write("a", "x", if_match='"a"', if_absent=True))
    box.files.make_dir("d")
    told("list-files", box.files.list("", depth=2))
    told("list-files", box.files.stat("a"))
    told("change-file", box.files.move("a", "b", overwrite=True))
    told("change-file", box.files.chmod("a", "600"))
    box.files.remove("a", recursive=True)
    box.files.read_bytes("a", offset=1, length=2)
    told("watch-files", box.files.watch("d", recursive=True))
    with tempfile.NamedTemporaryFile() as archive:
        box.files.pack("d", archive.name)
        told("archive-files", box.files.unpack(archive.name, "d"))


def main() -> None:
    with Yurt() as client:
        parts: list[Callable[[Sandbox], None]] = [executions, contexts, files]
        server(client)
        accounts(client)
        box = sandbox(client)
        for part in parts:
            part(box)
        told("end-session", box.kill(delete_results=True))
    json.dump(TOLD, sys.stdout)


if __name__ == "__main__":
    main()
