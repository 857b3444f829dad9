"""Two replicas of `rota kube-scheduler` under load, and the one that leads is killed or frozen, by seeds.

    python -m tests.real.kube.torture --strikes 50 --first-seed 1

Whatever happens to replicas: no pod is bound twice, no node holds more than it has at any moment, no gang
stays bound in part, nobody binds once another leads; and in the end everything has run.
"""

from __future__ import annotations

import argparse
import asyncio
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from random import Random
from time import monotonic

from msgspec import Struct

from rota.kube.api.client import Selection
from rota.kube.api.informer import Informer
from rota.kube.api.resources import PODS
from rota.kube.scheduling.cycle import UNDONE_AFTER_S
from rota.kube_objects.objects.pods import Pod
from tests.real.kube.audit import Account, Audit, account_of
from tests.real.kube.conftest import new_namespace
from tests.real.kube.control_plane import ControlPlane
from tests.real.kube.load import PATIENCE_S, Load
from tests.real.kube.manifests import NAME, NAMESPACE, apply, new_token, read_manifest
from tests.real.kube.pods import Place, place_in
from tests.real.kube.processes import Schedulers
from tests.real.kube.witness import Witness, gang_of

STRIKES = 5
"""Of a seed."""
NODES = 8
CPUS_OF_NODE = 32
LEASE_S = 6
"""Short, so that much happens; not so short that a busy API server loses it."""
PARTIAL_S = 2 * LEASE_S + UNDONE_AFTER_S
"""Until another leads, a second one at worst, and has undone what it can't complete."""


class Kind(Enum):
    KILLED = "killed"
    FROZEN = "frozen"
    """For longer than the lease; then it goes on."""


SIGNALS = {Kind.KILLED: signal.SIGKILL, Kind.FROZEN: signal.SIGSTOP}


class Strike(Struct, frozen=True):
    kind: Kind
    after: int
    """So many pods were bound since the strike before."""
    is_amid_crowd: bool
    """At the first binding of a large gang: others are on their way, or wait for theirs."""
    thawed_after_s: float


def drawn_strikes(seed: int, count: int = STRIKES) -> list[Strike]:
    chance = Random(seed)
    kinds = [Kind.KILLED, Kind.FROZEN, Kind.KILLED, Kind.FROZEN, Kind.KILLED]
    chance.shuffle(kinds)
    return [
        Strike(kind, chance.randint(1, 150), chance.random() < 0.7, chance.uniform(0.0, 1.0))
        for kind in kinds[:count]
    ]


class Seen(Struct, frozen=True):
    """What became of a round."""

    seed: int
    killed: int
    frozen: int
    pods: int
    gangs: int
    replaced: int
    longest_partial_s: float
    faults: tuple[str, ...]

    def __str__(self) -> str:
        head = (
            f"seed {self.seed}: {self.killed} killed, {self.frozen} frozen; {self.pods} pods, "
            f"{self.gangs} gangs, {self.replaced} pods made anew, partial for {self.longest_partial_s:.1f} s"
        )
        return "\n".join((head, *(f"    {fault}" for fault in self.faults)))


