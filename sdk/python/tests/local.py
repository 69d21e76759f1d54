"""Starts a local server. YURT_END chooses its end: with the block, at the end of the program, or by a kill."""

from __future__ import annotations

import asyncio
import os
import signal

from yurt import AsyncSandbox, Sandbox, UnavailableError, Yurt


def gone(url: str) -> None:
    try:
        Yurt(url, patience=0.1).version()
        print("the server is still there")
    except UnavailableError:
        pass


async def awaited() -> str:
    async with await AsyncSandbox.create(local=True) as sandbox:
        print((await sandbox.run_command("echo hello")).stdout, end="", flush=True)
        return sandbox._client.url


def main(end: str) -> None:
    if end == "await":
        return gone(asyncio.run(awaited()))
    sandbox = Sandbox.create(local=True)
    print(sandbox.run_command("echo hello").stdout, end="", flush=True)
    if end == "kill":
        with sandbox:
            pass
        gone(sandbox._client.url)
    if end in ("crash", "term"):
        os.kill(os.getpid(), signal.SIGKILL if end == "crash" else signal.SIGTERM)


try:
    main(os.environ["YURT_END"])
except UnavailableError as error:
    print("refused:", error.field)
