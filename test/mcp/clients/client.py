"""Drives a Yurt MCP server with the stock Python client. Arguments: the address of the server or the path of yurt, the
mode of the client (auto, or legacy for the revisions with a handshake), and the number of simultaneous conversations."""

from __future__ import annotations

import asyncio
import base64
import os
import sys
import time
import uuid
from typing import Any

from mcp import Client, StdioServerParameters

PIXEL = (
    "class Picture:\n    def _repr_png_(self):\n        import base64\n        return base64.b64decode('"
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==')\nPicture()"
)


def client(target: str, mode: Any) -> Client:
    if target.startswith("http"):
        return Client(target + "/mcp", mode=mode)
    return Client(StdioServerParameters(command=target, args=["mcp", "--log-level", "warn"], env=dict(os.environ)), mode=mode)


async def call(c: Client, tool: str, **arguments: Any) -> Any:
    result = await c.call_tool(tool, arguments)
    assert not result.is_error, (tool, result.content)
    return result


async def refused(c: Client, tool: str, *expected: str, **arguments: Any) -> None:
    result = await c.call_tool(tool, arguments)
    assert result.is_error, (tool, arguments, result)
    text = result.content[0].text
    for word in expected:
        assert word in text, f"{tool} {arguments} answers {text!r}, expected {word!r} in it"


def text_of(result: Any) -> str:
    return "\n".join(part.text for part in result.content if part.type == "text")


async def files(c: Client, sandbox: str) -> None:
    await call(c, "write_file", sandbox_id=sandbox, path="a/b.txt", text="grüße\n")
    read = await call(c, "read_file", sandbox_id=sandbox, path="a/b.txt")
    assert read.structured_content["text"] == "grüße\n", read
    cut = await call(c, "read_file", sandbox_id=sandbox, path="a/b.txt", limit=3)
    assert cut.structured_content["text"] == "gr" and cut.structured_content["next_offset"] == 2, cut.structured_content
    rest = await call(c, "read_file", sandbox_id=sandbox, path="a/b.txt", offset=2)
    assert rest.structured_content["text"] == "üße\n", rest.structured_content
    data = bytes(range(256)) * 40
    await call(c, "upload_file", sandbox_id=sandbox, path="bytes", data_base64=base64.b64encode(data).decode())
    down = await call(c, "download_file", sandbox_id=sandbox, path="bytes")
    assert base64.b64decode(down.structured_content["data_base64"]) == data
    await refused(c, "read_file", "not text", "download_file", sandbox_id=sandbox, path="bytes")
    listed = await call(c, "list_files", sandbox_id=sandbox, depth=2)
    assert [f["path"] for f in listed.structured_content["files"]] == ["a", "a/b.txt", "bytes"], listed.structured_content
    part = await call(c, "list_files", sandbox_id=sandbox, depth=2, limit=1, after="a")
    assert [f["path"] for f in part.structured_content["files"]] == ["a/b.txt"] and part.structured_content["more"]
    await call(c, "run_command", sandbox_id=sandbox, command="touch \"$(printf 'new\\nline')\" && : > 'a b#?%'")
    odd = await call(c, "list_files", sandbox_id=sandbox)
    assert "new\nline" in [f["path"] for f in odd.structured_content["files"]], odd.structured_content
    for file in odd.structured_content["files"]:
        if file["path"] == "a b#?%":
            assert (await c.read_resource(file["resource_uri"])).contents[0].blob == ""
    resource = await c.read_resource(f"yurt://session/{sandbox}/bytes")
    assert base64.b64decode(resource.contents[0].blob) == data
    await refused(c, "write_file", "invalid_path", sandbox_id=sandbox, path="a\nb", text="")
    await refused(c, "read_file", "path_outside_workspace", sandbox_id=sandbox, path="../../etc/passwd")
    await refused(c, "read_file", "file_not_found", sandbox_id=sandbox, path="nothing")


