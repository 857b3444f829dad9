"""What controllers say, carried out: actions are submitted, recorded, kept, cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence

import structlog

from rota.backends.backend import TaskRef
from rota.control.transactor import Transactor
from rota.dispatch.dispatcher import Dispatcher
from rota.lifecycle.state import EndReason, Phase
from rota.loop.live.loop import LiveLoop
from rota.model.ids import NodeName
from rota.stateless_scheduler.actions import Action, Book, Seat
from rota.stateless_scheduler.answering import Answering, refuse, unknown
from rota.stateless_scheduler.commands import Command, adopting, cancelling, giving_up
from rota.stateless_scheduler.inputs import InputFiles
from rota.stateless_scheduler.intake import ActionRefused, Asked, Intake
from rota.stateless_scheduler.notifying import Notifier
from rota.stateless_scheduler.outbox import Outbox
from rota.stateless_scheduler.pool import ActionsBackend
from rota.wire import controllers_pb2 as wire

log = structlog.get_logger()

MOST_ACTIONS = 100_000
"""Of one controller."""
RECORD_WITHIN_MS = 30_000
"""A controller that takes longer to record a placement is taken for gone."""
_NEVER_BEGUN = (EndReason.NOT_STARTED.value, EndReason.STAGING.value)


class Directing:
    def __init__(
        self,
        book: Book,
        transactor: Transactor,
        live: LiveLoop,
        dispatcher: Dispatcher,
        backend: ActionsBackend,
        telling: Notifier,
        files: InputFiles,
        record_within_ms: int = RECORD_WITHIN_MS,
    ) -> None:
        self.record_within_ms = record_within_ms
        self._book = book
        self._transactor = transactor
        self._memory = transactor.memory
        self._dispatcher = dispatcher
        self._backend = backend
        self._notifier = telling
        telling.run_anew = self._run_anew
        self._files = files
        self._intakes = {name: Intake(name, live.policy.defaults) for name in book.seats}
        self._under_way: set[asyncio.Task[object]] = set()
        self.answering = Answering(transactor, live)

    # -- who comes and goes

    def arrive(self, name: str) -> tuple[Seat, Outbox]:
        """A connection that the same controller had before ends."""
        seat = self._book.seats[name]
        if seat.outbox is not None:
            self.leave(seat, seat.outbox, "the controller has connected again")
        seat.outbox = Outbox()
        log.info("controller.connected", controller=name, actions=len(seat.actions))
        return seat, seat.outbox

    def leave(self, seat: Seat, outbox: Outbox, why: str = "") -> None:
        """What waits leaves the queue, with placements that weren't recorded: the controller submits it
        again. What runs goes on, and what has ended waits at the agents."""
        outbox.close(why)
        if seat.outbox is not outbox:
            return
        seat.outbox, seat.is_complete, seat.left_ms = None, False, self._transactor.now_ms()
        waiting = [action for action in seat.actions.values() if not self._is_placed(action)]
        for action in seat.actions.values():
            action.outbox = None
        self._give_up(waiting, "its controller has left")
        log.info("controller.disconnected", controller=seat.name, why=why, actions=len(seat.actions))

    def _is_placed(self, action: Action) -> bool:
        if action.end is not None or action.is_coming:
            return True
        state = self._memory.jobs.get(action.job)
        return state is not None and bool(state.live) and action.start is None

    def review(self) -> None:
        """To be called now and then. One who records nothing would keep room from others."""
        now_ms = self._transactor.now_ms()
        for seat in self._book.seats.values():
            if seat.outbox is None:
                self._review_absent(seat, now_ms)
            elif seat.unrecorded and now_ms - next(iter(seat.unrecorded.values())) > self.record_within_ms:
                within_s = self.record_within_ms / 1000
                self.leave(seat, seat.outbox, f"a placement wasn't recorded within {within_s:g} s")
        self._backend.review_claims()

    def _review_absent(self, seat: Seat, now_ms: int) -> None:
        if self._book.is_abandoned(seat, now_ms):
            if seat.actions:
                log.warning("controller.abandoned", controller=seat.name, actions=len(seat.actions))
            self._give_up(list(seat.actions.values()), "its controller hasn't come back")
        else:
            # What was lost with its agent meanwhile.
            waiting = [action for action in seat.actions.values() if not self._is_placed(action)]
            self._give_up(waiting, "its controller has left")

    def _give_up(self, actions: Sequence[Action], why: str) -> None:
        cancelled = []
        for action in actions:
            self._remove(action)
            if action.end is None:
                cancelled.append(giving_up(action, why))
        if cancelled:
            self._do(cancelled)

    def _do(self, commands: Sequence[Command]) -> None:
        task: asyncio.Task[object] = asyncio.create_task(self._transactor.do_each(commands))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    def _remove(self, action: Action) -> None:
        self._notifier.settle(action)
        self._book.remove(action)
        self._files.release(action.spec.run.files)

    # -- what they say

    async def submit(self, seat: Seat, message: wire.Submit) -> None:
        """Each by itself: one that can't be says nothing of the others."""
        outbox = seat.outbox
        taken: list[Command] = []
        claims: list[tuple[TaskRef, NodeName]] = []
        for said in message.actions:
            try:
                asked = self._intakes[seat.name].read(said, self._transactor.now_ms())
                self._take(seat, said, asked, taken, claims)
            except ActionRefused as refused:
                refuse(seat, said.id, refused)
        if taken:
            await self._transactor.do_each(taken)
        self._claim(claims)
        if message.complete and seat.outbox is outbox:
            self._has_named_all(seat)

    def _claim(self, claims: Sequence[tuple[TaskRef, NodeName]]) -> None:
        for ref, node in claims:
            self._dispatcher.expect(node, self._backend.name)
            if (action := self._book.jobs.get(ref.job)) is not None:
                action.is_coming = False
        self._backend.claim(claims)

    def _take(
        self,
        seat: Seat,
        said: wire.Action,
        asked: Asked,
        taken: list[Command],
        claims: list[tuple[TaskRef, NodeName]],
    ) -> None:
        assert seat.outbox is not None
        action = seat.actions.get(said.id)
        is_known = action is not None
        if action is None:
            action = self._add(seat, said.id, asked)
        elif action.spec != asked.spec:
            raise ActionRefused("id", "is another action's", "give each its own")
        elif action.outbox is seat.outbox:
            return
        action.outbox = seat.outbox
        place = asked.place
        if place is not None:
            action.set_output_bytes(place.fence, said.output_bytes)
        state = self._memory.job(action.job)
        fence = 0 if state is None else state.fence
        if is_known and (place is None or place.fence <= fence):
            self._go_on(seat, action)
            return
        action.start = action.end = action.unsettled = None
        action.is_coming = place is not None
        seat.unrecorded.pop(action.id, None)
        action.number = self._book.next_number()
        taken.append(adopting(action, asked))
        if place is not None:
            claims.append((TaskRef(action.job, 0, place.fence), place.node))

    def _add(self, seat: Seat, action_id: str, asked: Asked) -> Action:
        if len(seat.actions) >= MOST_ACTIONS:
            raise ActionRefused("actions", f"more than {MOST_ACTIONS:,}", "submit it when others have ended")
        if not self._files.has_room_for(asked.files):
            raise ActionRefused("files", "there is no room for more", "submit it when others have ended")
        action = Action(seat.name, action_id, asked.spec)
        if action.job in self._book.jobs:
            raise ActionRefused("id", "is the same as that of another action", "give it another")
        self._files.add(asked.files)
        self._book.add(action)
        return action

    def _go_on(self, seat: Seat, action: Action) -> None:
        """Its controller is back, and is told what it may have missed."""
        state = self._memory.job(action.job)
        if action.start is not None:
            self._notifier.tell_placed(seat, [action])
        elif action.end is not None:
            if action.unsettled is None:
                self._notifier.tell_end(action)
            elif not self._backend.tell_again(action.unsettled[0]):
                self._run_anew(action)
        elif state is not None and state.live:
            task = state.live[0]
            if task.started_ms is not None:
                self._notifier.tell_running(action, task.fence, task.started_ms)
            ref = TaskRef(action.job, 0, task.fence)
            if not self._backend.tell_again(ref):
                self._claim([(ref, task.node)])
        else:
            action.reason = ""
            if state is not None:
                self._notifier.tell_if_it_waits_again(action, state)

    def _run_anew(self, action: Action) -> None:
        """What it wrote and left went with its agent, before its controller had it: an end that isn't kept
        hasn't happened. One that was cancelled isn't to run, and one that never began has left nothing."""
        assert action.end is not None
        if action.end.outcome == Phase.CANCELLED.value or action.end.reason in _NEVER_BEGUN:
            self._notifier.tell_end(action)
            return
        log.info("action.end_lost", controller=action.controller, action=action.id)
        state = self._memory.job(action.job)
        submitted_ms = self._transactor.now_ms() if state is None else state.submitted_ms
        asked = Asked(action.spec, (), None, submitted_ms, action.end.ref.fence)
        self._notifier.settle(action)
        action.end = action.unsettled = None
        self._notifier.tell_it_waits(action, "it runs again: its agent was lost, with its output and files")
        action.number = self._book.next_number()
        self._do([adopting(action, asked)])

    def _has_named_all(self, seat: Seat) -> None:
        unnamed = [action for action in seat.actions.values() if action.outbox is not seat.outbox]
        self._give_up(unnamed, "its controller doesn't know it any more")
        seat.is_complete = True
        self._backend.review_claims()

    def recorded(self, seat: Seat, refs: Iterable[wire.ActionRef]) -> None:
        known = [(seat.actions.get(ref.action), ref.fence) for ref in refs]
        self._notifier.recorded([(action, fence) for action, fence in known if action is not None])

    def ends_kept(self, seat: Seat, refs: Iterable[wire.ActionRef]) -> None:
        for ref in refs:
            action = seat.actions.get(ref.action)
            if action is not None and action.end is not None and action.end.ref.fence == ref.fence:
                self._remove(action)

    async def cancel(self, seat: Seat, message: wire.Cancel) -> None:
        asked: list[Command] = []
        for action_id in message.actions:
            action = seat.actions.get(action_id)
            if action is None:
                refuse(seat, action_id, unknown())
            elif action.end is None:
                asked.append(cancelling(action, message.message[:1_000]))
        if asked:
            await self._transactor.do_each(asked)
