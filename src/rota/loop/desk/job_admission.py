"""Jobs that can never start are refused when they come in, with what would have to change; unless it is only
a matter of nodes, and they, or the policy, say that they wait for such.

The check assumes an empty cluster. Equal jobs are checked once, until a node is added, removed or changed. If
the check takes too long, the job is accepted unchecked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import structlog
from msgspec.structs import replace

from rota.control.access import Who
from rota.control.allowing import Allowing
from rota.control.errors import BadInput, Unavailable
from rota.control.memory import Memory
from rota.engine.budget import Budget
from rota.engine.explaining.explain import explain
from rota.engine.scope import scheduler_for
from rota.intake.submissions import Submission
from rota.lifecycle.advance import submitted
from rota.loop.desk.question_pool import Questions
from rota.loop.live.loop import LiveLoop
from rota.model.cluster import ClusterRecords
from rota.model.explanation import Explanation
from rota.model.ids import JobId, NodeName
from rota.model.job import JobTemplate
from rota.model.node import Node, NodeSpec
from rota.model.run import JobSpec
from rota.model.verdict import Kind
from rota.snapshot.state import snapshot_of
from rota.views.wording import reason_text, remedy_text

log = structlog.get_logger()

REMEMBERED = 10_000
_ASKED = JobId("asked")


class Admission:
    def __init__(self, memory: Memory, live: LiveLoop, questions: Questions, allowing: Allowing) -> None:
        self._memory = memory
        self._allowing = allowing
        self._live = live
        self._questions = questions
        self._shown: Mapping[NodeName, Node] = {}
        self._specs: dict[NodeName, NodeSpec] = {}
        self._fine: set[JobTemplate] = set()

    async def check(self, submission: Submission, who: Who, now_ms: int) -> None:
        """Raises BadInput for the first that can't. A cluster without nodes refuses no job: nodes may still
        join."""
        if not self._memory.shown:
            return
        self._forget_if_changed()
        asked = enumerate(entry.spec for entry in submission.entries)
        unknown = [(index, spec) for index, spec in asked if not _is_among(self._fine, spec)]
        if not unknown:
            return
        specs = self._specs
        records = ClusterRecords(tuple(self._memory.nodes()), calendar=self._memory.calendar)
        try:
            fine = await self._questions.ask(who.user, partial(self._asked, unknown, records, who, now_ms))
        except Unavailable as error:
            log.warning("admission.skipped", user=who.user, jobs=len(unknown), why=error.message)
            return
        if self._specs is specs:
            if len(self._fine) + len(fine) > REMEMBERED:
                self._fine.clear()
            self._fine.update(fine)

    def _forget_if_changed(self) -> None:
        if self._shown is not self._memory.shown:
            self._shown = self._memory.shown
            specs = {node.name: node.spec for node in self._shown.values()}
            if specs != self._specs:
                self._specs = specs
                self._fine.clear()

    def _asked(
        self,
        unknown: Sequence[tuple[int, JobSpec]],
        records: ClusterRecords,
        who: Who,
        now_ms: int,
        budget: Budget,
    ) -> set[JobTemplate]:
        """In another thread: those that can start."""
        fine: set[JobTemplate] = set()
        for index, spec in unknown:
            if budget.is_spent:
                log.warning("admission.skipped", jobs=len(unknown) - len(fine), why="time was up")
                break
            if _is_among(fine, spec):
                continue
            explanation = self._explained(spec, records, now_ms, budget)
            verdict = explanation.verdict
            if verdict is not None and verdict.kind is Kind.NEVER:
                if verdict.awaits_nodes and self._may_wait_for_nodes(spec):
                    continue
                raise _refusal(index, self._allowing.allowed_help(explanation, spec.template, who))
            fine.add(spec.template)
        return fine

    def _may_wait_for_nodes(self, spec: JobSpec) -> bool:
        scheduler = scheduler_for(spec.template, self._live.policy.schedulers)
        return spec.wait_for_nodes or (scheduler is not None and scheduler.wait_for_nodes)

    def _explained(self, spec: JobSpec, records: ClusterRecords, now_ms: int, budget: Budget) -> Explanation:
        alone = replace(spec, held=False, depends_on=(), template=replace(spec.template, connect_to=""))
        record = submitted(_ASKED, 1, alone, now_ms).state.record()
        policy = self._live.policy
        snapshot = snapshot_of(replace(records, jobs=(record,)), policy.defaults)
        with self._live.plugins() as plugins:
            return explain(snapshot, policy, now_ms, plugins, _ASKED, budget)


def _is_among(fine: set[JobTemplate], spec: JobSpec) -> bool:
    # When it may start is its own matter; all else it has in common with those like it.
    is_timed = bool(spec.start_before_ms or spec.deadline_ms or spec.template.reservation)
    return spec.template in fine and not is_timed


def _refusal(index: int, explanation: Explanation) -> BadInput:
    assert explanation.verdict is not None
    reasons = dict.fromkeys(reason_text(refusal.reason) for refusal in explanation.verdict.refusals)
    remedies = [remedy_text(remedy) for remedy in explanation.remedies]
    help = f"it could if you {' or '.join(remedies)}" if remedies else "ask for less, or for other nodes"
    if explanation.verdict.awaits_nodes:
        help += "; or let it wait for a node that will do, with --wait-for-nodes"
    return BadInput(f"jobs[{index}]", f"it can never start here: {'; '.join(reasons)}", help)
