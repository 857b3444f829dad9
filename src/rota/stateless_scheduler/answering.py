"""What controllers are answered: why an action waits, and what of their own words is refused."""

from __future__ import annotations

import asyncio
from functools import partial

from msgspec import json
from msgspec.structs import replace

from rota.control.errors import Unavailable
from rota.control.transactor import Transactor
from rota.loop.desk.question_pool import Questions
from rota.loop.desk.questions import Moment, why_of
from rota.loop.live.loop import LiveLoop
from rota.stateless_scheduler.actions import Action, Seat
from rota.stateless_scheduler.intake import ActionRefused
from rota.views.seen import seen_why
from rota.views.why.document import why_document
from rota.wire import controllers_pb2 as wire

_ID_SHOWN = 200


class Answering:
    def __init__(self, transactor: Transactor, live: LiveLoop) -> None:
        self._transactor = transactor
        self._memory = transactor.memory
        self._live = live
        self._questions = Questions()
        self._under_way: set[asyncio.Task[None]] = set()

    def ask(self, seat: Seat, action_id: str) -> None:
        action = seat.actions.get(action_id)
        if action is None or action.job not in self._memory.jobs:
            refuse(seat, action_id, unknown())
            return
        task = asyncio.create_task(self._answer(seat, action))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    async def _answer(self, seat: Seat, action: Action) -> None:
        try:
            async with self._questions.turn(seat.name):
                if action.job not in self._memory.jobs:
                    raise unknown()
                moment = Moment.of(self._live, self._transactor.now_ms())
                view = await self._questions.answered(partial(why_of, moment, action.job, None, None))
                own = {one.job for one in seat.actions.values()}
                view = seen_why(view, own.__contains__)
        except ActionRefused as refused:
            refuse(seat, action.id, refused)
        except Unavailable as error:
            refuse(seat, action.id, ActionRefused("action", error.message, error.help))
        else:
            document = json.encode(why_document(replace(view, name=action.id), moment.now_ms)).decode()
            seat.tell(wire.SchedulerNews(why=wire.Why(action=action.id, document=document)))

    def close(self) -> None:
        self._questions.close()


def refuse(seat: Seat, action_id: str, refused: ActionRefused) -> None:
    news = wire.Refused(
        action=action_id[:_ID_SHOWN], field=refused.field, problem=refused.problem, remedy=refused.remedy
    )
    seat.tell(wire.SchedulerNews(refused=news))


def unknown() -> ActionRefused:
    return ActionRefused("action", "there is no such action, or it is over", "submit it first")
