"""Bad input and clients that disconnect: each leads to a clear error and leaves no process and no file."""

from __future__ import annotations

import asyncio
import io
import os
import resource
import tempfile
import time
from typing import Any, Callable

from yurt import AsyncSandbox, InvalidArgumentError, Nodes, NotFoundError, Sandbox, Templates, UnavailableError, Yurt, YurtError


def refused(kind: type[YurtError], field: str | None, call: Callable[[], Any]) -> None:
    try:
        got = call()
    except kind as error:
        assert error.field == field, f"{error!r} names the field {error.field}; expected {field}"
        return
    raise AssertionError(f"{got!r} was returned; expected {kind.__name__} of {field}")


def sleepers(sandbox: Sandbox) -> list[str]:
    return [process.name for process in sandbox.processes.list() if process.name == "sleep"]


def wrong_values(box: Any) -> None:
    refused(InvalidArgumentError, "code", lambda: box.run_code(b"1"))
    refused(InvalidArgumentError, "code", lambda: box.run_code("\ud800"))
    refused(InvalidArgumentError, "language", lambda: box.run_code("1", language=5))
    refused(InvalidArgumentError, "files", lambda: box.run_code("1", files={"a": 5}))
    refused(InvalidArgumentError, "command", lambda: box.run_command(["sleep", 1]))
    refused(InvalidArgumentError, "timeout", lambda: box.set_timeout(float("nan")))
    refused(InvalidArgumentError, "env", lambda: box.run_command("true", env={"A": None}))
    refused(InvalidArgumentError, "args", lambda: box.run_code("1", args=["a", None]))
    refused(InvalidArgumentError, "context", lambda: box.run_code("1", context=5))
    refused(InvalidArgumentError, "handler", lambda: box.invoke("1", handler=5, language="python"))
    refused(InvalidArgumentError, "files", lambda: Sandbox.create(files=["a"]))
    refused(InvalidArgumentError, "metadata", lambda: Sandbox.list(metadata=["a"]))
    refused(InvalidArgumentError, "data", lambda: box.files.write("x", "\ud800"))
    refused(InvalidArgumentError, "source", lambda: box.files.upload(io.StringIO("text"), "x"))
    refused(InvalidArgumentError, "mode", lambda: box.files.write("x", "x", mode="9"))
    refused(InvalidArgumentError, "pid", lambda: box.processes.kill("../../x"))
    refused(InvalidArgumentError, "extends", lambda: Templates(Yurt()).push([{"name": "a"}], extends={"b": "a"}))
    refused(InvalidArgumentError, "extends", lambda: Templates(Yurt()).push([{"name": "a"}], extends=["a"]))
    refused(InvalidArgumentError, "created_after", lambda: Sandbox.list(created_after="today"))
    refused(InvalidArgumentError, "state", lambda: Sandbox.list(state="asleep"))
    refused(InvalidArgumentError, "healthy", lambda: Nodes(Yurt()).list(healthy="yes"))
    refused(InvalidArgumentError, "on_disconnect", lambda: box.run_command("true", on_disconnect="end"))
    refused(InvalidArgumentError, "tty", lambda: box.stream_command("true", tty=5))
    refused(InvalidArgumentError, "offset", lambda: box.files.read_bytes("x", offset=-1))
    refused(InvalidArgumentError, "length", lambda: box.files.read_bytes("x", length=0))
    for wrong in ("", "..", None, 5):
        refused(InvalidArgumentError, "id", lambda: Sandbox.connect(wrong))
        refused(InvalidArgumentError, "id", lambda: box.contexts.remove(wrong))
    for wrong in (5, "http://[::1", "http://127.0.0.1:99999", "http://a b", "127.0.0.1:8700"):
        refused(InvalidArgumentError, "url", lambda: Yurt(wrong))
    refused(InvalidArgumentError, "api_key", lambda: Yurt(api_key=b"x"))
    refused(InvalidArgumentError, "path", lambda: box.files.read(5))
    refused(InvalidArgumentError, "path", lambda: box.files.write("a\nb", "x"))
    refused(InvalidArgumentError, "path", lambda: box.files.write("\ud800", "x"))
    refused(InvalidArgumentError, "data", lambda: box.files.write("x", 5))
    refused(InvalidArgumentError, "source", lambda: box.files.upload(5, "x"))
    refused(InvalidArgumentError, "cwd", lambda: box.pty(cwd="/nope"))
    refused(NotFoundError, None, lambda: box.contexts.restart("nope"))
    refused(NotFoundError, None, lambda: box.execution("exe_nope").result())
    refused(NotFoundError, None, lambda: Sandbox.connect("ses_nope"))
    refused(InvalidArgumentError, "url", lambda: Sandbox.create(url="ftp://x"))
    refused(UnavailableError, None, lambda: Sandbox.create(client=Yurt("http://127.0.0.1:1", patience=0.1)))


