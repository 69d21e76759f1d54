"""A local server, for Sandbox.create(local=True)."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import weakref

from .errors import UnavailableError

_START = 60.0  # seconds
_STOP = 30.0

# A shell supervises the server: it ends the server and removes the state when this process ends in any way.
_SUPERVISOR = """
"$0" dev --listen 127.0.0.1:0 --state-dir "$1" </dev/null & server=$!
exec >/dev/null 2>&1
read -r end
kill -TERM $server
wait $server
rm -rf "$1"
"""


class LocalServer:
    """A running `yurt dev` with its own state directory."""

    def __init__(self) -> None:
        program = os.environ.get("YURT_BIN") or shutil.which("yurt")
        if not program:
            raise UnavailableError('the program "yurt" is not installed; put it on PATH, or its path in YURT_BIN', code="unavailable", field="local")
        state = tempfile.mkdtemp(prefix="yurt-local-")
        process = subprocess.Popen(
            ["/bin/sh", "-c", _SUPERVISOR, program, state], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, errors="replace", start_new_session=True,
        )
        self._end = weakref.finalize(self, _stop, process, state)  # at the end of the interpreter, too
        self.url = self._wait(process)

    def _wait(self, process: subprocess.Popen[str]) -> str:
        """Waits for the address and then keeps reading, so that the server's output does not block."""
        lines: list[str] = []
        found = threading.Event()
        address: list[str] = []

        def read() -> None:
            for line in process.stdout or ():
                match = re.search(r"listens on (http://\S+)", line)
                if match and not address:
                    address.append(match[1])
                    found.set()
                lines[:] = [*lines[-20:], line]
            found.set()

        threading.Thread(target=read, daemon=True).start()
        found.wait(_START)
        if not address:
            self.stop()
            raise UnavailableError("yurt dev did not start:\n" + "".join(lines), code="unavailable", field="local")
        return address[0]

    def stop(self) -> None:
        """Ends the server and its sandboxes."""
        self._end()


def _stop(process: subprocess.Popen[str], state: str) -> None:
    if process.stdin:
        process.stdin.close()
    try:
        process.wait(_STOP)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    shutil.rmtree(state, ignore_errors=True)
