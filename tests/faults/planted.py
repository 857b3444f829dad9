"""Bugs that somebody could make, planted into the running code for a moment: each has to be caught.

`python -m tests.faults.planted` tries them all, and tells which is caught after how many seeds, and by what.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from multiprocessing import Pool
from typing import Any
from unittest.mock import patch

from msgspec import Struct
from msgspec.structs import replace

from rota.backends.backend import TaskEnded, TaskReturned
from rota.control.controller import Controller
from rota.control.draft import Draft
from rota.control.feed import Feed
from rota.control.memory import Memory
from rota.control.reports import Reports
from rota.control.rooms import StandbyRooms
from rota.dispatch.dispatcher import Dispatcher
from rota.faults import wire
from rota.faults.agent import Agent
from rota.faults.scenario import scenario
from rota.faults.world import World
from rota.lifecycle import again, failure, live, placing, tasks
from rota.lifecycle.instructions import StartTask, StopTask
from rota.lifecycle.state import JobState, LiveTask, TaskPhase
from rota.store.batch import Batch
from rota.store.errors import StoreUnavailable

MOST_SEEDS = 1000

Plant = Callable[[], Any]
"""Makes a context in which the bug is there."""


class Caught(Struct, frozen=True):
    bug: str
    seeds: int
    """How many it took; 0: it wasn't caught."""
    by: str = ""


def find(bug: str, first_seed: int = 1, most_seeds: int = MOST_SEEDS) -> Caught:
    with BUGS[bug]():
        for count in range(1, most_seeds + 1):
            violation = World(scenario(first_seed + count - 1)).run().violation
            if violation is not None:
                return Caught(bug, count, str(violation))
    return Caught(bug, 0)


# -- control


@contextmanager
def acknowledges_before_commit() -> Iterator[None]:
    turn = Controller._turn

    async def hasty(self: Controller, taken: list[Any]) -> None:
        for asked in taken:
            if not asked.is_repeatable and not asked.answer.done():
                try:
                    asked.answer.set_result(asked.command(Draft(self.memory, self.now_ms(), self._chance)))
                except Exception as error:
                    asked.answer.set_exception(error)
        await turn(self, taken)

    with patch.object(Controller, "_turn", hasty):
        yield


@contextmanager
def carries_out_before_commit() -> Iterator[None]:
    keep = Controller._keep

    async def hasty(self: Controller, batch: Batch) -> int:
        last_seq = self.feed.last_seq + len(batch.events)
        try:
            return await keep(self, batch)
        except StoreUnavailable:
            # Taken for kept, whatever the store says.
            return last_seq

    with patch.object(Controller, "_keep", hasty):
        yield


@contextmanager
def memory_stays_behind() -> Iterator[None]:
    async def no_reload(self: Controller, taken: list[Any]) -> bool:
        self._is_behind = False
        return True

    with patch.object(Controller, "_reload", no_reload):
        yield


@contextmanager
def feed_skips_what_it_did_not_publish() -> Iterator[None]:
    follow = Feed.follow

    def forgetful(self: Feed, after_seq: int, wanted: Any) -> Any:
        return follow(self, max(after_seq, self.last_seq), wanted)

    with patch.object(Feed, "follow", forgetful):
        yield


@contextmanager
def reports_are_given_up() -> Iterator[None]:
    keep = Reports.keep

    async def once(self: Reports, reports: Sequence[Any]) -> list[Any]:
        if self._controller.fault:
            return []
        return await keep(self, reports)

    with patch.object(Reports, "keep", once):
        yield


@contextmanager
def clocks_of_nodes_are_believed() -> Iterator[None]:
    with patch("rota.control.reports._believed_ms", lambda report, state, now_ms: min(report.at_ms, now_ms)):
        yield


@contextmanager
def attempts_are_not_kept() -> Iterator[None]:
    sealed = Draft.sealed

    def without_some(self: Draft) -> Batch:
        batch = sealed(self)
        batch.attempts = [one for one in batch.attempts if one.end is None or not one.end.succeeded]
        return batch

    with patch.object(Draft, "sealed", without_some):
        yield


@contextmanager
def dependents_are_lost_at_a_restart() -> Iterator[None]:
    load = Memory.load

    def forgetful(self: Memory, loaded: Any) -> None:
        load(self, loaded)
        self._dependents.clear()

    with patch.object(Memory, "load", forgetful):
        yield


# -- rooms


