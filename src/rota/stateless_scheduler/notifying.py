"""Controllers are notified of what happens to their actions. What they must record first waits until they
have recorded it.

kept(batch, instructions) ──► Placed ──► the controller records it ──► start, to dispatch
                          ──► Running, Waiting
                          ──► Ended ───► the controller keeps it ────► settled, with the agent
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from rota.backends.backend import TaskEnded, TaskRef, TaskReport
from rota.control.reports import Reports
from rota.dispatch.dispatcher import Dispatcher
from rota.lifecycle.instructions import Instruction, StartTask, StopTask
from rota.lifecycle.state import EndReason, JobState, Phase
from rota.model.ids import JobId
from rota.model.plan import Plan
from rota.stateless_scheduler.actions import Action, Book, Seat
from rota.store.writing.batch import Attempt, Batch
from rota.views.wording import reason_text
from rota.wire import controllers_pb2 as wire

_ACTIONS_A_MESSAGE = 1_000


class Notifier:
    """Follows the transactor, in the place of the dispatcher."""

    dispatcher: Dispatcher
    run_anew: Callable[[Action], None]
    """Runs an action again whose end was lost with its agent, before its controller had recorded it."""

    def __init__(
        self,
        book: Book,
        jobs: Mapping[JobId, JobState],
        reports: Reports,
        now_ms: Callable[[], int],
        is_told_again: Callable[[TaskRef], bool],
        node_lost: Callable[[], None],
    ) -> None:
        """`jobs`: all that are unfinished, as they stand. `is_told_again`: an agent is to tell everything of
        a task once more, its end as the last. `node_lost`: a look at the nodes is worth while."""
        self._book = book
        self._jobs = jobs
        self._reports = reports
        self._now_ms = now_ms
        self._is_told_again = is_told_again
        self._node_lost = node_lost

    # -- what happened

    def kept(self, batch: Batch, instructions: Sequence[Instruction]) -> None:
        ended = {one.job: one for one in batch.attempts if one.ended_ms is not None}
        former = {state.id for state in batch.jobs if self._is_former(state)}
        for attempt in batch.attempts:
            if attempt.job not in former:
                self._tell_running(attempt)
        for state in batch.jobs:
            action = None if state.id in former else self._book.jobs.get(state.id)
            if state.is_over and action is not None:
                self._tell_end(action, state, ended.pop(state.id, None))
            elif action is not None:
                self.tell_if_it_waits_again(action, state)
        for attempt in ended.values():
            # It runs again, or nobody is to be told: there is nothing that a controller had to keep.
            self.dispatcher.settle([_ref(attempt)], attempt.node)
            if attempt.end is not None and attempt.end.reason is EndReason.LOST:
                self._node_lost()
        self.dispatcher.carry_out(self._without_unrecorded(instructions, former))

    def _is_former(self, state: JobState) -> bool:
        """Its controller has left and come back while this was kept, and has named its action anew."""
        action = self._book.jobs.get(state.id)
        return action is not None and action.number != state.number

    def _tell_running(self, attempt: Attempt) -> None:
        action = self._book.jobs.get(attempt.job)
        if action is None or attempt.started_ms is None or action.running_fence == attempt.fence:
            return
        self.tell_running(action, attempt.fence, attempt.started_ms)

    def tell_running(self, action: Action, fence: int, at_ms: int) -> None:
        action.running_fence = fence
        self._tell(action, wire.SchedulerNews(running=wire.Running(ref=ref_of(action, fence), at_ms=at_ms)))

    def _tell_end(self, action: Action, state: JobState, attempt: Attempt | None) -> None:
        action.end = _ended(action, state, attempt)
        action.unsettled = None if attempt is None else (_ref(attempt), attempt.node)
        if attempt is None or not self._is_told_again(_ref(attempt)):
            self.tell_end(action)

    def tell_end(self, action: Action) -> None:
        assert action.end is not None
        action.end_told_by = action.outbox
        self._tell(action, wire.SchedulerNews(ended=action.end))

    def _without_unrecorded(
        self, instructions: Sequence[Instruction], former: Collection[JobId]
    ) -> list[Instruction]:
        placed: dict[str, list[Action]] = {}
        others: list[Instruction] = []
        for one in instructions:
            action = None if one.job in former else self._book.jobs.get(one.job)
            if isinstance(one, StartTask):
                # Without an action its controller has left meanwhile: a stop follows, and nothing starts.
                if action is not None:
                    action.start = one
                    placed.setdefault(action.controller, []).append(action)
                continue
            if isinstance(one, StopTask) and action is not None and action.start is not None:
                # No agent has heard of it, which is what they will say.
                self._recorded(action)
            others.append(one)
        for name, actions in placed.items():
            self.tell_placed(self._book.seats[name], actions)
        return others

    def tell_placed(self, seat: Seat, actions: Sequence[Action]) -> None:
        now_ms = self._now_ms()
        for action in actions:
            seat.unrecorded.setdefault(action.id, now_ms)
        for at in range(0, len(actions), _ACTIONS_A_MESSAGE):
            placements = [_placement(one) for one in actions[at : at + _ACTIONS_A_MESSAGE]]
            seat.tell(wire.SchedulerNews(placed=wire.Placed(placements=placements)))

    def _recorded(self, action: Action) -> None:
        action.start = None
        action.reason = ""
        self._book.seat_of(action).unrecorded.pop(action.id, None)

    # -- what controllers have recorded

    def recorded(self, actions: Sequence[tuple[Action, int]]) -> None:
        """With the fence that each was placed under. What isn't the latest is of no use any more."""
        starts = []
        for action, fence in actions:
            if action.start is not None and action.start.fence == fence:
                starts.append(action.start)
                self._recorded(action)
        self.dispatcher.carry_out(starts)

    def settle(self, action: Action) -> None:
        """Its end is kept, or nobody wants to know."""
        if action.unsettled is not None:
            ref, node = action.unsettled
            self.dispatcher.settle([ref], node)

    async def keep(self, reports: Sequence[TaskReport]) -> Sequence[TaskReport]:
        """What agents report. An end that is told again is passed on again: its controller hasn't kept it."""
        new = []
        for report in reports:
            action = self._book.jobs.get(report.ref.job)
            if action is None or action.end is None or action.end.ref.fence != report.ref.fence:
                new.append(report)
            elif isinstance(report, TaskEnded) and not self._is_told_again(report.ref):
                self._hear_end_again(action, report)
        return await self._reports.keep(new)

    def _hear_end_again(self, action: Action, report: TaskEnded) -> None:
        is_lost = report.end.reason is EndReason.LOST
        if not is_lost or action.end_told_by is action.outbox:
            self.tell_end(action)
        elif action.outbox is not None:
            self.run_anew(action)

    # -- why they wait

    def tell_reasons(self, plan: Plan) -> None:
        """As far as they are new."""
        for entry in plan.waiting:
            reason = "; ".join(dict.fromkeys(reason_text(one.reason) for one in entry.verdict.refusals))
            by_seat: dict[str, list[str]] = {}
            for job_id in entry.jobs:
                action, state = self._book.jobs.get(job_id), self._jobs.get(job_id)
                if action is None or state is None or state.live:
                    # Told to wait, its controller would forget where it was placed since.
                    continue
                if action.reason != reason:
                    action.reason = reason
                    by_seat.setdefault(action.controller, []).append(action.id)
            for name, actions in by_seat.items():
                for at in range(0, len(actions), _ACTIONS_A_MESSAGE):
                    waiting = wire.Waiting(actions=actions[at : at + _ACTIONS_A_MESSAGE], reason=reason)
                    self._book.seats[name].tell(wire.SchedulerNews(waiting=waiting))

    def tell_if_it_waits_again(self, action: Action, state: JobState) -> None:
        if state.phase is Phase.PENDING and state.cause is not None:
            self.tell_it_waits(action, state.message or f"it waits again: {state.cause.value}")

    def tell_it_waits(self, action: Action, reason: str) -> None:
        action.reason = reason
        self._tell(action, wire.SchedulerNews(waiting=wire.Waiting(actions=[action.id], reason=reason)))

    def _tell(self, action: Action, news: wire.SchedulerNews) -> None:
        """One who is back and hasn't named it yet is told then: it may lack what came before this."""
        if action.outbox is not None:
            action.outbox.tell(news)


