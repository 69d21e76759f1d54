"""Runs the scenarios that every SDK must pass; the README.md beside their file describes the steps."""

from __future__ import annotations

import base64
import concurrent.futures
import hashlib
import json
import os
import re
import resource
import signal
import tempfile
import time
import traceback
from typing import Any, Callable

import httpx

import surface
from yurt import CreatedKey, Result, Sandbox, Yurt, YurtError
from yurt.errors import NotFoundError, ConflictError
from yurt.models import Session

if os.environ.get("YURT_ASYNC"):
    from blocking import Sandbox, Yurt  # noqa: F811

MIB = bytes(range(256)) * 4096
Json = dict[str, Any]


class Mismatch(Exception):
    pass


def compare(want: Any, got: Any, place: str) -> None:
    if isinstance(want, dict) and any(key.startswith("$") for key in want):
        checks: dict[str, Callable[[Any], bool]] = {
            "$gte": lambda n: got >= n, "$lte": lambda n: got <= n, "$matches": lambda p: bool(re.search(p, str(got))),
        }
        if not all(checks[key](value) for key, value in want.items()):
            raise Mismatch(f"{place} is {got!r}; expected {want}")
    elif isinstance(want, dict) and (isinstance(got, dict) or not want):
        for name, value in want.items():
            compare(value, got.get(name), f"{place}.{name}")
    elif want != got or isinstance(want, bool) != isinstance(got, bool):
        raise Mismatch(f"{place} is {got!r}; expected {want!r}")


def numbers(value: Any) -> Any:
    """Replaces the names of numbers that JSON lacks by the numbers."""
    if isinstance(value, dict):
        return float(value["$number"]) if "$number" in value else {k: numbers(v) for k, v in value.items()}
    return value


def session_json(info: Session) -> Json:
    return {"state": info.state, "template": info.template_id, "metadata": info.metadata or {}, "timeout": info.timeout}


def result_json(result: Result) -> Json:
    error = {"type": result.error.type, "message": result.error.message} if result.error else None
    return {
        "stdout": result.stdout, "stderr": result.stderr, "exit_code": result.exit_code, "value": result.value, "text": result.text, "error": error,
    }


def peak_mib() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


