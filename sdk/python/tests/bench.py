"""Runs a cell of a sandbox for each line on stdin: "sdk" by the SDK, "raw" by one request of http.client, which reads its JSON."""

import http.client
import json
import sys
from urllib.parse import urlsplit

from yurt import Sandbox

URL = sys.argv[1]
CELL = {"code": "6 * 7", "language": "python", "context": "default"}

with Sandbox.create("python-basic", url=URL) as sandbox:
    raw = http.client.HTTPConnection(urlsplit(URL).netloc)

    def by_sdk() -> object:
        return sandbox.run_code(**CELL).value

    def by_request() -> object:
        raw.request("POST", f"/api/v1/sessions/{sandbox.id}/execute", json.dumps(CELL), {"Content-Type": "application/json"})
        return json.loads(raw.getresponse().read())["result"]

    for line in sys.stdin:
        print({"sdk": by_sdk, "raw": by_request}[line.strip()](), flush=True)
