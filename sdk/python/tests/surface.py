"""Operations of scenarios that use each remaining call of the SDK once."""

from __future__ import annotations

import os
import tempfile
import threading
import time
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Callable

from yurt import AuditLog, CreatedKey, Keys, Nodes, Pools, Sandbox, Templates, Tenants, Terminal, YurtError
from yurt.models import TenantUsage

if os.environ.get("YURT_ASYNC"):
    from blocking import AuditLog, Keys, Nodes, Pools, Templates, Tenants  # noqa: F811

if TYPE_CHECKING:
    from scenarios import Scenario

Json = dict[str, Any]


def refusal(call: Callable[[], object]) -> str:
    """Returns the code of the error that a call ends with."""
    try:
        call()
    except YurtError as error:
        return error.code
    return "it succeeded"


def health(play: Scenario, step: Json, _: Json) -> Json:
    return {"live": play.client.health().status == "ok", "ready": play.client.ready().status == "ready"}


def version(play: Scenario, step: Json, _: Json) -> Json:
    return {"version": play.client.version().version}


def runtimes(play: Scenario, step: Json, _: Json) -> Json:
    return {"names": [runtime.name for runtime in play.client.runtimes()]}


def containers(play: Scenario, step: Json, _: Json) -> Json:
    found = play.client.containers()
    return {"count": len(found), "read": play.client.container(found[0].id).id == found[0].id}


def container(play: Scenario, step: Json, _: Json) -> Json:
    id = play.client.containers(session_id=box_of(play, step).id)[0].id
    health, followed = play.client.container_health(id), next(iter(play.client.follow_container_logs(id))).text
    text = "".join(entry.text for entry in play.client.container_logs(id))
    return {"answers": health.init_answers, "oom_kills": health.oom_kills, "limit": health.usage.memory_limit_bytes if health.usage else 0, "text": text, "followed": followed}


def drain(play: Scenario, step: Json, _: Json) -> Json:
    nodes = Nodes(play.client)
    name = nodes.list()[0].name
    draining = nodes.drain(name, grace=3600).draining
    return {"draining": draining, "after": nodes.undrain(name).draining}


def template(play: Scenario, step: Json, given: Json) -> Json:
    templates, name, source = Templates(play.client), given["name"], given["source"]
    created = templates.create(source.replace("%s", "first"), on_progress=lambda text: None)
    replaced = templates.replace(name, source.replace("%s", "second"))
    told = {
        "created": created.description, "replaced": replaced.description, "read": templates.get(name).description,
        "listed": [each.name for each in templates.list(name_prefix=name)] == [name], "prepared": len(templates.prepare(name)),
    }
    base, made = f"{name}-a", f"{name}-b"
    templates.push([{"name": each, "runtimes": ["python"]} for each in (base, made)], extends={made: base})
    told["pushed"], told["held"] = len(templates.list(name_prefix=name + "-")), refusal(lambda: templates.delete(base))
    for each in (name, made, base):
        templates.delete(each)
    return {**told, "gone": refusal(lambda: templates.get(name))}


def pool(play: Scenario, step: Json, given: Json) -> Json:
    pools, name = Pools(play.client), given["template"]
    told = {"set": pools.set(name, max=given["max"]).max, "read": pools.get(name).max, "listed": name in [each.template for each in pools.list(template_prefix=name)]}
    return {**told, "unset": pools.unset(name).max}


def executions(play: Scenario, step: Json, _: Json) -> Json:
    box = box_of(play, step)
    found = box.executions()
    record = box.execution(found[0].id).record()
    filtered = [len(box.executions(kind=kind)) for kind in ("command", "code")]
    return {
        "count": len(found), "states": [each.state for each in found], "filtered": filtered,
        "stdout": record.result.stdout if record.result else None, "latest": box.latest().id == found[0].id,
        "result": box.latest_result().stdout,
    }


def narrow(play: Scenario, step: Json, _: Json) -> Json:
    """Counts the entries of lists with filters that match or do not match."""
    box, hour = box_of(play, step), timedelta(hours=1)
    now, nodes = datetime.now(), Nodes(play.client)

    def sessions(**filter: Any) -> int:
        return len(Sandbox.list(client=play.client, id_prefix=box.id, **filter))

    def containers(**filter: Any) -> int:
        return len(play.client.containers(session_id=box.id, **filter))

    def healthy(is_so: bool) -> int:
        return len(nodes.list(name_prefix=nodes.list()[0].name, healthy=is_so, draining=False))

    return {
        "sessions": [sessions(), sessions(state="paused"), sessions(created_after=now + hour), sessions(created_before=now + hour)],
        "containers": [containers(), containers(state="dead"), containers(template="absent"), containers(node="absent")],
        "nodes": [healthy(True), healthy(False)],
        "runtimes": [len(play.client.runtimes(language=language)) for language in ("python", "absent")],
        "contexts": [bool(box.contexts.list(language=language)) for language in ("python", "absent")],
        "pools": len(Pools(play.client).list(template_prefix="absent")), "processes": len(box.processes.list(execution_id=box.latest().id)),
        "executions": [bool(box.executions(created_after=now - hour)), bool(box.executions(created_before=now - hour))],
    }


