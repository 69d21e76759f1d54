"""Reads an agent's MCP configuration from standard input and requests a plot from its server with the stock Python client."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import sys
from typing import Any

from mcp import Client, StdioServerParameters

PLOT = "import matplotlib.pyplot as plt\nplt.plot([1, 4, 9])\nplt.show()"


def target(configuration: dict[str, Any]) -> str | StdioServerParameters:
    """Returns the only server of the configuration in the client's form."""
    server = (configuration.get("mcpServers") or configuration["servers"])["yurt"]
    if "url" in server:
        return server["url"]
    return StdioServerParameters(command=server["command"], args=server["args"], env={**os.environ, **server.get("env", {})})


async def main() -> None:
    async with Client(target(json.load(sys.stdin))) as client:
        drawn = await client.call_tool("run_code", {"code": PLOT, "dependencies": ["matplotlib"]})
        pictures = [base64.b64decode(part.data) for part in drawn.content if part.type == "image"]
        assert len(pictures) == 1 and pictures[0].startswith(b"\x89PNG"), drawn
        await client.call_tool("terminate_sandbox", {"sandbox_id": drawn.structured_content["sandbox_id"]})
    print("ok")


asyncio.run(main())
