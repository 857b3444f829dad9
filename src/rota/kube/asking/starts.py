"""When a pod of a live cluster will start, as far as activeDeadlineSeconds tell: a pod that has one ends so
long after its start. Nothing else says how long pods run."""

from __future__ import annotations

from rota.api.jobs import EstimateDocument
from rota.forecast.estimator import Estimator
from rota.forecast.planned import Planner
from rota.kube.asking.answer_words import BY_DEADLINES, bound_text, endless_text, never_text
from rota.kube.asking.answers import PodAnswer, Situation
from rota.kube.asking.questions import LiveCluster
from rota.kube.scheduling.rules import rules_of
from rota.loop.live.forecaster import time_of
from rota.loop.on_files import ESTIMATED
from rota.model.estimate import Estimate
from rota.model.explanation import Outcome
from rota.model.ids import TaskName
from rota.model.job import Job
from rota.model.verdict import Kind
from rota.views.why.view import WhyView


async def start_of(cluster: LiveCluster, name: TaskName) -> EstimateDocument:
    """With the reason where there is no time to tell."""
    answer = await cluster.why(name)
    now_ms = cluster.now_ms
    if answer.situation is Situation.BOUND:
        return _document(answer, now_ms, None, bound_text(answer.node))
    if answer.situation is not Situation.WAITING or answer.view is None:
        return _document(answer, now_ms, None, answer.told)
    view = answer.view
    if view.outcome is Outcome.PLACED:
        return _document(answer, now_ms, Estimate(now_ms, now_ms, now_ms, now_ms), answer.told)
    verdict = view.explanation.verdict
    if verdict is not None and verdict.kind is Kind.NEVER:
        return _document(answer, now_ms, None, never_text(verdict))
    record, _ = cluster.record_of(name)
    estimate = _estimate(cluster, record.job)
    if estimate is not None:
        return _document(answer, now_ms, estimate, BY_DEADLINES)
    return _document(answer, now_ms, None, endless_text(*_endless(cluster, record.job, view)))


def _estimate(cluster: LiveCluster, job: Job) -> Estimate | None:
    """The same as for jobs of files and servers; None: some of what is in its way may never end."""
    snapshot = cluster.mirror.state.snapshot()
    plan = cluster.plan(snapshot)
    with rules_of(cluster.policy, cluster.host, cluster.mirror.budgets.now()) as plugins:
        estimator = Estimator(Planner(plugins, ESTIMATED))
        return estimator.look(snapshot, cluster.policy, cluster.now_ms, job, plan)


def _endless(cluster: LiveCluster, job: Job, view: WhyView) -> tuple[int, int]:
    """How many pods without a deadline run on nodes that refuse it for now, and how many wait before it."""
    refusals = view.explanation.refusals
    nodes = {node for one in refusals if one.reason.kind is Kind.NOT_NOW for node in one.nodes}
    endless = [one for one in cluster.mirror.state.records().jobs if one.job.template.time_limit_ms is None]
    running = sum(placement.node in nodes for one in endless for placement in one.placements)
    waiting = sum(len(list(one.waiting_ranks())) for one in endless if _order(one.job) < _order(job))
    return running, waiting


def _order(job: Job) -> tuple[int, int, str]:
    """As kube-scheduler has it."""
    return -job.template.priority, job.submitted_ms, job.id


def _document(answer: PodAnswer, now_ms: int, told: Estimate | None, reason: str) -> EstimateDocument:
    return EstimateDocument(
        job=answer.pod,
        told=time_of(now_ms),
        expected=time_of(told.expected_ms) if told else None,
        bound=time_of(told.bound_ms) if told else None,
        latest=time_of(told.latest_ms) if told and told.latest_ms is not None else None,
        promised=False,
        position=None,
        reason=reason or None,
    )
