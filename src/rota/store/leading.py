"""Leading, where several servers share a database."""

from __future__ import annotations

from rota.store.sql import leases
from rota.store.sql.connections import Connections
from rota.store.sql.leases import Claim, Leadership, Lease


class ServerLeases:
    """Every method may be called from any thread, and raises StoreUnavailable when the database can't be used
    now, StoreRefused where it can't be shared."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    @property
    def is_shared(self) -> bool:
        """Whether several servers can use the database, of which one leads."""
        return self._connections.database.leases is not None

    def lead(self, claim: Claim, ttl_ms: int) -> Leadership | None:
        """For so long, unless another does. From then on all that is written through these connections
        carries the leadership's token, and raises StoreFenced once another leads."""
        with self._connections.lease() as connection:
            leadership = leases.take(connection, claim, ttl_ms)
        if leadership is not None:
            self._connections.write_as(leadership)
        return leadership

    def renew(self, leadership: Leadership, ttl_ms: int) -> bool:
        """For so long from now. False: another leads."""
        with self._connections.lease() as connection:
            return leases.renew(connection, leadership, ttl_ms)

    def resign(self, leadership: Leadership) -> None:
        """Others needn't wait for its end."""
        with self._connections.lease() as connection:
            leases.give_up(connection, leadership)

    def leader(self, name: str) -> Lease | None:
        """Who leads, or did last."""
        with self._connections.lease() as connection:
            return leases.find(connection, name)