async def bad_input(c: Client, sandbox: str) -> None:
    await refused(c, "run_code", "code", "must be a string", sandbox_id=sandbox, code=7)
    await refused(c, "run_code", "code", "missing", sandbox_id=sandbox)
    await refused(c, "run_command", "sandbox_id", "missing", "create_sandbox", command="true")
    await refused(c, "run_code", "unknown_field", "did you mean", sandbox_id=sandbox, cod="1")
    await refused(c, "run_code", "session_not_found", sandbox_id="ses_nothinghere", code="1")
    await refused(c, "run_code", "timeout", sandbox_id=sandbox, code="1", timeout="soon")
    await refused(c, "run_code", "limit_out_of_range", sandbox_id=sandbox, code="1", timeout=99999)
    await refused(c, "run_code", "language_not_supported", sandbox_id=sandbox, code="1", language="cobol")
    await refused(c, "upload_file", "base64", sandbox_id=sandbox, path="x", data_base64="%%%")
    await refused(c, "get_logs", "limit", "1 to", sandbox_id=sandbox, limit=0)
    nan = await call(c, "run_code", sandbox_id=sandbox, code="float('nan')")
    assert nan.structured_content["text"] == "nan" and "result" not in nan.structured_content, nan.structured_content
    bad = await call(c, "run_command", sandbox_id=sandbox, command="printf '\\377\\376'")
    assert set(bad.structured_content["stdout"]) == {"\ufffd"}, bad.structured_content


async def code(c: Client, sandbox: str) -> None:
    shown = await call(c, "run_code", sandbox_id=sandbox, code=PIXEL)
    assert [p.type for p in shown.content].count("image") == 1 and shown.structured_content["images"] == 1, shown
    junk = await call(c, "run_code", sandbox_id=sandbox, code="display({'image/png': 'anVuaw==', 'text/plain': 'junk'}, raw=True)")
    assert [p.type for p in junk.content] == ["text"] and "junk" in text_of(junk), f"what is no image must not come as one: {junk}"
    many = await call(c, "run_code", sandbox_id=sandbox, code="for _ in range(300): display({'text/plain': 'z' * 30000}, raw=True)")
    assert len(text_of(many)) < 40000 and "more displays are left out" in text_of(many), f"an answer of {len(text_of(many))} characters: {text_of(many)[-200:]}"
    syntax = await call(c, "run_code", sandbox_id=sandbox, code="def")
    assert text_of(syntax).count("def\n") == 1, f"the error is told twice: {text_of(syntax)}"
    failed = await call(c, "run_code", sandbox_id=sandbox, code="1 / 0")
    assert failed.structured_content["error"]["type"] == "ZeroDivisionError" and "ZeroDivisionError" in text_of(failed), failed
    command = await call(c, "run_command", sandbox_id=sandbox, command="echo out; echo err >&2; exit 3")
    assert command.structured_content["exit_code"] == 3 and "exit code 3" in text_of(command), command
    handler = await call(
        c, "invoke_handler", sandbox_id=sandbox, event={"n": 20}, context={"function_name": "f"},
        code="def handler(event, context):\n    return {'n': event['n'] + 1, 'f': context.function_name}",
    )
    assert handler.structured_content["result"] == {"n": 21, "f": "f"}, handler.structured_content
    absent = await call(c, "invoke_handler", sandbox_id=sandbox, code="x = 1", event={})
    assert "HandlerNotFound" in text_of(absent) and "variables" not in text_of(absent), f"a handler has no variables of run_code: {text_of(absent)}"
    large = await call(c, "run_code", sandbox_id=sandbox, code="print('x' * 200000)")
    link = large.structured_content["resources"][0]
    assert link["name"] == "stdout" and len(large.structured_content["stdout"]) < 40000, link
    whole = await c.read_resource(link["uri"])
    assert whole.contents[0].text == "x" * 200000 + "\n"
    logs = await call(c, "get_logs", sandbox_id=sandbox, limit=100)
    assert logs.structured_content["truncated"], logs.structured_content


async def progress(c: Client, sandbox: str) -> None:
    seen: list[tuple[float, str]] = []

    async def tell(number: float, total: float | None, message: str | None) -> None:
        seen.append((number, message or ""))

    slow = "import time\nfor i in range(4):\n    print('step', i, flush=True)\n    time.sleep(0.2)"
    await c.call_tool("run_code", {"sandbox_id": sandbox, "code": slow}, progress_callback=tell)
    assert any("step" in message for _, message in seen), seen
    assert [n for n, _ in seen] == sorted({n for n, _ in seen}), f"progress must grow: {seen}"


