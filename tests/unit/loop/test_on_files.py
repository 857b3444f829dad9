import pytest
from msgspec.structs import replace

from rota.forecast.estimator import Estimator, EstimatorState
from rota.loop.hosting.plugin_host import PluginHost
from rota.loop.on_files import Moment, latest_time_ms
from rota.model.cluster import ClusterRecords, TenantUsage
from rota.model.explanation import Outcome
from rota.model.ids import JobId, NodeName, QueueName
from rota.model.job import Job, JobRecord, JobTemplate, Placement, TaskGroup
from rota.model.node import Node, NodeSpec
from rota.model.policy import Durations, Policy, QueuePolicy, SchedulerPolicy
from rota.model.resources import Resources
from rota.model.taints import Effect, Taint
from rota.model.task import TaskSpec

ONE_CPU = JobTemplate((TaskGroup(TaskSpec(Resources(cpu_milli=1000))),))
NINE_O_CLOCK_MS = 1_767_258_000_000


def node(*taints: Taint) -> Node:
    return Node(NodeName("n"), NodeSpec(Resources(cpu_milli=1000), taints=taints))


@pytest.mark.parametrize(
    "records",
    [
        ClusterRecords(jobs=(JobRecord(Job(JobId("a"), ONE_CPU, NINE_O_CLOCK_MS)),)),
        ClusterRecords(
            jobs=(JobRecord(Job(JobId("a"), ONE_CPU), (Placement(0, NodeName("n"), NINE_O_CLOCK_MS),)),)
        ),
        ClusterRecords(nodes=(node(Taint("gone", Effect.NO_EXECUTE, added_ms=NINE_O_CLOCK_MS)),)),
        ClusterRecords(usage=(TenantUsage("vision", NINE_O_CLOCK_MS, ()),)),
    ],
)
def test_the_latest_time_may_be_anywhere(records: ClusterRecords) -> None:
    assert latest_time_ms(records) == NINE_O_CLOCK_MS


def test_the_order_of_jobs_is_no_time() -> None:
    jobs = tuple(JobRecord(Job(JobId(f"j{number}"), ONE_CPU, number)) for number in range(3))
    assert latest_time_ms(ClusterRecords(jobs=jobs)) is None


def test_a_plan_and_its_explanation_agree() -> None:
    records = ClusterRecords(
        nodes=(node(),),
        jobs=tuple(JobRecord(Job(JobId(name), ONE_CPU, number)) for number, name in enumerate("ab")),
    )
    moment = Moment(records, Policy(), now_ms=0, host=PluginHost([]))
    assert [(one.job, one.node) for one in moment.plan().bindings] == [("a", "n")]
    assert moment.explain(JobId("a")).outcome is Outcome.PLACED
    assert moment.explain(JobId("b")).outcome is Outcome.WAITING


HOUR_MS = 3_600_000
LIMITED = replace(ONE_CPU, time_limit_ms=HOUR_MS)


def busy(*waiting: Job) -> ClusterRecords:
    """One CPU, on which a job has run for ten minutes."""
    old = JobRecord(
        Job(JobId("old"), LIMITED, NINE_O_CLOCK_MS - 600_000),
        (Placement(0, NodeName("n"), NINE_O_CLOCK_MS - 600_000),),
    )
    return ClusterRecords(nodes=(node(),), jobs=(old, *map(JobRecord, waiting)))


def waits(name: str, template: JobTemplate = LIMITED) -> Job:
    return Job(JobId(name), template, NINE_O_CLOCK_MS - 1000)


def half_an_hour() -> EstimatorState:
    """As long as such jobs ran."""
    estimator = Estimator(None)
    estimator.ended(waits("before"), HOUR_MS // 2, 0, completed=True)
    return estimator.state


@pytest.mark.covers("time-1")
class TestEstimates:
    def moment(self, *waiting: Job, learnt: EstimatorState | None, rules: Policy | None = None) -> Moment:
        return Moment(busy(*waiting), rules or Policy(), NINE_O_CLOCK_MS, PluginHost([]), learnt=learnt)

    def test_expected_as_learnt_and_latest_by_limits(self) -> None:
        moment = self.moment(waits("a"), waits("b"), learnt=half_an_hour())
        found = moment.estimates(moment.plan())
        a, b = (found[JobId(name)] for name in "ab")
        assert a.expected_ms == NINE_O_CLOCK_MS + HOUR_MS // 3
        assert b.expected_ms == a.expected_ms + HOUR_MS // 2
        assert (a.bound_ms > a.expected_ms, b.bound_ms > a.bound_ms) == (True, True)
        assert a.latest_ms == NINE_O_CLOCK_MS + HOUR_MS * 5 // 6
        assert b.latest_ms == a.latest_ms + HOUR_MS

    def test_only_of_those_who_are_asked_about(self) -> None:
        moment = self.moment(waits("a"), waits("b"), learnt=half_an_hour())
        assert list(moment.estimates(moment.plan(), {JobId("b")})) == ["b"]

    def test_none_without_anything_learnt(self) -> None:
        moment = self.moment(waits("a"), learnt=None)
        assert moment.estimates(moment.plan()) == {}

    def test_none_of_what_never_starts_runs_or_is_promised(self) -> None:
        huge = replace(LIMITED, groups=(TaskGroup(TaskSpec(Resources(cpu_milli=9000))),))
        live = replace(LIMITED, queue=QueueName("live"))
        queues = (QueuePolicy(), QueuePolicy(QueueName("live"), interactive=True))
        rules = Policy(schedulers=(SchedulerPolicy(queues=queues),))
        jobs = waits("a"), waits("huge", huge), waits("live", live)
        moment = self.moment(*jobs, learnt=half_an_hour(), rules=rules)
        assert list(moment.estimates(moment.plan())) == ["a"]

    def test_none_of_what_has_no_place_in_the_calendar(self) -> None:
        endless = ClusterRecords(
            nodes=(node(),),
            jobs=(
                JobRecord(Job(JobId("old"), ONE_CPU), (Placement(0, NodeName("n"), NINE_O_CLOCK_MS - 1),)),
                JobRecord(waits("a")),
            ),
        )
        moment = Moment(endless, Policy(), NINE_O_CLOCK_MS, PluginHost([]), learnt=EstimatorState())
        assert moment.estimates(moment.plan()) == {}

    def test_queues_that_say_so_are_planned_by_what_was_learnt(self) -> None:
        queues = (QueuePolicy(durations=Durations.LEARNT),)
        rules = Policy(schedulers=(SchedulerPolicy(queues=queues),))
        moment = self.moment(waits("a"), learnt=half_an_hour(), rules=rules)
        assert [start.start_ms for start in moment.plan().starts] == [NINE_O_CLOCK_MS + HOUR_MS // 3]
