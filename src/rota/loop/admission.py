"""Jobs that can never start are refused when they come in, with what would have to change.

Asked of the cluster as it would be with nothing else in it. Equal jobs are asked about once, until a node
comes, goes or changes what it has.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from rota.control.errors import BadInput
from rota.control.memory import Memory
from rota.engine.explain import explain
from rota.intake.submissions import Submission
from rota.lifecycle.advance import submitted
from rota.loop.live import LiveLoop
from rota.model.cluster import ClusterRecords
from rota.model.explanation import Explanation
from rota.model.ids import JobId, NodeName
from rota.model.job import JobTemplate
from rota.model.node import Node, NodeSpec
from rota.model.run import JobSpec
from rota.model.verdict import Kind
from rota.snapshot.state import snapshot_of
from rota.views.wording import reason_text, remedy_text

REMEMBERED = 10_000
_ASKED = JobId("asked")


class Admission:
    def __init__(self, memory: Memory, live: LiveLoop) -> None:
        self._memory = memory
        self._live = live
        self._nodes: dict[NodeName, NodeSpec] = {}
        self._fine: set[JobTemplate] = set()

    def check(self, submission: Submission, now_ms: int) -> None:
        """Raises BadInput for the first that can't. A cluster without nodes refuses nobody: some may come."""
        nodes = list(self._memory.nodes())
        if not nodes:
            return
        self._forget_if_changed(nodes)
        for index, entry in enumerate(submission.entries):
            spec = entry.spec
            # When it may start is its own matter; all else it has in common with those like it.
            is_timed = bool(spec.start_before_ms or spec.deadline_ms or spec.template.reservation)
            if spec.template in self._fine and not is_timed:
                continue
            explanation = self._explained(spec, nodes, now_ms)
            if explanation.verdict is not None and explanation.verdict.kind is Kind.NEVER:
                raise _refusal(index, explanation)
            if len(self._fine) >= REMEMBERED:
                self._fine.clear()
            self._fine.add(spec.template)

    def _forget_if_changed(self, nodes: Iterable[Node]) -> None:
        specs = {node.name: node.spec for node in nodes}
        if specs != self._nodes:
            self._nodes = specs
            self._fine.clear()

    def _explained(self, spec: JobSpec, nodes: Iterable[Node], now_ms: int) -> Explanation:
        alone = replace(spec, held=False, depends_on=(), template=replace(spec.template, connect_to=""))
        record = submitted(_ASKED, 1, alone, now_ms).state.record()
        records = ClusterRecords(tuple(nodes), jobs=(record,), calendar=self._memory.calendar)
        policy = self._live.policy
        with self._live.plugins() as plugins:
            return explain(snapshot_of(records, policy.defaults), policy, now_ms, plugins, _ASKED)


def _refusal(index: int, explanation: Explanation) -> BadInput:
    assert explanation.verdict is not None
    reasons = dict.fromkeys(reason_text(refusal.reason) for refusal in explanation.verdict.refusals)
    remedies = [remedy_text(remedy) for remedy in explanation.remedies]
    return BadInput(
        f"jobs[{index}]",
        f"it can never start here: {'; '.join(reasons)}",
        f"it could if you {' or '.join(remedies)}" if remedies else "ask for less, or for other nodes",
    )
