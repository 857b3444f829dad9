"""One run of such a scenario: the production scheduler, started by a supervisor, among its controllers."""

from __future__ import annotations

from functools import partial
from random import Random

from msgspec import Struct

from rota.stateless_scheduler.core import Scheduler
from rota.stateless_scheduler.service import ControllersService
from rota.stateless_scheduler.tokens import Tokens
from tests.faults import scenario
from tests.faults.cluster import TERMS, Cluster
from tests.faults.event_loop import OUTSIDE, Life, context_of
from tests.faults.machine import MachineClock, ProcessClock
from tests.faults.scheduler.controller import Controller, token_of
from tests.faults.scheduler.misfortune import SchedulerMisfortune
from tests.faults.scheduler.scenario import (
    CONTROLLERS,
    RECORD_WITHIN_MS,
    SCHEDULER,
    ActionScenario,
    Cancel,
    Submit,
    Work,
)
from tests.faults.scheduler.witness import ActionWitness
from tests.faults.services import serve_agents, serve_controllers
from tests.faults.sockets import Host

AGENTS = "agents"
ABANDONED_AFTER_MS = 10_000


class Process(Struct):
    life: Life
    scheduler: Scheduler


class SchedulerWorld(Cluster[ActionWitness]):
    def __init__(self, chosen: ActionScenario) -> None:
        super().__init__(chosen, SCHEDULER, scenario.nodes(AGENTS), ActionWitness)
        self.controllers = {name: self._controller(name) for name in CONTROLLERS}
        self._tokens = Tokens({name: token_of(name) for name in CONTROLLERS})
        self._chance = Random(f"{chosen.seed} {SCHEDULER}")
        self._process: Process | None = None
        self._lives = 0
        self._misfortune = SchedulerMisfortune(self)

    def _controller(self, name: str) -> Controller:
        return Controller(
            name,
            Host(name, self.network, self.hosts),
            MachineClock(name, self.loop, partial(self.clock_ms, name)),
            Random(f"{self.scenario.seed} {name}"),
            self.witness,
            self.loop,
        )

    # -- from the beginning to the end

    def _begin(self) -> None:
        self.start_scheduler()
        for controller in self.controllers.values():
            controller.start()
        self._misfortune.begin()
        for item, one in self.scenario.work:
            self.loop.call_later(one.at_s, self._do, item, one, context=OUTSIDE)

    def _do(self, item: int, one: Work) -> None:
        if isinstance(one, Submit):
            self.controllers[one.controller].submit(_id(item), one.form)
        else:
            self._cancel(one)

    def _cancel(self, one: Cancel) -> None:
        """One that was never submitted is none of anybody's."""
        of_item = dict(self.scenario.work).get(one.item)
        if of_item is not None:
            self.controllers[of_item.controller].cancel(_id(one.item))

    def _calm(self) -> None:
        self._misfortune.end()
        for name, id, form in self.witness.unfinished():
            if form.is_endless:
                self.controllers[name].cancel(id)

    def _work_left_s(self) -> float:
        return sum(form.takes_s + 0.5 for _, _, form in self.witness.unfinished())

    def _left(self) -> list[str]:
        actions = [f"{name} {id} isn't over" for name, id, _ in self.witness.unfinished()]
        return actions + self._unsettled()

    def _judge(self) -> None:
        self.witness.finished()

    # -- the scheduler, and who starts it

    def start_scheduler(self) -> None:
        """Does nothing if there is one."""
        if self._process is not None:
            return
        self._lives += 1
        life = Life(f"{SCHEDULER} {self._lives}", ProcessClock(self._clock))
        self.witness.note(f"{life.name} starts")
        context_of(life).run(self._open, life)

    def _open(self, life: Life) -> None:
        scheduler = Scheduler(
            self._tokens.controllers,
            scenario.policy(),
            TERMS,
            ABANDONED_AFTER_MS,
            self.clock_ms,
            self._chance.random,
            RECORD_WITHIN_MS,
            decided_here=lambda snapshot: False,
        )
        process = self._process = Process(life, scheduler)
        self.loop.create_task(self._serve(process), context=context_of(life))

    async def _serve(self, process: Process) -> None:
        """As `rota.stateless_scheduler.run` does it."""
        scheduler = process.scheduler
        await scheduler.start()
        serve_agents(self._host, scheduler.backend)
        serve_controllers(self._host, ControllersService(scheduler.directing, self._tokens, TERMS))
        await scheduler.failed.wait()
        self.loop.call_soon(self._ended_by_itself, process, context=OUTSIDE)

    def _ended_by_itself(self, process: Process) -> None:
        if process is self._process:
            self.witness.broken("I0", f"{process.life.name} ended by itself")

    def kill_scheduler(self, power_is_lost: bool = False) -> None:
        process, self._process = self._process, None
        if process is not None:
            self.witness.note(f"{process.life.name} is killed")
            process.life.is_over = True
            if power_is_lost:
                self._host.lose_power()
                self._clock.boots()
            else:
                self._host.end_process(process.life)


def _id(item: int) -> str:
    return f"action-{item}"