def ref_of(action: Action, fence: int) -> wire.ActionRef:
    return wire.ActionRef(action=action.id, fence=fence)


def _ref(attempt: Attempt) -> TaskRef:
    return TaskRef(attempt.job, attempt.rank, attempt.fence)


def _placement(action: Action) -> wire.Placement:
    start = action.start
    assert start is not None
    return wire.Placement(action=action.id, fence=start.fence, node=start.node, gpu_devices=start.gpu_devices)


def _ended(action: Action, state: JobState, attempt: Attempt | None) -> wire.Ended:
    end = None if attempt is None else attempt.end
    message = end.message if end is not None else ""
    told = wire.Ended(
        ref=ref_of(action, state.fence if attempt is None else attempt.fence),
        outcome=state.phase.value,
        message=message or state.message or (state.cause.value if state.cause else ""),
        ended_ms=state.ended_ms or 0,
    )
    if attempt is not None and attempt.started_ms is not None:
        told.started_ms = attempt.started_ms
    if end is not None:
        told.reason = end.reason.value
        told.cpu_ms, told.max_memory_bytes = end.used.cpu_ms, end.used.max_memory_bytes
        if end.exit_code is not None:
            told.exit_code = end.exit_code
        if end.signal is not None:
            told.signal = end.signal
    return told