class Round:
    def __init__(self, control_plane: ControlPlane, place: Place, folder: Path, seed: int) -> None:
        self._place = place
        self._seed = seed
        self._audit = Audit(control_plane.audit_log)
        self._schedulers = Schedulers(folder, control_plane.cluster)
        self._running: dict[Account, subprocess.Popen[bytes]] = {}
        self._frozen: set[Account] = set()
        self._witness = Witness(CPUS_OF_NODE, asyncio.get_running_loop().time)
        self._load = Load(place, seed)
        self._changed = asyncio.Event()
        self._at_first_of = ""
        """Of which gang the first binding sets off what is to happen."""
        self._set_off: Callable[[], None] = lambda: None
        self._faults: list[str] = []

    async def run(self, strikes: list[Strike]) -> Seen:
        await self._place.add_nodes(*(f"n{number}" for number in range(NODES)), cpu=str(CPUS_OF_NODE))
        informer = Informer(self._place.client, PODS, Selection(self._place.namespace))
        for handler in (self._witness.changed, self._load.changed, self._pod_changed):
            informer.subscribe(handler)
        try:
            async with asyncio.TaskGroup() as tasks:
                watching = tasks.create_task(informer.run())
                await informer.synced.wait()
                for _ in range(2):
                    await self._start()
                loading = tasks.create_task(self._load.run())
                await self._strike_often(strikes)
                loading.cancel()
                await self._settle()
                watching.cancel()
        finally:
            self._schedulers.end()
        return self._seen(strikes)

    def _pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        self._changed.set()
        if self._at_first_of and new is not None and new.spec.node_name and gang_of(new) == self._at_first_of:
            self._at_first_of = ""
            self._set_off()

    async def _start(self) -> None:
        token = await new_token(self._place.client)
        self._running[account_of(token)] = self._schedulers.start(
            *("--lease-seconds", str(LEASE_S), "--metrics-bind-address", "0"),
            token=token,
            namespace=NAMESPACE,
        )

    async def _strike_often(self, strikes: list[Strike]) -> None:
        for strike in strikes:
            target = self._witness.bindings + strike.after
            await self._until(lambda target=target: self._witness.bindings >= target)  # type: ignore[misc]
            leader = await self._struck(strike)
            if strike.kind is Kind.FROZEN:
                self._frozen.add(leader)
            else:
                self._running.pop(leader).wait()
                await self._start()
            await self._until_another_binds(leader)
            if strike.kind is Kind.FROZEN:
                await asyncio.sleep(strike.thawed_after_s)
                self._running[leader].send_signal(signal.SIGCONT)

    async def _struck(self, strike: Strike) -> Account:
        """Who led until then."""
        struck: list[Account] = []

        def strike_leader() -> None:
            leader = self._audit.leader()
            assert leader is not None
            self._running[leader].send_signal(SIGNALS[strike.kind])
            struck.append(leader)

        if strike.is_amid_crowd:
            self._set_off = strike_leader
            self._at_first_of = self._load.add_crowd()
            await self._until(lambda: bool(struck))
        else:
            strike_leader()
        return struck[0]

    async def _until_another_binds(self, leader: Account) -> None:
        def another_binds() -> bool:
            now = self._audit.leader()
            return now is not None and now != leader and self._audit.bound_by(now) > 0

        await self._until(another_binds)

    async def _until(self, is_so: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not is_so():
                self._changed.clear()
                await self._changed.wait()

    async def _settle(self) -> None:
        try:
            await self._load.drain()
        except TimeoutError:
            self._faults += [f"{job} has never run" for job in self._load.unfinished()]
        self._faults += [f"{gang} is still bound in part" for gang in self._witness.partial_gangs()]
        for process in self._running.values():
            process.terminate()
        for process in self._running.values():
            ended = await asyncio.to_thread(process.wait, PATIENCE_S)
            # One that was just being started doesn't listen yet.
            if ended not in (0, -signal.SIGTERM):
                self._faults.append(f"a replica ended with {ended}:\n{self._schedulers.logs()[-4000:]}")

    def _seen(self, strikes: list[Strike]) -> Seen:
        self._audit.read()
        faults = self._faults + self._witness.faults + self._audit.bound_twice()
        faults += self._audit.asked_by_others(self._frozen)
        longest_s = self._witness.longest_partial_s
        if longest_s > PARTIAL_S:
            faults.append(f"a gang was bound in part for {longest_s:.1f} s")
        return Seen(
            seed=self._seed,
            killed=sum(strike.kind is Kind.KILLED for strike in strikes),
            frozen=sum(strike.kind is Kind.FROZEN for strike in strikes),
            pods=self._load.made,
            gangs=self._load.gangs,
            replaced=self._load.replaced,
            longest_partial_s=longest_s,
            faults=tuple(faults),
        )


async def one_round(control_plane: ControlPlane, namespace: str, seed: int, strikes: int = STRIKES) -> Seen:
    with tempfile.TemporaryDirectory(prefix="rota-torture-") as folder:
        async with place_in(control_plane.cluster, namespace) as place:
            await apply(place.client, read_manifest())
            place.scheduler_name = NAME
            return await Round(control_plane, place, Path(folder), seed).run(drawn_strikes(seed, strikes))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.real.kube.torture")
    parser.add_argument("--strikes", type=int, default=50, metavar="COUNT")
    parser.add_argument("--first-seed", type=int, default=1, metavar="SEED")
    given = parser.parse_args()
    if given.strikes < 1:
        parser.error("--strikes: at least 1")
    # Whoever ends this doesn't want to be left with a cluster.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    began_s, failed = monotonic(), 0
    rounds = -(-given.strikes // STRIKES)
    with ControlPlane(is_audited=True) as control_plane:
        for number in range(rounds):
            namespace = new_namespace(control_plane.cluster)
            strikes = min(STRIKES, given.strikes - STRIKES * number)
            seen = asyncio.run(one_round(control_plane, namespace, given.first_seed + number, strikes))
            failed += bool(seen.faults)
            print(seen, flush=True)
    took_s = monotonic() - began_s
    print(f"{rounds - failed} of {rounds} rounds passed, {given.strikes} strikes in {took_s:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
