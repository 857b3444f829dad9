import pytest
from msgspec.structs import replace

from rota.loop.records.difference import Effect, difference
from rota.model.calendar import PlannedStart
from rota.model.ids import JobId, NodeName
from rota.model.plan import Binding, Eviction, EvictionCause, Plan, PluginFault, Waiting
from rota.model.reasons import Insufficient, QueuePaused
from rota.model.verdict import Kind, Refusal, Verdict

J, A, B = JobId("j"), NodeName("a"), NodeName("b")
ON_A, ON_B = Plan(bindings=(Binding(J, 0, A),)), Plan(bindings=(Binding(J, 0, B),))
FULL = Verdict(Kind.NOT_NOW, (Refusal(Insufficient("cpu", 2, 1), 1),))
PAUSED = Verdict(Kind.NOT_NOW, (Refusal(QueuePaused("q"), 0),))
WAITS, WAITS_PAUSED = Plan(waiting=(Waiting((J,), FULL),)), Plan(waiting=(Waiting((J,), PAUSED),))
LOSES = Plan(evictions=(Eviction(J, 1, A, EvictionCause.PREEMPTED),))
LOSES_OTHER = Plan(evictions=(Eviction(J, 0, A, EvictionCause.PREEMPTED),))
NOW_DUE, LATER_DUE = (replace(WAITS, starts=(PlannedStart(J, at_ms),)) for at_ms in (5, 9))
ON_DEVICE = Plan(bindings=(Binding(J, 0, A, (1,)),))


@pytest.mark.parametrize(
    "recorded, decided, effects",
    [
        (WAITS, ON_A, [Effect.STARTS]),
        (ON_A, WAITS, [Effect.WAITS]),
        (ON_A, ON_B, [Effect.ELSEWHERE]),
        (ON_A, ON_DEVICE, [Effect.ELSEWHERE]),
        (Plan(), LOSES, [Effect.EVICTED]),
        (LOSES, Plan(), [Effect.SPARED]),
        (LOSES, LOSES_OTHER, [Effect.EVICTED, Effect.SPARED]),
        (LATER_DUE, NOW_DUE, [Effect.EARLIER]),
        (NOW_DUE, LATER_DUE, [Effect.LATER]),
        (NOW_DUE, ON_A, [Effect.STARTS]),
        (WAITS, WAITS_PAUSED, [Effect.OTHERWISE]),
        (WAITS, NOW_DUE, [Effect.OTHERWISE]),
    ],
)
def test_what_it_means_for_a_job(recorded: Plan, decided: Plan, effects: list[Effect]) -> None:
    (job,) = difference(recorded, decided).jobs
    assert (job.job, job.effects) == (J, effects)


def test_jobs_with_the_same_fate_are_left_out() -> None:
    same = Binding(JobId("same"), 0, A)
    recorded = replace(ON_A, bindings=(same, *ON_A.bindings))
    decided = replace(ON_B, bindings=(*ON_B.bindings, same))
    assert [one.job for one in difference(recorded, decided).jobs] == [J]


def test_another_order_is_no_difference_of_any_job() -> None:
    both = (Binding(J, 0, A), Binding(J, 1, B))
    found = difference(Plan(bindings=both), Plan(bindings=both[::-1]))
    assert (found.jobs, found.faults_gone, found.faults_new) == ((), (), ())


def test_faults_of_plugins() -> None:
    one, other = (PluginFault(name, "score", "KeyError", J) for name in ("green", "blue"))
    found = difference(Plan(faults=(one,)), Plan(faults=(other,)))
    assert (found.faults_gone, found.faults_new) == ((one,), (other,))
