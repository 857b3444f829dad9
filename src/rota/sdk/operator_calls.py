"""Calls that operators make: nodes, queues, the calendar, agents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from rota.api.cluster import (
    AgentDocument,
    InvitationDocument,
    MaintenanceDocument,
    NodeDocument,
    QueueDocument,
    ReservationDocument,
)
from rota.api.documents import ChangeDocument, Page
from rota.api.plugins import PluginDocument
from rota.api.service import ReloadDocument
from rota.model.calendar import QueueMode
from rota.sdk.call import Call, delete, get, if_match, listed, segment, send, sent, stated


class OperatorCalls:
    """What operators ask of the cluster."""

    @listed
    def nodes(self, *, limit: int | None = None, after: str | None = None) -> Call[Page[NodeDocument]]:
        return get("/nodes", Page[NodeDocument], limit=limit, after=after)

    @sent
    def node(self, name: str) -> Call[NodeDocument]:
        return get(f"/nodes/{segment('name', name)}", NodeDocument)

    @sent
    def set_node(
        self,
        name: str,
        *,
        cordoned: bool | None = None,
        draining: bool | None = None,
        taints: Sequence[str] | None = None,
        message: str | None = None,
        version: str | None = None,
        dry_run: bool = False,
    ) -> Call[NodeDocument]:
        """Change the given fields only. A taint looks like "dedicated=ml:NoSchedule". With the `version` that
        was read, it raises Conflict if the node was changed meanwhile."""
        body = stated(cordoned=cordoned, draining=draining, taints=taints, message=message)
        call = send("PATCH", f"/nodes/{segment('name', name)}", body, NodeDocument, dry_run=dry_run)
        return if_match(call, version)

    @listed
    def queues(self, *, limit: int | None = None, after: str | None = None) -> Call[Page[QueueDocument]]:
        return get("/queues", Page[QueueDocument], limit=limit, after=after)

    @sent
    def set_queue(
        self, name: str, state: QueueMode, *, message: str = "", dry_run: bool = False
    ) -> Call[QueueDocument]:
        """Open, pause or close a queue. Users see the message as the reason."""
        body = {"state": state, "message": message}
        return send("PUT", f"/queues/{segment('name', name)}", body, QueueDocument, dry_run=dry_run)

    @listed
    def plugins(self, *, limit: int | None = None, after: str | None = None) -> Call[Page[PluginDocument]]:
        """Plugins of the scheduler, and what went wrong with them since the server started."""
        return get("/plugins", Page[PluginDocument], limit=limit, after=after)

    @listed
    def maintenance(
        self, *, limit: int | None = None, after: str | None = None
    ) -> Call[Page[MaintenanceDocument]]:
        return get("/maintenance", Page[MaintenanceDocument], limit=limit, after=after)

    @sent
    def set_maintenance(
        self,
        name: str,
        start: datetime | str,
        *,
        end: datetime | str | None = None,
        lasting: str | None = None,
        nodes: Sequence[str] | None = None,
        dry_run: bool = False,
    ) -> Call[MaintenanceDocument]:
        """Announce maintenance of some nodes, or all. Give either its `end`, or how long it is `lasting`."""
        body = stated(start=start, end=end, nodes=nodes) | stated(**{"for": lasting})
        return send(
            "PUT", f"/maintenance/{segment('name', name)}", body, MaintenanceDocument, dry_run=dry_run
        )

    @sent
    def remove_maintenance(self, name: str, *, dry_run: bool = False) -> Call[ChangeDocument]:
        return delete(f"/maintenance/{segment('name', name)}", ChangeDocument, dry_run=dry_run)

    @listed
    def reservations(
        self, *, limit: int | None = None, after: str | None = None
    ) -> Call[Page[ReservationDocument]]:
        return get("/reservations", Page[ReservationDocument], limit=limit, after=after)

    @sent
    def set_reservation(
        self,
        name: str,
        start: datetime | str,
        *,
        nodes: Sequence[str],
        tenants: Sequence[str],
        end: datetime | str | None = None,
        lasting: str | None = None,
        resources: Mapping[str, object] | None = None,
        gpus: int | None = None,
        dry_run: bool = False,
    ) -> Call[ReservationDocument]:
        """Keep nodes, or with `resources` or `gpus` shares of them, for tenants ("vision", "vision/ada")."""
        body = stated(start=start, end=end, nodes=nodes, tenants=tenants, resources=resources, gpus=gpus)
        body |= stated(**{"for": lasting})
        return send(
            "PUT", f"/reservations/{segment('name', name)}", body, ReservationDocument, dry_run=dry_run
        )

    @sent
    def remove_reservation(self, name: str, *, dry_run: bool = False) -> Call[ChangeDocument]:
        return delete(f"/reservations/{segment('name', name)}", ChangeDocument, dry_run=dry_run)

    @listed
    def agents(self, *, limit: int | None = None, after: str | None = None) -> Call[Page[AgentDocument]]:
        return get("/agents", Page[AgentDocument], limit=limit, after=after)

    @sent
    def invite_agent(
        self,
        *,
        name: str | None = None,
        pool: str | None = None,
        labels: Mapping[str, str] | None = None,
        taints: Sequence[str] | None = None,
        price_per_hour: str | None = None,
        dry_run: bool = False,
    ) -> Call[InvitationDocument]:
        """The answer holds the token that one machine can join with, which is never shown again."""
        body = stated(name=name, pool=pool, labels=labels, taints=taints, price_per_hour=price_per_hour)
        return send("POST", "/agents/tokens", body, InvitationDocument, dry_run=dry_run)

    @sent
    def revoke_agent(self, name: str, *, dry_run: bool = False) -> Call[ChangeDocument]:
        return send("POST", f"/agents/{segment('name', name)}/revoke", None, ChangeDocument, dry_run=dry_run)

    @sent
    def reload_server(self, *, dry_run: bool = False) -> Call[ReloadDocument]:
        """Let the server read its policy and settings again."""
        return send("POST", "/server/reload", {}, ReloadDocument, dry_run=dry_run)