@contextmanager
def stopping_tasks_have_no_room() -> Iterator[None]:
    """Released when it is told to stop, and once more when it has."""

    def holds_room(task: LiveTask) -> bool:
        return task.phase not in (TaskPhase.STANDBY, TaskPhase.STOPPING)

    with patch.object(LiveTask, "holds_room", property(holds_room)):
        yield


@contextmanager
def standby_rooms_are_given_twice() -> Iterator[None]:
    with patch.object(StandbyRooms, "heirs", lambda self, before, after: []):
        yield


@contextmanager
def evicted_rooms_go_to_those_on_standby() -> Iterator[None]:
    with patch.object(Memory, "standing_by", lambda self, job_id, node: []):
        yield


@contextmanager
def evicted_rooms_are_given_early() -> Iterator[None]:
    def carry_out(self: Dispatcher, instructions: Any) -> None:
        for instruction in instructions:
            self._note(instruction)

    with patch.object(Dispatcher, "carry_out", carry_out):
        yield


# -- lifecycle


@contextmanager
def fences_are_not_checked() -> Iterator[None]:
    def position_of(state: JobState, rank: int, fence: int) -> int:
        for position, task in enumerate(state.live):
            if task.rank == rank:
                return position
        return real(state, rank, fence)

    def attempt(self: Draft, before: JobState, rank: int, fence: int) -> Any:
        task = before.task(rank)
        assert task is not None
        return real_attempt(self, before, rank, task.fence)

    real, real_attempt = live.position_of, Draft._attempt
    with patch.object(tasks, "position_of", position_of), patch.object(Draft, "_attempt", attempt):
        yield


@contextmanager
def fences_begin_anew() -> Iterator[None]:
    def job_waits(state: JobState, at_ms: int, **changes: Any) -> Any:
        return real(replace(state, fence=0), at_ms, **changes)

    real = again.job_waits
    with patch.object(again, "job_waits", job_waits):
        yield


@contextmanager
def lost_tasks_are_not_queued_again() -> Iterator[None]:
    def lost(state: JobState, live: Any, end: Any, at_ms: int) -> Any:
        advanced = real(state, live, end, at_ms)
        # Left as it was, without its task: neither does it run nor is it waiting.
        return replace(advanced, state=replace(advanced.state, phase=state.phase, held=True))

    real = tasks._lost
    with patch.object(tasks, "_lost", lost):
        yield


@contextmanager
def retries_have_no_pause() -> Iterator[None]:
    with patch.object(failure, "pause_ms", lambda retry, retries, chance: 0):
        yield


@contextmanager
def gangs_start_without_all_of_them() -> Iterator[None]:
    def bound(state: JobState, event: Any, at_ms: int) -> Any:
        return real(state, replace(event, seats=event.seats[: max(1, len(event.seats) - 1)]), at_ms)

    real = placing.bound
    with patch("rota.lifecycle.advance.bound", bound), patch.object(placing, "_run_together", _anything):
        yield


# -- dispatch


@contextmanager
def reports_are_settled_before_they_are_kept() -> Iterator[None]:
    init = Dispatcher.__init__

    def hasty(self: Dispatcher, backends: Any, jobs: Any, keep: Any) -> None:
        async def settle_and_keep(reports: Sequence[Any]) -> Any:
            over = [one.ref for one in reports if isinstance(one, TaskEnded | TaskReturned)]
            for backend in backends:
                await backend.settle(over)
            return await keep(reports)

        init(self, backends, jobs, settle_and_keep)

    with patch.object(Dispatcher, "__init__", hasty):
        yield


@contextmanager
def starts_are_lost_at_a_restart() -> Iterator[None]:
    reconcile, carry_out = Dispatcher.reconcile, Dispatcher.carry_out

    async def forgetful(self: Dispatcher) -> list[Any]:
        def some(instructions: Any) -> None:
            carry_out(self, [one for one in instructions if not isinstance(one, StartTask)])

        with patch.object(self, "carry_out", some):
            return await reconcile(self)

    with patch.object(Dispatcher, "reconcile", forgetful):
        yield


@contextmanager
def unreachable_backends_lose_stops() -> Iterator[None]:
    send = Dispatcher._send

    async def careless(self: Dispatcher, backend: Any, instructions: Any, settled: Any) -> None:
        await send(self, backend, instructions, settled)
        left = self._to_do.get(backend.name, [])
        self._to_do[backend.name] = [one for one in left if not isinstance(one, StopTask)]

    with patch.object(Dispatcher, "_send", careless):
        yield


@contextmanager
def gone_tasks_are_not_missed() -> Iterator[None]:
    reconcile = Dispatcher.reconcile

    async def forgetful(self: Dispatcher) -> list[Any]:
        await reconcile(self)
        return []

    with patch.object(Dispatcher, "reconcile", forgetful):
        yield