async def installing(c: Client, sandbox: str, version: str) -> None:
    """The progress reports the installation of packages, which happens once on a server."""
    seen: list[str] = []

    async def tell(number: float, total: float | None, message: str | None) -> None:
        seen.append(message or "")

    shown = {"sandbox_id": sandbox, "code": "import humanize; humanize.__version__", "dependencies": [f"humanize=={version}"], "context": "installing"}
    result = await c.call_tool("run_code", shown, progress_callback=tell)
    assert result.structured_content["result"] == version, result.structured_content
    assert any("install" in message.lower() for message in seen), seen


async def cancellation(c: Client, sandbox: str) -> None:
    sleep = "import time\nopen('/workspace/began', 'w').close()\ntry:\n    time.sleep(60)\nexcept KeyboardInterrupt:\n    open('/workspace/interrupted', 'w').close()"
    task = asyncio.create_task(c.call_tool("run_code", {"sandbox_id": sandbox, "code": sleep, "context": "other"}))
    while (await c.call_tool("read_file", {"sandbox_id": sandbox, "path": "began"})).is_error:
        await asyncio.sleep(0.05)
    task.cancel()
    await asyncio.wait([task])
    deadline = time.monotonic() + 10
    while (await c.call_tool("read_file", {"sandbox_id": sandbox, "path": "interrupted"})).is_error:
        assert time.monotonic() < deadline, "the cancellation did not reach the process"
        await asyncio.sleep(0.05)


async def conversation(target: str, mode: str, number: int) -> None:
    """One agent with its own client, sandbox and state."""
    async with client(target, mode) as c:
        first = await call(c, "run_code", code=f"x = {number}")
        assert first.structured_content["created"] and "sandbox_id" in text_of(first), first
        sandbox = first.structured_content["sandbox_id"]
        for step in range(3):
            await call(c, "run_code", sandbox_id=sandbox, code="x += 1")
            await call(c, "write_file", sandbox_id=sandbox, path=f"{step}", text=str(number))
        last = await call(c, "run_code", sandbox_id=sandbox, code="x")
        assert last.structured_content["result"] == number + 3, last.structured_content
        read = await call(c, "read_file", sandbox_id=sandbox, path="2")
        assert read.structured_content["text"] == str(number)
        await call(c, "terminate_sandbox", sandbox_id=sandbox)


async def main(target: str, mode: str, conversations: int) -> None:
    async with client(target, mode) as c:
        tools = {t.name: t for t in (await c.list_tools()).tools}
        assert len(tools) == 13, sorted(tools)
        for tool in tools.values():
            assert tool.input_schema["type"] == "object" and tool.output_schema and tool.annotations, tool
        assert tools["read_file"].annotations.read_only_hint and tools["terminate_sandbox"].annotations.destructive_hint
        assert not tools["create_sandbox"].annotations.destructive_hint
        mine = {"test": str(uuid.uuid4())}
        made = await call(c, "create_sandbox", metadata=mine, idle_timeout="10m")
        sandbox = made.structured_content["sandbox_id"]
        listed = await call(c, "list_sandboxes", metadata=mine)
        assert [s["sandbox_id"] for s in listed.structured_content["sandboxes"]] == [sandbox], listed
        templates = await call(c, "list_templates")
        assert any(t["template_id"] == "default" and "python" in t["runtimes"] for t in templates.structured_content["templates"]), templates
        await files(c, sandbox)
        await code(c, sandbox)
        await bad_input(c, sandbox)
        await progress(c, sandbox)
        if target.startswith("http"):
            await installing(c, sandbox, {"auto": "4.9.0", "legacy": "4.10.0"}[mode])
        await cancellation(c, sandbox)
        await call(c, "terminate_sandbox", sandbox_id=sandbox)
        await refused(c, "terminate_sandbox", "session_ended", sandbox_id=sandbox)
        print("revision", c.protocol_version)
    await asyncio.gather(*(conversation(target, mode, i) for i in range(conversations)))
    print("ok")


asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
