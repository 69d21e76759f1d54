"""Sandboxes for untrusted code.

    from yurt import Sandbox

    with Sandbox.create() as sandbox:
        print(sandbox.run_code("6 * 7").text)
"""

from . import models, tools
from ._async.accounts import AsyncAuditLog, AsyncKeys, AsyncTenants
from ._async.client import AsyncYurt
from ._async.execution import AsyncExecution
from ._async.parts import AsyncNodes, AsyncPools, AsyncTemplates
from ._async.sandbox import AsyncSandbox
from ._async.terminal import AsyncTerminal
from ._sync.accounts import AuditLog, Keys, Tenants
from ._sync.client import Yurt
from ._sync.execution import Execution
from ._sync.parts import Nodes, Pools, Templates
from ._sync.sandbox import Sandbox
from ._sync.terminal import Terminal
from .errors import (
    AccessError, CodeFailedError, ConflictError, InvalidArgumentError, NotFoundError, OverloadedError, PreconditionError, ServerError,
    UnavailableError, YurtError,
)
from .results import CreatedKey, Display, Event, LogEntry, Logs, Result

__all__ = [
    "AccessError", "AsyncAuditLog", "AsyncExecution", "AsyncKeys", "AsyncNodes", "AsyncPools", "AsyncSandbox", "AsyncTemplates",
    "AsyncTenants", "AsyncTerminal", "AsyncYurt", "AuditLog", "CodeFailedError", "ConflictError", "CreatedKey", "Display", "Event",
    "Execution", "InvalidArgumentError", "Keys", "LogEntry", "Logs", "Nodes", "NotFoundError", "OverloadedError", "Pools", "PreconditionError", "Result", 
    "Sandbox", "ServerError", "Templates", "Tenants", "Terminal", "UnavailableError", "Yurt", "YurtError", "models", "tools",
]