def sized(play: Scenario, step: Json, given: Json) -> Json:
    return {"stdout": box_of(play, step).stream_command("stty size", tty=given).result().stdout}


def changes(play: Scenario, step: Json, _: Json) -> Json:
    events = box_of(play, step).events()
    return {"count": len(events), "first": events[0].to}


def end_followed(play: Scenario, step: Json, _: Json) -> Json:
    """Ends the sandbox while it follows the changes of its state, and then follows those after the last."""
    box, seen = box_of(play, step), []
    for event in box.follow_events(after=1):
        if not seen:
            box.kill()
        seen.append(event)
    after = list(box.follow_events(after=seen[-1].seq))
    return {"begun": f"{seen[0].seq} {seen[0].to}", "last": seen[-1].to, "after": len(after)}


def logs(play: Scenario, step: Json, _: Json) -> Json:
    box = box_of(play, step)
    return {"text": "".join(entry.text for entry in box.logs()), "followed": next(iter(box.follow_logs())).text}


def metrics(play: Scenario, step: Json, _: Json) -> Json:
    return {"limit": box_of(play, step).metrics().memory_limit_bytes}


def copy_tree(play: Scenario, step: Json, given: Json) -> Json:
    files = box_of(play, step).files
    with tempfile.TemporaryDirectory() as directory:
        archive = os.path.join(directory, "archive.tar")
        try:
            files.pack(given["path"], archive)
        except YurtError:
            assert os.listdir(directory) == [], f"a failed download left {os.listdir(directory)}; expected no file"
            raise
        return {"entries": files.unpack(archive, given["to"]).entries}


def shape_file(play: Scenario, step: Json, given: Json) -> Json:
    files, path, to = box_of(play, step).files, given["path"], given["to"]
    told = {"mode": files.chmod(path, given["mode"]).mode, "directory": files.make_dir("new").type, "moved": files.move(path, to).path}
    told["size"] = files.stat(to).size
    files.remove(to)
    return {**told, "gone": refusal(lambda: files.stat(to))}


def conditions(play: Scenario, step: Json, given: Json) -> Json:
    files, templates, path, name = box_of(play, step).files, Templates(play.client), given["path"], given["template"]
    first = files.write(path, "one", if_absent=True)
    told = {"same": files.stat(path).etag == first.etag, "replaced": files.write(path, "other", if_match=first.etag).size}
    source = f'template "{name}" {{\n  extends = "default"\n  description = "%s"\n}}\n'
    templates.replace(name, source % "first", if_absent=True)
    _, etag = templates.tagged(name)
    templates.replace(name, source % "second", if_match=etag)
    told.update(
        stale=refusal(lambda: files.write(path, "lost", if_match=first.etag)), taken=refusal(lambda: files.write(path, "lost", if_absent=True)),
        text=files.read(path), stale_template=refusal(lambda: templates.replace(name, source % "lost", if_match=etag)), description=templates.get(name).description,
    )
    templates.delete(name)
    return told


def watch(play: Scenario, step: Json, given: Json) -> Json:
    files = box_of(play, step).files
    late = threading.Timer(0.5, lambda: files.write(given["path"], "x"))
    late.start()
    event = next(iter(files.watch()))
    late.join()
    return {"path": event.path}


def converse(play: Scenario, step: Json, given: Json) -> Json:
    execution = box_of(play, step).stream_command("cat", stdin_open=True)
    execution.write_stdin(given["text"][:1])
    execution.write_stdin(given["text"][1:], eof=True)
    return {"stdout": execution.result().stdout}


def end_by_signal(play: Scenario, step: Json, _: Json) -> Json:
    execution = box_of(play, step).stream_command(["sleep", "60"])
    execution.signal("TERM")
    return {"exit_code": execution.result().exit_code}


def end_process(play: Scenario, step: Json, _: Json) -> Json:
    box = box_of(play, step)
    execution = box.stream_command(["sleep", "61"])
    deadline = time.monotonic() + 10
    while not (found := [process.pid for process in box.processes.list(execution_id=execution.id) if process.name == "sleep"]):
        assert time.monotonic() < deadline, "there is no sleep; expected the one that was started"
    box.processes.signal(found[0], "CONT")
    box.processes.kill(found[0])
    return {"exit_code": execution.result().exit_code}


