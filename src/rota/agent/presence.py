"""Being there, on one connection: hello, heartbeats, and the lease that they renew.

    hello ──► … welcome ──► heartbeat ──► acknowledged ──► heartbeat ──► …

It decides what to send and when, and what follows from each answer. Sending and receiving is done elsewhere:
a thread with a gRPC channel, or a simulated network.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import structlog
from msgspec import Struct

from rota import __version__
from rota.agent.lease import LeaseHolder
from rota.agent.session import Session, rest_url
from rota.backends.agents.messages import INPUT, PROTOCOL, node_to, refs_to
from rota.backends.backend import TaskRef
from rota.clock import now_ms, since_boot_ms
from rota.model.ids import NodeName
from rota.model.node import Node
from rota.wire import agents_pb2 as wire

log = structlog.get_logger()

WELCOME_WITHIN_MS = 10_000
_MISSED = 4
"""After this many heartbeats without an answer the connection counts as lost, even if TCP reports no
error."""
_SHORTEST_HEARTBEAT_MS = 50


class Looks(Protocol):
    def look(self) -> Node:
        """What the machine has to offer, as it is now."""


class Listener(Protocol):
    """Who does what the server wants."""

    async def has(self) -> Sequence[TaskRef]:
        """All that isn't settled. Whatever was to be started before has been, or never will be."""

    def begins(self, session: Session, kept: Sequence[TaskRef]) -> None: ...
    def ordered(self, session: Session, order: wire.AgentOrders) -> None: ...
    def ends(self, session: Session) -> None: ...


class Agent(Struct):
    """The agent's identity, which it sends on every connection."""

    name: NodeName
    instance: str
    machine: Looks
    lease: LeaseHolder
    message: str = ""
    """Problems of this machine that the agent knows of."""
    is_draining: bool = False


class Presence:
    def __init__(self, agent: Agent, target: str, kept: Sequence[TaskRef], listener: Listener) -> None:
        """`kept`: the tasks that the agent has. The first message lists them."""
        self._agent = agent
        self._target = target
        self._kept = kept
        self._listener = listener
        self._session: Session | None = None
        self._terms = wire.Welcome(heartbeat_ms=WELCOME_WITHIN_MS)
        self._hurries = False
        self._number = 0
        """Of the latest heartbeat; the hello is 0."""
        self._sent_ms: dict[int, int] = {}
        """By number, on the clock since boot: those that weren't acknowledged yet."""
        self._due_ms = 0
        self._round_trip_ms = 0
        self._heard_ms = since_boot_ms()

    @property
    def was_welcome(self) -> bool:
        return self._session is not None

    # -- what is said

    def hello(self) -> wire.AgentNews:
        agent = self._agent
        self._heard_ms = self._sends(0)
        hello = wire.Hello(
            protocol=PROTOCOL,
            version=__version__,
            name=agent.name,
            instance=agent.instance,
            node=node_to(agent.machine.look(), agent.message),
            tasks=refs_to(self._kept),
            clock_ms=now_ms(),
            draining=agent.is_draining,
            features=[INPUT],
        )
        return wire.AgentNews(hello=hello)

    def hurry(self) -> None:
        """The next heartbeat is due now."""
        self._hurries = True

    def wait_ms(self) -> int:
        """How long nothing has to be done."""
        return 0 if self._hurries else max(0, self._due_ms - since_boot_ms())

    def heartbeat_if_due(self) -> wire.AgentNews | None:
        if not self.was_welcome or self.wait_ms() > 0:
            self._hurries = False
            return None
        self._hurries = False
        agent = self._agent
        node = node_to(agent.machine.look(), agent.message)
        self._number += 1
        self._sends(self._number)
        heartbeat = wire.Heartbeat(
            number=self._number,
            node=node,
            clock_ms=now_ms(),
            round_trip_ms=self._round_trip_ms,
            draining=agent.is_draining,
        )
        return wire.AgentNews(heartbeat=heartbeat)

    def is_silent(self) -> bool:
        """Nothing has come for so long that nothing will."""
        allowed_ms = _MISSED * self._heartbeat_ms if self.was_welcome else WELCOME_WITHIN_MS
        return since_boot_ms() - self._heard_ms >= allowed_ms

    @property
    def _heartbeat_ms(self) -> int:
        return max(_SHORTEST_HEARTBEAT_MS, self._terms.heartbeat_ms)

    def _sends(self, number: int) -> int:
        at_ms = self._sent_ms[number] = since_boot_ms()
        self._due_ms = at_ms + self._heartbeat_ms
        return at_ms

    # -- what is heard

    def hears(self, order: wire.AgentOrders) -> None:
        kind = order.WhichOneof("order")
        if self._session is None:
            if kind == "welcome":
                self._welcomed(order.welcome)
        elif kind == "acknowledged":
            self._acknowledged(self._session, order.acknowledged.number)
        elif kind != "welcome":
            self._listener.ordered(self._session, order)

    def ends(self) -> None:
        """The connection has."""
        if self._session is not None:
            self._session.is_open = False
            self._listener.ends(self._session)

    def _welcomed(self, welcome: wire.Welcome) -> None:
        self._terms = welcome
        self._heard_ms = since_boot_ms()
        self.hurry()
        url = rest_url(self._target, welcome.rest_host, welcome.rest_port, welcome.rest_tls)
        lease = self._agent.lease.renew(self._sent_ms[0], welcome.lease_ms, welcome.grace_ms)
        self._session = Session(
            self._target,
            welcome.session,
            url,
            lease,
            certificate_sha256=welcome.rest_certificate_sha256,
        )
        log.info("agent.connected", server=self._target, name=self._agent.name)
        self._listener.begins(self._session, self._kept)

    def _acknowledged(self, session: Session, number: int) -> None:
        """One that was never sent, or was acknowledged before, says nothing."""
        sent_ms = self._sent_ms.get(number)
        if sent_ms is None:
            return
        self._heard_ms = since_boot_ms()
        self._round_trip_ms = self._heard_ms - sent_ms
        # Another thread may be sending the next one.
        for earlier in list(self._sent_ms):
            if earlier <= number:
                del self._sent_ms[earlier]
        session.lease = self._agent.lease.renew(sent_ms, self._terms.lease_ms, self._terms.grace_ms)
