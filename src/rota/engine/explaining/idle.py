"""The cluster as it would be with nothing running and every node back: could the job ever start?

What keeps a job back only for now is left out: other jobs, nodes that are down, taints of a passing
condition, plugins' opinions, and wishes for company that may yet come.
"""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from rota.engine.compile import Compiler, topology_of
from rota.engine.outside import OutsidePlugins
from rota.engine.placing.board import Board
from rota.engine.placing.place import hardest_first, regions, rules_of, would_place
from rota.engine.placing.search import search
from rota.engine.placing.selected import GroupIndex, affinity_group
from rota.engine.placing.work import Work
from rota.engine.plugin import Concern, Plugins
from rota.engine.scope import Turn
from rota.model.job import Job, JobTemplate, TopologyMode
from rota.model.policy import Policy
from rota.model.selectors import Selector
from rota.model.taints import Toleration
from rota.model.task import JobAffinity, Spread, TaskSpec
from rota.snapshot.running import build_running
from rota.snapshot.state import Snapshot
from rota.snapshot.waiting import NOBODY_WAITS, LaneKey, replace_template

_ANY_SKEW = 1 << 40


class IdleCluster:
    """Built when first asked, which is seldom: a gang was refused that isn't a matter of amounts."""

    def __init__(self, snapshot: Snapshot, policy: Policy, now_ms: int, plugins: Plugins) -> None:
        self._now_ms = now_ms
        self._policy = policy
        filters = tuple(one for one in plugins.filters if one.concern is not Concern.CONDITION)
        self._plugins = Plugins(filters, plugins.scores)
        self._snapshot = without_jobs(snapshot)
        self._board = Board(self._snapshot)
        passing = {taint.key for taints in snapshot.nodes.taint_sets for taint in taints if taint.is_passing}
        self._bears = tuple(Toleration(key, exists=True) for key in sorted(passing))

    def room_for(self, turn: Turn, key: LaneKey, job: Job) -> int:
        """How many tasks of the job could start together; at most all that it has."""
        plain = Turn(replace(turn.scheduler, plugins=()), turn.queue)
        template = self._without_company(key.template)
        compiler = Compiler(
            self._snapshot,
            self._board,
            topology_of(self._snapshot),
            self._policy,
            self._now_ms,
            self._plugins,
            OutsidePlugins(self._plugins, self._snapshot),
        )
        compiler.know(template)
        work = compiler.compiled(plain, replace_template(key, template), job)
        tasks = [0] * len(work.counts)
        for kind, group in zip(work.kind_of_group, template.groups, strict=True):
            tasks[kind] += group.count
        counts = tuple(tasks)
        # If what it needs fits nowhere, as many as fit somewhere are worth telling.
        for least in (min(template.min_count, sum(counts)), 1):
            seats = would_place(Work(work.signatures, counts, least, work.topology), self._board)
            if seats is not None:
                return len(seats)
            if least > 1 and not self._is_hopeless(work, counts, least):
                return least
        return 0

    def _is_hopeless(self, work: Work, counts: tuple[int, ...], least: int) -> bool:
        """Whether nothing was left untried. Only gangs of different tasks are hard to be sure of."""
        if len(counts) == 1 or self._lacks_domains(work, least):
            return True
        whole = Work(work.signatures, counts, least, work.topology)
        order = hardest_first(whole)
        checkpoint = self._board.checkpoint()
        for region, _ in regions(whole, self._board, rules_of(whole), None):
            found, is_sure = search(whole, self._board, region, order)
            self._board.rollback(checkpoint)
            if found is not None or not is_sure:
                return False
        return True

    def _lacks_domains(self, work: Work, least: int) -> bool:
        """Whether there are fewer domains than a topology rule asks for."""
        needed = {TopologyMode.SAME: 1, TopologyMode.DIFFERENT: least}
        return any(
            len(self._snapshot.nodes.topology(rule.key).values) < needed.get(rule.mode, rule.count)
            for rule in work.topology
        )

    def _without_company(self, template: JobTemplate) -> JobTemplate:
        """Only what the job's own tasks demand of each other is left of its rules about jobs."""
        namespace, index = template.namespace, GroupIndex()
        for group in template.groups:
            for term in group.spec.job_affinity:
                index.add(affinity_group(term, namespace))
        labels = {index.seen(group.spec.labels) for group in template.groups}
        of_its_own = {group for some in labels for group in index.including(namespace, some)}

        def is_own(term: JobAffinity) -> bool:
            return affinity_group(term, namespace) in of_its_own

        def own(spec: TaskSpec) -> TaskSpec:
            terms = [term for term in spec.job_affinity if term.is_required]
            keys = {term.topology_key for term in terms if not term.anti and not is_own(term)}
            keys |= {spread.topology_key for spread in spec.spread if spread.required}
            keys |= {rule.topology_key for rule in spec.in_domains}
            # Whatever company may come, nodes without the label will never do.
            labelled = tuple(Spread(key, _ANY_SKEW, Selector()) for key in sorted(keys))
            return replace(
                spec,
                job_affinity=tuple(term for term in terms if is_own(term)),
                spread=labelled,
                in_domains=(),
                tolerations=spec.tolerations + self._bears,
            )

        groups = tuple(replace(group, spec=own(group.spec)) for group in template.groups)
        return replace(template, groups=groups)


def without_jobs(snapshot: Snapshot) -> Snapshot:
    """The same nodes, with nothing on them and nothing waiting."""
    return Snapshot(
        generation=snapshot.generation,
        nodes=snapshot.nodes,
        free=snapshot.nodes.capacity.copy(),
        gpu_free=snapshot.nodes.gpu_capacity.astype(np.int32, copy=True),
        running=build_running([], snapshot.nodes.position),
        waiting=NOBODY_WAITS,
        usage=(),
        jobs=snapshot.jobs,
    )