@contextmanager
def repeated_starts_count_as_never_sent() -> Iterator[None]:
    take_up = Dispatcher._take_up

    async def forgetful(self: Dispatcher) -> Any:
        return _Unremembered(await take_up(self))

    with patch.object(Dispatcher, "_take_up", forgetful):
        yield


class _Unremembered(set[Any]):
    """Known to whoever reconciles, and to nobody after that."""

    def __contains__(self, ref: object) -> bool:
        caller = sys._getframe(1).f_code.co_name
        return caller != "_never_sent" and super().__contains__(ref)


@contextmanager
def unreachable_backends_lose_instructions() -> Iterator[None]:
    send = Dispatcher._send

    async def careless(self: Dispatcher, backend: Any, instructions: Any, settled: Any) -> None:
        await send(self, backend, instructions, settled)
        self._to_do.pop(backend.name, None)

    with patch.object(Dispatcher, "_send", careless):
        yield


# -- leases and agents


@contextmanager
def leases_last_as_long_as_nodes_are_waited_for() -> Iterator[None]:
    """And not a little less: off by one beat."""
    with patch.object(wire, "KILLS_AFTER_S", wire.LOST_AFTER_S + wire.BEAT_S):
        yield


@contextmanager
def leases_are_renewed_by_beats_without_answers() -> Iterator[None]:
    say = Agent._say

    def hopeful(self: Agent, message: Any) -> None:
        if isinstance(message, wire.Beat | wire.Hello):
            self._renew_lease(message.sent_s)
        say(self, message)

    with patch.object(Agent, "_say", hopeful):
        yield


@contextmanager
def agents_forget_their_tasks_at_a_restart() -> Iterator[None]:
    go_down = Agent.go_down

    def forgetful(self: Agent, power_is_lost: bool = False, is_wiped: bool = False) -> None:
        go_down(self, power_is_lost, is_wiped)
        self._tasks = {}

    with patch.object(Agent, "go_down", forgetful):
        yield


def _anything(*_: object) -> None:
    pass


BUGS: Mapping[str, Plant] = {
    plant.__name__.replace("_", " "): plant
    for plant in (
        acknowledges_before_commit,
        carries_out_before_commit,
        memory_stays_behind,
        feed_skips_what_it_did_not_publish,
        reports_are_given_up,
        clocks_of_nodes_are_believed,
        attempts_are_not_kept,
        dependents_are_lost_at_a_restart,
        stopping_tasks_have_no_room,
        standby_rooms_are_given_twice,
        evicted_rooms_go_to_those_on_standby,
        evicted_rooms_are_given_early,
        fences_are_not_checked,
        fences_begin_anew,
        lost_tasks_are_not_queued_again,
        retries_have_no_pause,
        gangs_start_without_all_of_them,
        reports_are_settled_before_they_are_kept,
        starts_are_lost_at_a_restart,
        gone_tasks_are_not_missed,
        repeated_starts_count_as_never_sent,
        unreachable_backends_lose_instructions,
        unreachable_backends_lose_stops,
        leases_last_as_long_as_nodes_are_waited_for,
        leases_are_renewed_by_beats_without_answers,
        agents_forget_their_tasks_at_a_restart,
    )
}


def main() -> int:
    parser = argparse.ArgumentParser(description="Which planted bugs are caught, after how many seeds.")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--seeds", type=int, default=MOST_SEEDS, help="after so many a bug has escaped")
    parser.add_argument("bugs", nargs="*", help="some of them; none: all")
    asked = parser.parse_args()
    chosen = [bug for bug in BUGS if not asked.bugs or bug in asked.bugs]
    missed = 0
    with Pool(asked.processes, maxtasksperchild=1) as pool:
        width = max(map(len, BUGS))
        print(f"{'bug':{width}}  seeds  caught by")
        for caught in pool.imap(_find, [(bug, asked.seeds) for bug in chosen], chunksize=1):
            missed += not caught.seeds
            seeds = str(caught.seeds) if caught.seeds else "–"
            print(f"{caught.bug:{width}}  {seeds:>5}  {caught.by or 'NOTHING'}", flush=True)
    print(f"{len(chosen) - missed} of {len(chosen)} planted bugs are caught")
    return 1 if missed else 0


def _find(asked: tuple[str, int]) -> Caught:
    bug, most_seeds = asked
    return find(bug, most_seeds=most_seeds)


if __name__ == "__main__":
    sys.exit(main())
