"""A plan written as what is other than in the plan before."""

from hypothesis import given
from hypothesis import strategies as st
from msgspec.msgpack import encode

from rota.loop.records.cycle_entry import read_plan, written_plan
from rota.model.calendar import PlannedStart
from rota.model.ids import JobId
from rota.model.plan import Plan, Waiting
from rota.model.reasons import Insufficient
from rota.model.verdict import Kind, Refusal, Verdict

JOBS = [JobId(f"j{number}") for number in range(8)]


def verdict(asked: int) -> Verdict:
    return Verdict(Kind.NOT_NOW, (Refusal(Insufficient("cpu", asked), 3),))


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    jobs = draw(st.permutations(JOBS))[: draw(st.integers(0, len(JOBS)))]
    waiting = []
    while jobs:
        count = draw(st.integers(1, len(jobs)))
        waiting.append(Waiting(tuple(jobs[:count]), verdict(draw(st.integers(1, 2)))))
        jobs = jobs[count:]
    starts = draw(st.lists(st.builds(PlannedStart, st.sampled_from(JOBS), st.integers(0, 2)), max_size=4))
    return Plan(waiting=tuple(waiting), starts=tuple({one.job: one for one in starts}.values()))


@given(plans(), plans())
def test_any_plan_can_follow_any_other(before: Plan, after: Plan) -> None:
    assert read_plan(written_plan(after, before), before) == after


def test_a_queue_that_moves_on_takes_no_room() -> None:
    jobs = tuple(JobId(f"job-{number}") for number in range(1000))
    before = Plan(waiting=(Waiting(jobs[:900], verdict(1)),))
    after = Plan(waiting=(Waiting(jobs[2:902], verdict(2)),))
    written = written_plan(after, before)
    assert written.waiting == ((898, 2), "job-900", "job-901")
    assert len(encode(written)) < 250
    assert read_plan(written, before) == after


def test_what_waits_as_before_is_not_said_again() -> None:
    plan = Plan(
        waiting=tuple(Waiting((job,), verdict(number)) for number, job in enumerate(JOBS)),
        starts=(PlannedStart(JOBS[0], 5),),
    )
    written = written_plan(plan, plan)
    assert written.waiting == ((8, 0),)
    assert written.verdicts == (None,) * 8
    assert written.starts == (JOBS[0],)
