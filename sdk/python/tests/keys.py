"""A server that requires API keys: the SDK reads YURT_API_KEY. A refused key, and a key that is revoked while a stream is followed, are
typed errors. YURT_KEY_ID names the key of YURT_API_KEY, YURT_READER_KEY may only read, YURT_ADMIN_KEY revokes."""

from __future__ import annotations

import asyncio
import os
import urllib.request
from typing import Any, Callable

from yurt import AccessError, AsyncSandbox, AsyncYurt, InvalidArgumentError, Sandbox, Yurt, YurtError

ENDLESS = "import time\nwhile True:\n    print('on', flush=True)\n    time.sleep(0.1)"


def refused(kind: type[YurtError], code: str, field: str | None, call: Callable[[], Any]) -> None:
    try:
        got = call()
    except kind as error:
        assert (error.code, error.field) == (code, field), f"{error!r} has {error.code} of {error.field}; expected {code} of {field}"
        assert "yurt_a" not in str(error), f"{error} tells the key; expected no word of it"
        return
    raise AssertionError(f"{got!r} was returned; expected {code} of {field}")


def revoke() -> None:
    request = urllib.request.Request(
        f"{os.environ['YURT_SERVER']}/api/v1/keys/{os.environ['YURT_KEY_ID']}", method="DELETE",
        headers={"authorization": f"Bearer {os.environ['YURT_ADMIN_KEY']}"},
    )
    urllib.request.urlopen(request).close()


def keys(box: Sandbox) -> None:
    assert box.run_code("6 * 7", language="python").value == 42
    with box.pty("echo ready") as terminal:
        assert terminal.read() == b"ready\r\n"
    refused(AccessError, "unauthenticated", None, lambda: Sandbox.create(client=Yurt(api_key="yurt_" + "a" * 40)))
    refused(AccessError, "unauthenticated", None, lambda: Yurt(api_key="yurt_x").send("GET", "/api/v1/sessions"))
    refused(AccessError, "forbidden", None, lambda: Sandbox.create(client=Yurt(api_key=os.environ["YURT_READER_KEY"])))
    refused(InvalidArgumentError, "invalid_argument", "api_key", lambda: Yurt(api_key="yurt_a\nb"))
    refused(InvalidArgumentError, "invalid_argument", "api_key", lambda: Yurt(api_key="yurt_aé"))
    key = os.environ.pop("YURT_API_KEY")
    refused(AccessError, "unauthenticated", None, lambda: Sandbox.connect(box.id))
    os.environ["YURT_API_KEY"] = key


async def followed(box: Sandbox, follows: asyncio.Event) -> str:
    """Follows an execution with the key until an error ends that, and returns its code."""
    async with AsyncYurt() as client:
        again = await AsyncSandbox.connect(box.id, client=client)
        try:
            async for event in await again.stream_code(ENDLESS, language="python", context="other"):
                if event.type == "stdout":
                    follows.set()
        except AccessError as error:
            return error.code
    return "it ended"


async def revoked(box: Sandbox) -> None:
    follows = asyncio.Event()
    task = asyncio.create_task(followed(box, follows))
    await follows.wait()
    stream = box.stream_code(ENDLESS, language="python")
    assert [next(stream).type, next(stream).type] == ["started", "stdout"]
    revoke()

    def drain() -> None:
        for _ in stream:
            pass

    await asyncio.to_thread(refused, AccessError, "unauthenticated", None, drain)
    assert await task == "unauthenticated", f"an awaited stream ends with {task.result()}; expected unauthenticated"
    refused(AccessError, "unauthenticated", None, lambda: box.run_command("true"))
    with Yurt(api_key=os.environ["YURT_ADMIN_KEY"]) as admin:
        left = Sandbox.connect(box.id, client=admin)
        assert stream.id and left.execution(stream.id).record().state == "running", "the execution ended with the key of its caller"
        left.kill()


sandbox = Sandbox.create()
keys(sandbox)
asyncio.run(revoked(sandbox))
print("all refused")
