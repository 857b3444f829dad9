"""Machines with agents around one host that they all dial, and one run of them: what every world has.

Who sits at that host, and who gives it work, is up to the world: a server in `world.py`, a scheduler in
`scheduler/world.py`.
"""

from __future__ import annotations

import asyncio
import gc
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, Generic, TypeVar

import structlog
from msgspec import Struct

from rota.backends.agents.terms import Terms
from rota.backends.backend import TaskStart
from rota.model.node import Node
from tests.faults.event_loop import Endless, VirtualLoop
from tests.faults.kernel import Fate
from tests.faults.machine import Machine, MachineClock
from tests.faults.network import Network
from tests.faults.onlooker import Onlooker, Violation
from tests.faults.sockets import Host
from tests.faults.troubles import FAULTS_S, AnyScenario

BEGINNING_MS = 1_800_000_000_000
TERMS = Terms(lost_after_ms=6_000)
LEASE_PERIODS = 2
LONGEST_PAUSE_S = 30.0
"""Of an agent that was refused, before it dials again: half of a lease period in production, five of them
here."""
LOOKS_EACH_S = 0.1
FAILURES = frozenset(
    (
        "command.failed",
        "cycle.failed",
        "job.quarantine_failed",
        "scheduler.part_failed",
        "server.part_failed",
        "report.failed",
        "forecast.failed",
        "store.rejected",
    )
)
"""What is logged when something is wrong with the one who logs it, and not with what is around it."""

W = TypeVar("W", bound=Onlooker)


class Result(Struct):
    scenario: AnyScenario
    violation: Violation | None
    trace: list[str]
    digest: str
    steps: int
    lasted_s: float


class Cluster(ABC, Generic[W]):
    def __init__(
        self,
        chosen: AnyScenario,
        centre: str,
        nodes: Sequence[Node],
        make_witness: Callable[[Callable[[], float]], W],
    ) -> None:
        """`centre`: the host that all dial."""
        seed = chosen.seed
        self.scenario = chosen
        self.slowest_s = 0.002
        """Of what is done in threads."""
        self._threads = Random(f"{seed} threads")
        self.loop = VirtualLoop(Random(f"{seed} order"), lambda: self.slowest_s * self._threads.random())
        self.witness = make_witness(self.loop.time)
        self.network = Network(self.loop, Random(f"{seed} network"))
        self.clock_off_ms: dict[str | None, int] = {}
        self.hosts: dict[str, Host] = {}
        self._centre = centre
        self._folder = TemporaryDirectory(prefix="rota-faults-", dir=in_memory())
        self._host = Host(centre, self.network, self.hosts)
        self._clock = MachineClock(centre, self.loop, self.clock_ms)
        self.machines = {node.name: self._machine(node) for node in nodes}

    def clock_ms(self, where: str | None = None) -> int:
        """None: at the centre."""
        return BEGINNING_MS + int(self.loop.time() * 1000) + self.clock_off_ms.get(where, 0)

    def run(self) -> Result:
        with _without_garbage_collection(), _logging(self._logged):
            try:
                self.loop.run_until_complete(self._live())
            except Endless as error:
                self.witness.broken("I5", str(error))
            lasted_s = self.loop.time()
            result = Result(
                self.scenario,
                self.witness.violation,
                list(self.witness.trace),
                self.witness.digest(),
                self.loop.steps,
                lasted_s,
            )
            self._bury()
        return result

    async def _live(self) -> None:
        for machine in self.machines.values():
            machine.come_up()
        self._begin()
        while self.loop.time() < FAULTS_S and self.witness.violation is None:
            await asyncio.sleep(LOOKS_EACH_S)
        self._calm()
        patience_s = LEASE_PERIODS * TERMS.lost_after_ms / 1000 + LONGEST_PAUSE_S + self._work_left_s()
        self.witness.note(f"the faults are over; the rest may take {patience_s:.1f} s")
        ends_s = self.loop.time() + patience_s
        while (left := self._left()) and self.witness.violation is None:
            if self.loop.time() > ends_s:
                self.witness.broken("I5", f"after {patience_s:.1f} s: {'; '.join(left)}")
            await asyncio.sleep(LOOKS_EACH_S)
        for failure in self.loop.exceptions:
            self.witness.broken("I0", f"nobody caught this: {failure}")
        if self.witness.violation is None:
            self._judge()

    def _bury(self) -> None:
        for machine in self.machines.values():
            machine.end()
        self.loop.lay_to_rest()
        self._folder.cleanup()

    def _logged(self, event: MutableMapping[str, Any]) -> None:
        if event["event"] in FAILURES:
            why = event.get("why") or repr(event.get("exc_info"))
            self.witness.broken("I0", f"{event['event']}: {why}")

    # -- what each world has of its own

    @abstractmethod
    def _begin(self) -> None:
        """All who are there beside machines, the work, and what goes wrong."""

    @abstractmethod
    def _calm(self) -> None:
        """Nothing goes wrong any more, all are up, and what would never end is told to."""

    @abstractmethod
    def _work_left_s(self) -> float:
        """If it were all done one after the other, and had to be tried as often as it may."""

    @abstractmethod
    def _left(self) -> list[str]:
        """What there is to wait for."""

    def _unsettled(self) -> list[str]:
        return [
            f"{name} has {len(machine.unsettled)} unsettled"
            for name, machine in self.machines.items()
            if machine.unsettled
        ]

    @abstractmethod
    def _judge(self) -> None:
        """What can only be said at the end."""

    # -- nodes

    def _machine(self, node: Node) -> Machine:
        return Machine(
            node,
            Host(node.name, self.network, self.hosts),
            Path(self._folder.name, node.name),
            [self._centre],
            Random(f"{self.scenario.seed} {node.name}"),
            partial(self.clock_ms, node.name),
            self._fate,
            self.witness,
            self.loop,
        )

    def _fate(self, start: TaskStart) -> Fate:
        """The same for the same task, whatever else happens."""
        chance = Random(f"{self.scenario.seed} {start.ref.job} {start.ref.rank} {start.ref.fence}")
        _, longest_ms, fails_per_mille = start.run.command
        failed = chance.randrange(1000) < int(fails_per_mille)
        run_s = int(longest_ms) / 1000 * (0.2 + 0.8 * chance.random())
        return Fate(run_s, int(failed), is_stubborn=chance.random() < 0.15)


def in_memory() -> str | None:
    """Where files are made and synced in no time; None: nowhere."""
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


@contextmanager
def _without_garbage_collection() -> Iterator[None]:
    """Whenever it comes it ends generators that nobody holds any more. What these do then takes steps of the
    loop: two runs would differ."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@contextmanager
def _logging(hear: Callable[[MutableMapping[str, Any]], None]) -> Iterator[None]:
    """Logs go to whoever watches, and nowhere else."""

    def heard(logger: object, name: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        hear(event)
        raise structlog.DropEvent

    before = structlog.get_config()
    structlog.configure(processors=[heard], cache_logger_on_first_use=False)
    try:
        yield
    finally:
        structlog.configure(**before)
