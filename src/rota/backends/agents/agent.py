"""One agent, as the server sees it: its node, its tasks, and the connection it has at the moment."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from secrets import token_urlsafe

from msgspec.structs import replace

from rota.backends.agents.claims import believable_load, believable_memory, believable_node
from rota.backends.agents.clock import Clock
from rota.backends.agents.messages import REFS_A_MESSAGE, ref_to, refs_to
from rota.backends.agents.task import AgentTask
from rota.backends.backend import TaskRef
from rota.clock import now_ms, since_boot_ms
from rota.model.ids import NodeName
from rota.model.node import Node
from rota.wire import agents_pb2 as wire

_LONGEST_MESSAGE = 1_000
_LONGEST_VERSION = 100


class Session:
    """From an agent's hello until its connection ends, or it counts as lost."""

    def __init__(self, agent: Agent, hello: wire.Hello, node: Node, kept: set[TaskRef]) -> None:
        """`node`: what it says of itself, as far as that is believed; `kept`: the tasks that it has."""
        self.agent = agent
        self.hello = hello
        self.node = node
        self.kept = kept
        self.since_ms = agent.heard_ms
        self.is_admitted = False
        """The agent has answered the welcome."""
        self.secret = f"rota_agent_{token_urlsafe(32)}"
        self.orders: asyncio.Queue[wire.AgentOrders | None] = asyncio.Queue()
        """None: there will be no more."""
        self.closed = asyncio.Event()

    @property
    def is_closed(self) -> bool:
        return self.closed.is_set()

    def close(self) -> None:
        self.closed.set()
        self.orders.put_nowait(None)

    def offer(self, tasks: Iterable[AgentTask]) -> None:
        offered = [
            wire.Offer.Offered(ref=ref_to(task.ref), lane=task.start.lane if task.start else "")
            for task in tasks
        ]
        for at in range(0, len(offered), REFS_A_MESSAGE):
            batch = offered[at : at + REFS_A_MESSAGE]
            self.orders.put_nowait(wire.AgentOrders(offer=wire.Offer(tasks=batch)))

    def settle(self, refs: Iterable[TaskRef]) -> None:
        messages = refs_to(refs)
        for at in range(0, len(messages), REFS_A_MESSAGE):
            batch = messages[at : at + REFS_A_MESSAGE]
            self.orders.put_nowait(wire.AgentOrders(settle=wire.Settle(refs=batch)))


class Agent:
    def __init__(self, name: NodeName, heard_ms: int, clock: Clock | None = None) -> None:
        self.name = name
        self.node: Node | None = None
        """None: it has tasks of a time before this server, and may come back."""
        self._said: wire.Node | None = None
        """In the latest heartbeat, but for what is measured."""
        self.instance = ""
        self.version = ""
        self.message = ""
        self.is_draining = False
        self.heard_ms = heard_ms
        """On the server's own clock that nobody can set."""
        self.clock = clock or Clock()
        self.session: Session | None = None
        self.tasks: dict[TaskRef, AgentTask] = {}
        self.to_settle: dict[TaskRef, None] = {}
        """Until the agent says that it has forgotten them."""
        self.unclaimed: dict[TaskRef, asyncio.Event] = {}
        """What it has and nobody has asked for yet, though somebody may; set when that is decided. Nobody
        knows what room they take, so it gets nothing new."""

    def node_now(self, *, is_ready: bool) -> Node | None:
        """The same object as before if nothing has changed: most haven't when all are looked at."""
        if self.node is None:
            return None
        cordoned = self.is_draining or bool(self.unclaimed)
        if (self.node.ready, self.node.cordoned) != (is_ready, cordoned):
            self.node = replace(self.node, ready=is_ready, cordoned=cordoned)
        return self.node

    def heard(self, clock_ms: int, round_trip_ms: int) -> None:
        """`clock_ms`: what its clock showed when it said so."""
        self.heard_ms = since_boot_ms()
        self.clock.heard(clock_ms, now_ms(), round_trip_ms)

    def comes(self, hello: wire.Hello, node: Node) -> None:
        """`node`: what it says of itself, as far as that is believed."""
        self.node, self._said = node, None
        self.instance, self.version = hello.instance, hello.version[:_LONGEST_VERSION]
        self.message, self.is_draining = hello.node.message[:_LONGEST_MESSAGE], hello.draining

    def takes(self, heartbeat: wire.Heartbeat, backend: str) -> bool:
        """Whether it tells anything that has to be looked at now. Raises Refusal."""
        load_milli = believable_load(heartbeat.node.load_milli)
        used_bytes, others_bytes = believable_memory(heartbeat.node)
        # All but what is measured is what it was, nearly always: that is seen without taking it apart.
        for measured in ("load_milli", "memory_used_bytes", "memory_others_bytes"):
            heartbeat.node.ClearField(measured)
        is_news = heartbeat.draining != self.is_draining
        if self.node is None or heartbeat.node != self._said:
            node = believable_node(self.name, backend, heartbeat.node)
            is_news |= self.node is None or node.spec != self.node.spec
            self.node, self._said = node, heartbeat.node
            self.message = heartbeat.node.message[:_LONGEST_MESSAGE]
        before = (self.node.load_milli, self.node.memory_used_bytes, self.node.memory_others_bytes)
        if before != (load_milli, used_bytes, others_bytes):
            self.node = replace(
                self.node,
                load_milli=load_milli,
                memory_used_bytes=used_bytes,
                memory_others_bytes=others_bytes,
            )
        self.is_draining = heartbeat.draining
        return is_news

    def settles(self, refs: list[TaskRef]) -> None:
        self.to_settle.update(dict.fromkeys(refs))
        if self.session is not None:
            self.session.settle(refs)

    def close_session(self) -> None:
        if self.session is not None:
            self.session.close()
            self.session = None
        for task in self.tasks.values():
            if task.stream is not None:
                task.stream.close()
