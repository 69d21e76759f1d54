"""The API keys of a server, its tenants and their quotas, and its audit log."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal

from .. import models
from .._wire import API, given, instant, segment
from ..errors import InvalidArgumentError
from ..results import CreatedKey
from .client import AsyncYurt

_PAGE = 500


class AsyncKeys:
    """The API keys of a server, for a client whose key has the scope admin."""

    def __init__(self, client: AsyncYurt) -> None:
        self._client = client
        self._path = API + "/keys"

    async def list(self, tenant: str | None = None) -> list[models.Key]:
        """Lists keys, newest first: those of the client's tenant; an operator can name another tenant, or "*" for all."""
        pages = self._client.pages(models.KeyList, self._path, given(tenant=tenant, limit=_PAGE))
        return [key async for page in pages for key in page.keys or ()]

    async def create(
        self, scopes: Sequence[str], *, tenant: str | None = None, name: str | None = None, expires_in: float | str | None = None,
    ) -> CreatedKey:
        """Creates a key. Only this call returns its `key`."""
        body = given(scopes=scopes, tenant=tenant, name=name, expires_in=expires_in)
        return await self._client.call(CreatedKey, "POST", self._path, body=body)

    async def revoke(self, id: str) -> models.Key:
        """Revokes a key by its id, not by the key itself. Each controller refuses the key within five seconds."""
        return await self._client.call(models.Key, "DELETE", f"{self._path}/{segment(id)}")


class AsyncTenants:
    """The tenants of a server. All calls but usage and samples need an operator's key."""

    def __init__(self, client: AsyncYurt) -> None:
        self._client = client
        self._path = API + "/tenants"

    async def list(self) -> list[models.TenantUsage]:
        """Lists the tenants that have quotas, keys or sandboxes, by name."""
        pages = self._client.pages(models.TenantList, self._path, {"limit": _PAGE})
        return [tenant async for page in pages for tenant in page.tenants or ()]

    async def usage(self, tenant: str | None = None) -> models.TenantUsage:
        """Returns the quotas and the usage of the client's tenant; an operator can name another tenant."""
        return await self._client.call(models.TenantUsage, "GET", API + "/usage", params=given(tenant=tenant))

    async def samples(self, tenant: str | None = None, *, session_id: str | None = None) -> models.UsageHistory:
        """Returns the measured usage of a tenant or of one sandbox in the last 24 hours: a sample every five minutes."""
        return await self._client.call(models.UsageHistory, "GET", API + "/usage/samples", params=given(tenant=tenant, session_id=session_id))

    async def set_quotas(
        self, tenant: str, *, sessions: int | None = None, creates_per_minute: int | None = None, cpu: float | None = None,
        memory: int | str | None = None, disk: int | str | None = None, executions: int | None = None, storage: int | str | None = None,
    ) -> models.TenantUsage:
        """Replaces the quotas of a tenant. A quota that is left out has no limit."""
        body = given(
            sessions=sessions, creates_per_minute=creates_per_minute, cpu=cpu, memory=memory, disk=disk, executions=executions, storage=storage,
        )
        return await self._client.call(models.TenantUsage, "PUT", f"{self._path}/{segment(tenant)}", body=body)


class AsyncAuditLog:
    """The audit log of a server: changes, refusals and events that concern security. It needs the scope admin."""

    def __init__(self, client: AsyncYurt) -> None:
        self._client = client

    async def list(
        self, *, tenant: str | None = None, action: str | None = None, decision: Literal["allowed", "denied", "failed", "event"] | None = None,
        session_id: str | None = None, key_id: str | None = None, subject: str | None = None, request_id: str | None = None,
        since: datetime | None = None, until: datetime | None = None, limit: int | None = None,
    ) -> list[models.Entry]:
        """Lists the entries that match all arguments, newest first, at most limit of them."""
        if not isinstance(limit, (int, type(None))):
            raise InvalidArgumentError(f"it is of type {type(limit).__name__}; give a whole number", code="invalid_argument", field="limit")
        params: dict[str, Any] = given(
            tenant=tenant, action=action, decision=decision, session_id=session_id, key_id=key_id, subject=subject,
            request_id=request_id, since=instant("since", since), until=instant("until", until), limit=_PAGE if limit is None else min(limit, _PAGE),
        )
        found: list[models.Entry] = []
        async for page in self._client.pages(models.AuditList, API + "/audit", params):
            found.extend(page.entries or ())
            if limit is not None and len(found) >= limit:
                break
        return found[:limit]