def questions(play: Scenario, step: Json, given: Json) -> Json:
    contexts, code = box_of(play, step).contexts, given["code"]
    match = [match.text for match in contexts.complete(code, name="asked", language="python", timeout=10).matches if match.text.startswith("print")]
    found = contexts.inspect(match[0], name="asked", language="python", timeout="10s").found
    contexts.remove("asked")
    return {"match": match[0], "found": found, "removed": refusal(lambda: contexts.restart("asked"))}


TERMINAL = "stty -echo; stty size; read word; echo $word; stty size; read word; stty size"


def terminal(play: Scenario, step: Json, _: Json) -> Json:
    box, shown = box_of(play, step), b""

    def show_until(terminal: Terminal, end: bytes) -> None:
        nonlocal shown
        while not shown.endswith(end):
            part = terminal.read()
            assert part is not None, f"the terminal showed {shown!r} and ended; expected {end!r}"
            shown += part

    with box.pty(TERMINAL) as first:
        show_until(first, b"24 80\r\n")
        with box.pty(execution_id=first.execution_id, after=first.last) as opened:
            box.execution(opened.execution_id).resize(40, 120)
            opened.write("hej\n")
            show_until(opened, b"40 120\r\n")
            opened.resize(30, 100)
            opened.write("again\n")
            while (part := opened.read()) is not None:
                shown += part
    return {"shown": shown.decode(), "exit_code": opened.exit_code}


def create_key(play: Scenario, step: Json, given: Json) -> Json:
    return remembered(play, step, Keys(play.client_of(step)).create(**given))


def create_token(play: Scenario, step: Json, given: Json) -> Json:
    box = box_of(play, step)
    made = box.create_token(**given)
    return {**remembered(play, step, made), "session": made.session_id == box.id}


def remembered(play: Scenario, step: Json, made: CreatedKey) -> Json:
    assert made.key not in repr(made), "the key is shown by repr; expected no word of it"
    play.keys[step.get("as", "")] = made
    return {"id": made.id, "key": made.key, "tenant": made.tenant, "name": made.name, "scopes": made.scopes}


def list_keys(play: Scenario, step: Json, given: Json) -> Json:
    return {"names": [key.name for key in Keys(play.client_of(step)).list(**given)]}


def revoke_key(play: Scenario, step: Json, given: Json) -> Json:
    id = play.keys[given["named"]].id if "named" in given else given["id"]
    return {"revoked": Keys(play.client_of(step)).revoke(id).revoked_at is not None}


def usage_json(told: TenantUsage) -> Json:
    quotas = told.quotas
    return {"tenant": told.tenant, "sessions": quotas.sessions, "memory": quotas.memory, "cpu": quotas.cpu, "used": told.usage.sessions}


def set_quotas(play: Scenario, step: Json, given: Json) -> Json:
    return usage_json(Tenants(play.client_of(step)).set_quotas(**given))


def usage(play: Scenario, step: Json, given: Json) -> Json:
    return usage_json(Tenants(play.client_of(step)).usage(**given))


def samples(play: Scenario, step: Json, given: Json) -> Json:
    session_id = box_of(play, step).id if "in" in step else None
    told = Tenants(play.client_of(step)).samples(**given, session_id=session_id)
    return {"tenant": told.tenant, "resolution": told.resolution, "session": session_id is not None and told.session_id == session_id}


def tenants(play: Scenario, step: Json, _: Json) -> Json:
    return {"names": [each.tenant for each in Tenants(play.client_of(step)).list()]}


def audit(play: Scenario, step: Json, given: Json) -> Json:
    """An entry appears within about a second of its request."""
    log, deadline = AuditLog(play.client_of(step)), time.monotonic() + 10
    while not (found := log.list(**given)) and time.monotonic() < deadline:
        time.sleep(0.1)
    return {"count": len(found), "session": bool(found) and (found[0].session_id or "").startswith("ses_")}


def box_of(play: Scenario, step: Json) -> Sandbox:
    return play.named[step["in"]]


OPERATIONS: dict[str, Callable[["Scenario", Json, Json], Json]] = {
    operation.__name__: operation for operation in (
        health, version, runtimes, containers, container, drain, template, pool, executions, narrow, sized, changes, logs, metrics, copy_tree, shape_file, conditions, watch, converse,
        end_followed, end_by_signal, end_process, questions, terminal, create_key, create_token, list_keys, revoke_key, set_quotas, usage, samples, tenants, audit,
    )
}
