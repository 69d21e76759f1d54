"""Sandboxes for untrusted code.

    from yurt import Sandbox

    with Sandbox.create() as sandbox:
        print(sandbox.run_code("6 * 7").text)
"""

from . import models, tools
from ._async.client import AsyncYurt
from ._async.execution import AsyncExecution
from ._async.parts import AsyncPools, AsyncTemplates
from ._async.sandbox import AsyncSandbox
from ._async.terminal import AsyncTerminal
from ._sync.client import Yurt
from ._sync.execution import Execution
from ._sync.parts import Pools, Templates
from ._sync.sandbox import Sandbox
from ._sync.terminal import Terminal
from .errors import (
    AccessError, CodeFailedError, ConflictError, InvalidArgumentError, NotFoundError, OverloadedError, ServerError, UnavailableError, YurtError,
)
from .results import Display, Event, Result

__all__ = [
    "AccessError", "AsyncExecution", "AsyncPools", "AsyncSandbox", "AsyncTemplates", "AsyncTerminal", "AsyncYurt", "CodeFailedError", "ConflictError",
    "Display", "Event", "Execution", "InvalidArgumentError", "NotFoundError", "OverloadedError", "Pools", "Result", "Sandbox",
    "ServerError", "Templates", "Terminal", "UnavailableError", "Yurt", "YurtError", "models", "tools",
]
