"""Executes each line of standard input in an ipykernel through jupyter_client, and prints the
value of its last expression, or the MIME types of its displays. %restart starts another kernel."""

import sys

from jupyter_client.manager import start_new_kernel


def execute(client, line):
    id, value = client.execute(line), None
    while True:
        message = client.get_iopub_msg(timeout=60)
        if message["parent_header"].get("msg_id") != id:
            continue
        if message["msg_type"] == "execute_result":
            value = message["content"]["data"]["text/plain"]
        if message["msg_type"] == "display_data":
            value = " ".join(kind for kind in message["content"]["data"] if kind != "text/plain")
        if message["msg_type"] == "status" and message["content"]["execution_state"] == "idle":
            break
    client.get_shell_msg(timeout=60)
    return value


manager, client = start_new_kernel(kernel_name="python3")
try:
    for line in sys.stdin:
        if line.strip() == "%restart":
            client.stop_channels()
            manager.shutdown_kernel(now=True)
            manager, client = start_new_kernel(kernel_name="python3")
            print(None, flush=True)
            continue
        print(execute(client, line), flush=True)
finally:
    client.stop_channels()
    manager.shutdown_kernel(now=True)
