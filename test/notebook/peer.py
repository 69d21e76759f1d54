"""Runs the cells of a notebook in an ipykernel through jupyter_client, and prints the outcome of
each, a JSON object a line.

    python peer.py NOTEBOOK DIRECTORY

The kernel works in the directory. The script waits for it while it lives, and fails if it is
silent for some minutes; an interrupt prints the cell for which the script waits."""

import json
import re
import shutil
import subprocess
import sys
import tempfile
from queue import Empty

from jupyter_client.manager import KernelManager

notebook, directory = sys.argv[1:]
with open(notebook, encoding="utf-8") as file:
    cells = json.load(file)["cells"]
# By sockets of Unix: two kernels that begin at the same time may choose the same ports of TCP. Their paths may have 107 bytes.
sockets = tempfile.mkdtemp(prefix="yurt-peer-")
manager = KernelManager(kernel_name="python3", transport="ipc", connection_file=sockets + "/kernel.json")
manager.start_kernel(cwd=directory, stdout=subprocess.DEVNULL)
client = manager.client()
client.start_channels()
client.wait_for_ready(timeout=None)


SILENCE = 180  # seconds without a message, after which one is lost


def hear(channel):
    """The next message of a channel."""
    for _ in range(SILENCE):
        try:
            return channel(timeout=1)
        except Empty:
            if not manager.is_alive():
                raise RuntimeError("the kernel has ended") from None
    raise RuntimeError("the kernel has sent no message for %d s" % SILENCE)


def listen():
    """Returns once the subscription works: messages that the kernel publishes before are lost."""
    while True:
        client.kernel_info()
        hear(client.get_shell_msg)
        try:
            client.get_iopub_msg(timeout=1)
            return
        except Empty:
            pass


class Outcome:
    """The displays and output of a cell so far."""

    def __init__(self):
        self.streams = {"stdout": "", "stderr": ""}
        self.displays, self.places, self.main, self.error = [], {}, None, None
        self.tracebacks = []  # tracebacks that did not end the cell
        self.clearing = False  # the next output clears the earlier ones

    def take(self, kind, content):
        if kind == "stream":
            self.cleared()
            self.streams[content["name"]] += content["text"]
        elif kind in ("display_data", "execute_result", "update_display_data"):
            self.cleared()
            self.show(kind, content["data"], content.get("transient", {}).get("display_id"))
        elif kind == "clear_output":
            self.clearing = True
            if not content["wait"]:
                self.cleared()
        elif kind == "error":
            text = re.sub(r"\x1b\[[0-9;]*m", "", "\n".join(content["traceback"]))
            self.error = {"type": content["ename"], "message": content["evalue"], "traceback": text}
            self.tracebacks.append("%s: %s" % (content["ename"], content["evalue"]))

    def cleared(self):
        if self.clearing:
            self.displays.clear()
            self.places.clear()
            self.clearing = False

    def replied(self, content):
        """Reads the kernel's reply: a cell that succeeds may have shown tracebacks."""
        if content["status"] == "ok":
            self.error = None

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
    awaited = cell["metadata"].get("awaits", "")  # written by a child process, whose output can arrive after the end
    while not idle or awaited not in outcome.streams["stdout"]:
        message = hear(client.get_iopub_msg)
        if message["parent_header"].get("msg_id") != id:
            continue
        kind, content = message["msg_type"], message["content"]
        idle = idle or kind == "status" and content["execution_state"] == "idle"
        outcome.take(kind, content)
    reply = hear(client.get_shell_msg)
    while reply["parent_header"].get("msg_id") != id:
        reply = hear(client.get_shell_msg)
    outcome.replied(reply["content"])
    return dict(outcome.streams, displays=outcome.displays, main=outcome.main, error=outcome.error, tracebacks=outcome.tracebacks)


try:
    listen()
    for number, cell in enumerate(cells, 1):
        print("cell %d of %d" % (number, len(cells)), file=sys.stderr)
        print(json.dumps(run(cell)), flush=True)
finally:
    client.stop_channels()
    manager.shutdown_kernel(now=True)
    shutil.rmtree(sockets)
