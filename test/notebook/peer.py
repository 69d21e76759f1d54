"""Runs the cells of a notebook in an ipykernel, by jupyter_client, and prints what came of
each, a JSON object a line.

    python peer.py NOTEBOOK DIRECTORY

The kernel works in the directory."""

import json
import re
import subprocess
import sys
import time
from queue import Empty

from jupyter_client.manager import start_new_kernel

PATIENCE = 120  # seconds without a word

notebook, directory = sys.argv[1:]
with open(notebook, encoding="utf-8") as file:
    cells = json.load(file)["cells"]
manager, client = start_new_kernel(kernel_name="python3", startup_timeout=PATIENCE, cwd=directory, stdout=subprocess.DEVNULL)


def listen():
    """Returns once the kernel is heard: what it publishes before a subscription has come to it is lost."""
    for _ in range(PATIENCE):
        client.kernel_info()
        client.get_shell_msg(timeout=PATIENCE)
        try:
            client.get_iopub_msg(timeout=1)
            return
        except Empty:
            pass
    raise TimeoutError("the kernel answers and is not heard")


class Outcome:
    """What a cell has shown so far."""

    def __init__(self):
        self.streams = {"stdout": "", "stderr": ""}
        self.displays, self.places, self.main, self.error = [], {}, None, None

    def take(self, kind, content):
        if kind == "stream":
            self.streams[content["name"]] += content["text"]
        elif kind in ("display_data", "execute_result", "update_display_data"):
            self.show(kind, content["data"], content.get("transient", {}).get("display_id"))
        elif kind == "clear_output":
            self.displays.clear()
        elif kind == "error":
            text = re.sub(r"\x1b\[[0-9;]*m", "", "\n".join(content["traceback"]))
            self.error = {"type": content["ename"], "message": content["evalue"], "traceback": text}

    def show(self, kind, data, display_id):
        if kind == "update_display_data":
            if display_id in self.places:
                self.displays[self.places[display_id]] = data
            return
        if kind == "execute_result":
            self.main = len(self.displays)
        if display_id:
            self.places[display_id] = len(self.displays)
        self.displays.append(data)


def run(cell):
    outcome, idle = Outcome(), False
    id = client.execute("".join(cell["source"]), allow_stdin=False)
    # What a child process writes comes by another way, and may come after the end.
    awaited, deadline = cell["metadata"].get("awaits", ""), time.monotonic() + PATIENCE
    while not idle or awaited not in outcome.streams["stdout"] and time.monotonic() < deadline:
        message = client.get_iopub_msg(timeout=PATIENCE)
        if message["parent_header"].get("msg_id") != id:
            continue
        kind, content = message["msg_type"], message["content"]
        idle = idle or kind == "status" and content["execution_state"] == "idle"
        outcome.take(kind, content)
    client.get_shell_msg(timeout=PATIENCE)
    return dict(outcome.streams, displays=outcome.displays, main=outcome.main, error=outcome.error)


try:
    listen()
    for cell in cells:
        print(json.dumps(run(cell)), flush=True)
finally:
    client.stop_channels()
    manager.shutdown_kernel(now=True)