class Scenario:
    """One run of a scenario's steps, with its sandboxes."""

    def __init__(self, client: Yurt) -> None:
        self.client = client
        self.made: list[Sandbox] = []
        self.named: dict[str, Sandbox] = {}
        self.keys: dict[str, CreatedKey] = {}
        self.clients: list[Yurt] = []

    def run(self, steps: list[Json]) -> None:
        for number, step in enumerate(steps, 1):
            place, began = f"step {number} ({step['do']})", time.monotonic()
            try:
                got = self.perform(step)
            except YurtError as error:
                if "error" not in step:
                    raise Mismatch(f"{place} failed: {error!r} {error}") from error
                told = {"code": error.code, "field": error.field, "request_id": error.request_id, "retry_after": error.retry_after}
                compare(step["error"], told, place + " error")
                compare(step.get("seconds", {}), time.monotonic() - began, place + " seconds")
                continue
            if "error" in step:
                raise Mismatch(f"{place} returned {got}; expected the error {step['error']}")
            compare(step.get("expect", {}), got, place)
            compare(step.get("seconds", {}), time.monotonic() - began, place + " seconds")

    def client_of(self, step: Json) -> Yurt:
        """Returns the client of a step, which can have a key that the scenario created."""
        if "key" not in step:
            return self.client
        self.clients.append(Yurt(api_key=self.keys[step["key"]].key))
        return self.clients[-1]

    def perform(self, step: Json) -> Json:
        arguments = numbers(step.get("with", {}))
        if step["do"] == "at_once":
            return self.at_once(step, arguments["count"])
        box = self.named.get(step.get("in", ""))
        if step["do"] in surface.OPERATIONS:
            return surface.OPERATIONS[step["do"]](self, step, arguments)
        operation = getattr(self, step["do"])
        if step["do"] in ("create", "connect", "list", "control"):
            return dict(operation(step, box, **arguments) or {})
        assert box is not None, f"no sandbox is named {step.get('in')}"
        return dict(operation(box, **arguments) or {})

    def end(self) -> None:
        for box in self.made:
            try:
                box.kill()
            except (ConflictError, NotFoundError):
                pass
        for client in self.clients:
            client.close()

    def at_once(self, step: Json, count: int) -> Json:
        def one(_: int) -> None:
            part = Scenario(self.client)
            try:
                part.run(step["steps"])
            finally:
                part.end()

        with concurrent.futures.ThreadPoolExecutor(count) as pool:
            list(pool.map(one, range(count)))
        return {}

    def create(self, step: Json, _: Sandbox | None, **arguments: Any) -> Json:
        box = Sandbox.create(client=self.client_of(step), **arguments)
        self.made.append(box)
        self.named[step.get("as", "")] = box
        return session_json(box.info)

    def connect(self, step: Json, box: Sandbox | None, id: str = "") -> Json:
        found = Sandbox.connect(box.id if box else id, client=self.client_of(step))
        self.named[step.get("as", "")] = found
        return session_json(found.info)

    def list(self, _: Json, __: Sandbox | None, **arguments: Any) -> Json:
        return {"count": len(Sandbox.list(client=self.client, **arguments))}

    def control(self, _: Json, __: Sandbox | None, **arguments: Any) -> Json:
        answer = httpx.post(os.environ["YURT_CONTROL"], json=arguments, timeout=60)
        answer.raise_for_status()
        return dict(answer.json())

    def kill(self, box: Sandbox, **arguments: Any) -> Json:
        return session_json(box.kill(**arguments))

    def pause(self, box: Sandbox) -> Json:
        return session_json(box.pause())

    def resume(self, box: Sandbox) -> Json:
        return session_json(box.resume())

    def set_timeout(self, box: Sandbox, timeout: float) -> Json:
        return session_json(box.set_timeout(timeout))

    def run_code(self, box: Sandbox, **arguments: Any) -> Json:
        return result_json(box.run_code(**arguments))

    def run_command(self, box: Sandbox, **arguments: Any) -> Json:
        return result_json(box.run_command(**arguments))

    def invoke(self, box: Sandbox, **arguments: Any) -> Json:
        return result_json(box.invoke(**arguments))

    def stream_code(self, box: Sandbox, cancel_at: str = "", pause_seconds: float = 0, **arguments: Any) -> Json:
        began, events = time.monotonic(), []
        execution = box.stream_code(**arguments)
        for event in execution:
            events.append(event)
            time.sleep(pause_seconds)
            pause_seconds = 0
            if event.type == cancel_at:
                execution.cancel()
                cancel_at = ""
        counted = [event.seq for event in events] == [*range(1, len(events) + 1)]
        stdout = "".join(event.text for event in events if event.type == "stdout")
        return {
            **result_json(execution.result()), "stdout": stdout, "stdout_bytes": len(stdout), "events": len(events),
            "seq": "1..n" if counted else [e.seq for e in events], "first": events[0].type, "last": events[-1].type, "seconds": time.monotonic() - began,
        }

    def abandon(self, box: Sandbox, command: str, after_seconds: float) -> None:
        def interrupt(*_: object) -> None:
            raise KeyboardInterrupt

        signal.signal(signal.SIGALRM, interrupt)
        signal.setitimer(signal.ITIMER_REAL, after_seconds)
        try:
            box.run_command(command)
        except KeyboardInterrupt:
            return
        raise Mismatch("the command ended before it was interrupted")

    def contexts(self, box: Sandbox) -> Json:
        return {"names": sorted(context.name for context in box.contexts.list())}

    def restart_context(self, box: Sandbox, name: str) -> None:
        box.contexts.restart(name)

    def processes(self, box: Sandbox, named: str) -> Json:
        return {"count": sum(process.name == named for process in box.processes.list())}

    def write_file(self, box: Sandbox, path: str, append: bool = False, **data: str) -> Json:
        return {"size": box.files.write(path, base64.b64decode(data["base64"]) if "base64" in data else data["text"], append=append).size}

    def read_file(self, box: Sandbox, path: str, bytes: bool = False, **part: int) -> Json:
        if bytes:
            return {"base64": base64.b64encode(box.files.read_bytes(path, **part)).decode()}
        return {"text": box.files.read(path)}

    def list_files(self, box: Sandbox, path: str) -> Json:
        paths = [file.path for file in box.files.list(path)]
        return {"count": len(paths), "paths": paths}

    def upload(self, box: Sandbox, path: str, mib: int) -> Json:
        seen: list[int] = []
        with tempfile.TemporaryFile() as file:
            for _ in range(mib):
                file.write(MIB)
            file.seek(0)
            before = peak_mib()
            info = box.files.upload(file, path, lambda sent, total: seen.append(sent))
        return {"size": info.size, "progressed": seen[-1:] == [info.size], "grown_mib": peak_mib() - before}

    def download(self, box: Sandbox, path: str) -> Json:
        seen: list[int] = []
        with tempfile.TemporaryDirectory() as directory:
            before, target, digest = peak_mib(), os.path.join(directory, "file"), hashlib.sha256()
            size = box.files.download(path, target, lambda got, total: seen.append(got))
            grown = peak_mib() - before
            with open(target, "rb") as file:
                while chunk := file.read(1 << 20):
                    digest.update(chunk)
        return {"size": size, "sha256": digest.hexdigest(), "progressed": seen[-1:] == [size], "grown_mib": grown}


def main() -> None:
    with open(os.environ["YURT_SCENARIOS"], encoding="utf-8") as file:
        scenarios = json.load(file)["scenarios"]
    for wanted in scenarios:
        only = os.environ.get("YURT_ONLY")
        if only not in wanted if only else "long" in wanted or "keys" in wanted:
            continue
        with Yurt() as client:
            scenario, told = Scenario(client), {"scenario": wanted["name"], "ok": True}
            try:
                scenario.run(wanted["steps"])
            except Exception as problem:
                told.update(ok=False, problem=str(problem) if isinstance(problem, Mismatch) else traceback.format_exc())
            try:
                scenario.end()
            except YurtError as problem:
                told.update(ok=False, problem=f"ending its sandboxes: {problem}")
        print(json.dumps(told), flush=True)


if __name__ == "__main__":
    main()
