"""Queues: who waits in them, and whether they are open."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rota.api.cluster import QueueDocument
from rota.control.access import Who
from rota.control.draft import Draft
from rota.control.transactor import Transactor
from rota.engine.scope import queue_named
from rota.lifecycle.state import Phase
from rota.loop.live.forecaster import time_of
from rota.loop.live.loop import LiveLoop
from rota.model.calendar import QueueMode, QueueState
from rota.model.ids import QueueName
from rota.model.policy import Policy


def _timeout_s(queue: str, policy: Policy) -> float | None:
    """Of the first scheduler that has the queue; a queue that none names works like the default one."""
    having = [one for one in policy.schedulers if queue in {known.name for known in one.queues}]
    for scheduler in having or policy.schedulers[:1]:
        timeout_ms = queue_named(queue, scheduler).timeout_ms
        timeout_ms = scheduler.timeout_ms if timeout_ms is None else timeout_ms
        return None if timeout_ms is None else timeout_ms / 1000
    return None


class QueuesDesk:
    def __init__(self, transactor: Transactor, live: LiveLoop) -> None:
        self._transactor = transactor
        self._memory = transactor.memory
        self._live = live

    async def queues(self) -> Sequence[QueueDocument]:
        placed = (self._memory.jobs[job_id] for job_id in self._memory.on_nodes)
        running = Counter(one.spec.template.queue for one in placed if one.phase is not Phase.PENDING)
        oldest: dict[QueueName, int] = {}
        for state in self._memory.jobs.values():
            queue = state.spec.template.queue
            if state.phase is Phase.PENDING:
                oldest[queue] = min(oldest.get(queue, state.submitted_ms), state.submitted_ms)
        policies = {queue.name: queue for one in self._live.policy.schedulers for queue in one.queues}
        names = dict.fromkeys((*policies, *self._memory.queues, *self._memory.pending, *running))
        now_ms = self._transactor.now_ms()
        return [
            QueueDocument(
                name=name,
                state=known.mode if (known := self._memory.queues.get(QueueName(name))) else QueueMode.OPEN,
                since=time_of(known.since_ms) if known else None,
                message=known.message if known else "",
                interactive=name in policies and policies[name].interactive,
                waiting=self._memory.pending.get(QueueName(name), 0),
                running=running[QueueName(name)],
                longest_wait_s=(now_ms - oldest[QueueName(name)]) / 1000 if name in oldest else None,
                timeout_s=_timeout_s(name, self._live.policy),
            )
            for name in names
        ]

    async def set_queue(self, state: QueueState, who: Who, dry_run: bool = False) -> None:
        def command(draft: Draft) -> None:
            draft.batch.queues.append(state)
            draft.note("queue.Changed", state.name, who.user, state)

        await self._transactor.do(command, dry_run)