def taken(box: Sandbox) -> None:
    """Other forms of the same values."""
    assert box.files.write("bytes", bytearray(b"abc"), mode=0o640).mode == "0640"
    assert box.files.write("bytes", memoryview(b"abcd")).size == 4
    assert box.files.chmod("bytes", 0o750).mode == "0750"


def leaving(box: Sandbox) -> None:
    def fail(_: str) -> None:
        raise RuntimeError("of the callback")

    try:
        box.run_command("echo hello; sleep 60", on_stdout=fail)
        raise AssertionError("the callback's error is lost; expected it from run_command")
    except RuntimeError:
        pass
    assert not sleepers(box), "a sleep runs on after the callback failed; expected none"
    with box.stream_command("sleep 60") as execution:
        next(execution)
    assert not sleepers(box), "a sleep runs on after its block; expected none"
    with tempfile.TemporaryDirectory() as directory:
        refused(NotFoundError, "path", lambda: box.files.download("nope", os.path.join(directory, "file")))
        assert os.listdir(directory) == [], f"a failed download left {os.listdir(directory)}; expected no file"


class Broken(io.RawIOBase):
    """A source that breaks after its first MiB."""

    def __init__(self) -> None:
        self.reads = 0

    def read(self, size: int = -1) -> bytes:
        self.reads += 1
        if self.reads > 4:
            raise RuntimeError("of the source")
        return bytes(1 << 18)


def broken_off(box: Sandbox) -> None:
    try:
        box.files.upload(Broken(), "half")  # type: ignore[arg-type]
        raise AssertionError("the source's error is lost; expected it from upload")
    except RuntimeError:
        pass
    deadline = time.monotonic() + 5
    while "half" in [file.path for file in box.files.list()]:
        assert time.monotonic() < deadline, "an upload that broke off left a file; expected none"
        time.sleep(0.05)


def unread(box: Sandbox) -> None:
    """A terminal buffers little unread output, and continues when the client reads again."""
    with box.pty("head -c 40000000 /dev/zero; echo; echo end") as terminal:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        time.sleep(1.5)
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        assert grown < 32 << 10, f"{grown} KiB were held while the terminal was not read; expected little"
        size, last = 0, b""
        while (shown := terminal.read()) is not None:
            size += len(shown)
            last = (last + shown)[-5:]
    assert size >= 40_000_000 and last == b"end\r\n", f"{size} bytes were shown, and last {last!r}"


async def cancelled() -> None:
    async with await AsyncSandbox.create() as box:
        try:
            await asyncio.wait_for(box.run_command("sleep 60"), 0.5)
            raise AssertionError("the command ended; expected a timeout of asyncio")
        except asyncio.TimeoutError:
            pass
        left = [p.name for p in await box.processes.list() if p.name == "sleep"]
        assert not left, f"{left} runs on after its task was cancelled; expected none"
        results = await asyncio.gather(*(box.run_command(f"echo {i}") for i in range(20)))
        assert [r.stdout for r in results] == [f"{i}\n" for i in range(20)], results


with Sandbox.create() as sandbox:
    wrong_values(sandbox)
    taken(sandbox)
    leaving(sandbox)
    broken_off(sandbox)
    unread(sandbox)
asyncio.run(cancelled())
assert not Sandbox.list(), "sandboxes are left; expected none"
print("all refused")
