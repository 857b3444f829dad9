"""What controllers are told, what they must say before anything happens, and what is found again."""

from __future__ import annotations

import asyncio
from threading import Event

import pytest

from rota.backends.backend import TaskEnded
from rota.lifecycle.state import EndReason, Phase, TaskEnd, TaskPhase
from rota.stateless_scheduler import directing
from rota.stateless_scheduler.nothing_kept import NothingKept
from rota.store.writing.batch import Batch
from rota.wire import controllers_pb2 as wire
from tests.unit.stateless_scheduler.bench import (
    ABANDONED_AFTER_MS,
    PATIENCE_S,
    action,
    eventually,
    ordered,
    orders,
    ref_of,
    settles,
    started,
)

pytestmark = pytest.mark.virtual_time


@pytest.mark.covers("agent-5")
async def test_nothing_starts_before_its_controller_has_recorded_where() -> None:
    async with started() as bench:
        agent, line = bench.agent("one"), bench.line()
        await line.submit(action("a"))
        placement = await line.placement("a")
        assert placement.node == "one"
        await settles()
        assert orders(agent) == []
        line.record(wire.Placement(action="a", fence=placement.fence - 1))
        await settles()
        assert orders(agent) == [], "that was another start"
        line.record(placement)
        assert await ordered(agent) == [("offer", [placement.fence])]


@pytest.mark.covers("agent-4")
async def test_an_agent_may_forget_an_end_once_the_controller_has_kept_it() -> None:
    async with started() as bench:
        agent, line = bench.agent("one"), bench.line()
        await line.submit(action("a"))
        placement = await line.placement("a")
        line.record(placement)
        assert await ordered(agent)
        bench.start(agent, ref_of(placement))
        assert (await line.hear("running")).ref.fence == placement.fence
        bench.end(agent, ref_of(placement), exit_code=4)
        ended = await line.hear("ended")
        assert (ended.outcome, ended.exit_code, ended.ref.fence) == ("failed", 4, placement.fence)
        await settles()
        assert orders(agent) == []
        line.keep(ended)
        assert await ordered(agent) == [("settle", [placement.fence])]
        assert not line.seat.actions
        assert len(line.all("running")) == 1


@pytest.mark.covers("agent-1")
async def test_who_waits_is_told_why_and_whenever_that_changes() -> None:
    async with started() as bench:
        line = bench.line()
        await line.submit(action("a"), action("b"))
        waiting = await line.hear("waiting")
        assert sorted(waiting.actions) == ["a", "b"]
        assert "no nodes" in waiting.reason
        bench.agent("one")
        waiting = await line.hear("waiting", lambda news: "cpu" in news.reason)
        assert len(waiting.actions) == 1
        await settles()
        assert len(line.all("waiting")) == 2


@pytest.mark.covers("agent-5")
async def test_what_a_controller_knows_to_run_is_found_at_its_agent() -> None:
    async with started() as bench:
        placement = wire.Placement(action="a", fence=7, node="one")
        agent = bench.agent("one", ref_of(placement))
        [node] = await bench.backend.nodes()
        assert node.cordoned, "nobody knows yet how much room is left there"
        opening = asyncio.create_task(bench.backend.wanted(agent, ref_of(placement), is_kept=True))
        await settles()
        assert not opening.done()
        line = bench.line()
        await line.submit(action("a", placement), action("b"))
        assert await opening is not None
        [node] = await bench.backend.nodes()
        assert not node.cordoned
        await line.hear("waiting", lambda news: "b" in news.actions and "cpu" in news.reason)
        bench.start(agent, ref_of(placement))
        bench.end(agent, ref_of(placement))
        assert (await line.hear("ended")).ref.fence == 7
        assert (await line.placement("b")).node == "one"
        assert [news for news in line.all("placed") if news.placements[0].action == "a"] == []


@pytest.mark.covers("agent-5")
async def test_a_controller_that_leaves_in_the_middle_of_saying_what_runs() -> None:
    async with started() as bench:
        placement = wire.Placement(action="a", fence=7, node="one")
        agent, line = bench.agent("one", ref_of(placement)), bench.line()
        saying = asyncio.create_task(line.submit(action("a", placement), action("b")))
        await asyncio.sleep(0)
        line.leave()
        await saying
        assert not line.seat.is_complete
        await settles()
        task = agent.agent.tasks[ref_of(placement)]
        assert not task.is_to_stop, "it goes on"
        again = bench.line()
        await again.submit(action("a", placement))
        bench.end(agent, ref_of(placement))
        assert (await again.hear("ended")).outcome == "succeeded"


@pytest.mark.covers("agent-5", "agent-6")
async def test_an_agent_that_is_not_there_is_waited_for_until_it_must_have_ended_its_tasks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with started() as bench:
        line = bench.line()
        bench.agent("two")
        await line.submit(action("a", wire.Placement(action="a", fence=7, node="one")))
        await settles()
        assert line.all("placed") == []
        later_ms = bench.backend._agents["one"].heard_ms + 60_000  # type: ignore[index]
        bench.backend._agents["two"].heard_ms = later_ms  # type: ignore[index]
        monkeypatch.setattr("rota.backends.agents.pool.since_boot_ms", lambda: later_ms)
        placement = await line.placement("a")
        assert placement.node == "two"
        assert placement.fence > 7
        assert "wasn't heard of" in (await line.hear("waiting")).reason


@pytest.mark.covers("agent-5")
async def test_fences_rise_though_the_clock_is_behind_that_of_an_earlier_scheduler() -> None:
    async with started() as bench:
        bench.agent("one")
        line = bench.line()
        last_fence = bench.now_ms + 60_000
        waits_again = action("a")
        waits_again.last_fence = last_fence
        await line.submit(waits_again)
        assert (await line.placement("a")).fence > last_fence


@pytest.mark.covers("agent-5")
async def test_what_its_agent_does_not_have_is_placed_again_at_once() -> None:
    async with started() as bench:
        bench.agent("one")
        line = bench.line()
        await line.submit(action("a", wire.Placement(action="a", fence=7, node="one")))
        assert (await line.placement("a")).fence > 7


async def test_what_nobody_asks_for_is_revoked_once_all_controllers_have_come() -> None:
    async with started() as bench:
        unknown = ref_of(wire.Placement(action="old", fence=3))
        agent = bench.agent("one", unknown)
        opening = asyncio.create_task(bench.backend.wanted(agent, unknown, is_kept=True))
        await bench.line("ci").submit()
        await settles()
        assert not opening.done(), "it may be the other one's"
        await bench.line("nightly").submit()
        assert await opening is None
        [node] = await bench.backend.nodes()
        assert not node.cordoned


async def test_what_waits_leaves_with_its_controller_and_what_runs_goes_on() -> None:
    async with started() as bench:
        agent, line = bench.agent("one"), bench.line()
        await line.submit(action("runs"))
        placement = await line.placement("runs")
        line.record(placement)
        bench.start(agent, (await eventually(lambda: list(agent.agent.tasks)))[0])
        await line.hear("running")
        await line.submit(action("waits"), complete=False)
        line.leave()
        await eventually(lambda: not bench.live_fences("ci", "waits"))
        assert bench.live_fences("ci", "runs") == [placement.fence]
        assert list(line.seat.actions) == ["runs"]
        again = bench.line()
        await again.submit(action("runs", placement), action("waits"))
        assert (await again.hear("running")).ref.fence == placement.fence
        assert [news for news in orders(agent) if news[0] == "settle"] == []


@pytest.mark.covers("agent-5")
async def test_an_end_that_was_not_kept_is_told_again_from_the_beginning() -> None:
    async with started() as bench:
        agent, line = bench.agent("one"), bench.line()
        await line.submit(action("a"))
        placement = await line.placement("a")
        line.record(placement)
        await ordered(agent)
        bench.start(agent, ref_of(placement))
        line.leave()
        bench.end(agent, ref_of(placement))
        await eventually(lambda: not bench.live_fences("ci", "a"))
        other = bench.line("nightly")
        await other.submit(action("b"))
        assert (await other.placement("b")).node == "one", "its room is free"
        again = bench.line()
        await again.submit(action("a", placement))
        await settles()
        assert again.all("ended") == [], "the agent has to bring all of it again"
        bench.end(agent, ref_of(placement))
        again.keep(await again.hear("ended"))
        assert ("settle", [placement.fence]) in await ordered(agent)


@pytest.mark.covers("agent-3", "agent-5")
async def test_an_end_is_not_told_before_its_controller_has_said_how_far_it_is() -> None:
    """It came back, and what its action wrote meanwhile is still with the agent."""

    async with started() as bench:
        agent, line = bench.agent("one"), bench.line()
        await line.submit(action("a"))
        placement = await line.placement("a")
        line.record(placement)
        await ordered(agent)
        bench.start(agent, ref_of(placement))
        line.leave()
        again = bench.line()
        bench.end(agent, ref_of(placement))
        await eventually(lambda: not bench.live_fences("ci", "a"))
        await settles()
        assert again.told == []
        await again.submit(action("a", placement))
        await settles()
        assert again.all("ended") == [], "the agent has to bring all of it again"
        bench.end(agent, ref_of(placement))
        assert (await again.hear("ended")).outcome == "succeeded"


@pytest.mark.covers("agent-3", "agent-5")
@pytest.mark.parametrize("back", ["before", "after"])
async def test_an_end_that_is_lost_with_its_agent_before_its_controller_has_it_has_not_happened(
    back: str,
) -> None:
    """Whether the controller is back before the agent is lost, or after."""

    async with started() as bench:
        agent, line = bench.agent("one"), bench.line()
        await line.submit(action("a"))
        placement = await line.placement("a")
        line.record(placement)
        await ordered(agent)
        bench.start(agent, ref_of(placement))
        line.leave()
        bench.end(agent, ref_of(placement))
        await eventually(lambda: not bench.live_fences("ci", "a"))
        again = bench.line()
        if back == "before":
            await again.submit(action("a", placement))
        bench.backend._lose_agent(agent.agent)
        bench.agent("two")
        if back == "after":
            await again.submit(action("a", placement))
        assert "runs again" in (await again.hear("waiting")).reason
        await again.placement("a", after=placement.fence)
        assert again.all("ended") == []


@pytest.mark.covers("agent-5")
async def test_an_end_that_was_told_is_told_once_more_when_its_agent_is_lost() -> None:
    async with started() as bench:
        agent, line = bench.agent("one"), bench.line()
        await line.submit(action("a"))
        placement = await line.placement("a")
        line.record(placement)
        await ordered(agent)
        bench.start(agent, ref_of(placement))
        bench.end(agent, ref_of(placement), exit_code=1)
        await line.hear("ended")
        line.leave()
        again = bench.line()
        await again.submit(action("a", placement))
        bench.end(agent, ref_of(placement), exit_code=1)
        ended = await again.hear("ended")
        bench.backend._lose_agent(agent.agent)
        await settles()
        assert again.all("waiting") == []
        again.keep(ended)
        assert not again.seat.actions


@pytest.mark.covers("agent-5")
async def test_one_that_was_cancelled_does_not_run_anew_when_its_agent_is_lost() -> None:
    async with started() as bench:
        agent, line = bench.agent("one"), bench.line()
        await line.submit(action("a"))
        placement = await line.placement("a")
        line.record(placement)
        await ordered(agent)
        bench.start(agent, ref_of(placement))
        await bench.scheduler.directing.cancel(line.seat, wire.Cancel(actions=["a"]))
        line.leave()
        bench.report(agent, TaskEnded(ref_of(placement), bench.now_ms, TaskEnd(EndReason.STOPPED)))
        await eventually(lambda: not bench.live_fences("ci", "a"))
        bench.backend._lose_agent(agent.agent)
        again = bench.line()
        await again.submit(action("a", placement))
        assert (await again.hear("ended")).outcome == "cancelled"


async def test_one_who_is_back_learns_that_an_action_waits_again() -> None:
    async with started() as bench:
        agent, line = bench.agent("one"), bench.line()
        await line.submit(action("a"))
        placement = await line.placement("a")
        line.record(placement)
        await ordered(agent)
        bench.start(agent, ref_of(placement))
        await line.hear("running")
        line.leave()
        again, other = bench.line(), bench.line("nightly")
        await other.submit(action("b", priority="high"))
        jobs, job = bench.scheduler.transactor.memory.jobs, ref_of(placement).job
        await eventually(lambda: jobs[job].live[0].phase is TaskPhase.STOPPING)
        bench.report(agent, TaskEnded(ref_of(placement), bench.now_ms, TaskEnd(EndReason.STOPPED)))
        await eventually(lambda: jobs[job].phase is Phase.PENDING)
        assert again.told == []
        await again.submit(action("a", placement))
        assert "preempted" in (await again.hear("waiting")).reason


@pytest.mark.covers("agent-3", "agent-5")
async def test_an_end_that_its_controller_missed_is_not_told_before_all_that_came_before_it() -> None:
    """It names the action when its end is on the way from the agent, and isn't told yet."""

    async with started() as bench:
        agent, line = bench.agent("one"), bench.line()
        await line.submit(action("a"))
        placement = await line.placement("a")
        line.record(placement)
        await ordered(agent)
        bench.start(agent, ref_of(placement))
        await line.hear("running")
        line.leave()
        again = bench.line()
        bench.end(agent, ref_of(placement))
        assert bench.live_fences("ci", "a") == [placement.fence]
        await again.submit(action("a", placement))
        await eventually(lambda: not bench.live_fences("ci", "a"))
        await settles()
        assert again.all("ended") == []
        bench.end(agent, ref_of(placement))
        ended = await again.hear("ended")
        again.keep(ended)
        assert ("settle", [placement.fence]) in await ordered(agent)


@pytest.mark.real_time  # The thread that commits waits.
@pytest.mark.covers("agent-5")
async def test_one_who_is_back_while_its_actions_are_being_given_up_is_not_told_that_they_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with started() as bench:
        line = bench.line()
        await line.submit(action("a"))
        committing, may_commit = Event(), Event()

        def commit(store: NothingKept, batch: Batch) -> int:
            committing.set()
            may_commit.wait(PATIENCE_S)
            return commit_at_once(store, batch)

        commit_at_once = NothingKept.commit
        monkeypatch.setattr(NothingKept, "commit", commit)
        line.leave()
        await eventually(committing.is_set)
        again = bench.line()
        submitting = asyncio.create_task(again.submit(action("a")))
        await asyncio.sleep(0)
        may_commit.set()
        await submitting
        bench.agent("one")
        await again.placement("a")
        assert again.all("ended") == []


@pytest.mark.covers("agent-5")
async def test_one_who_is_back_before_its_actions_are_given_up_keeps_them() -> None:
    async with started() as bench:
        line = bench.line()
        await line.submit(action("a"))
        line.leave()
        again = bench.line()
        await again.submit(action("a"))
        bench.agent("one")
        await again.placement("a")
        assert again.all("ended") == []


async def test_what_a_controller_does_not_name_any_more_is_settled_or_stopped() -> None:
    async with started() as bench:
        one, two, line = bench.agent("one"), bench.agent("two"), bench.line()
        await line.submit(action("a"), action("b"))
        for id in ("a", "b"):
            line.record(await line.placement(id))
        tasks = await eventually(lambda: [*one.agent.tasks.values(), *two.agent.tasks.values()])
        line.leave()
        bench.end(one, next(iter(one.agent.tasks)))
        await eventually(lambda: sum(len(bench.live_fences("ci", id)) for id in "ab") == 1)
        await bench.line().submit()
        await eventually(lambda: any(kind == "settle" for kind, _ in orders(one)))
        await eventually(lambda: tasks[1].is_to_stop)
        assert not line.seat.actions


async def test_a_controller_that_stays_away_is_given_up() -> None:
    async with started() as bench:
        agent, line = bench.agent("one"), bench.line()
        await line.submit(action("a"))
        line.record(await line.placement("a"))
        [task] = await eventually(lambda: list(agent.agent.tasks.values()))
        line.leave()
        bench.now_ms += ABANDONED_AFTER_MS - 1
        bench.scheduler.directing.review()
        assert line.seat.actions
        bench.now_ms += 1
        bench.scheduler.directing.review()
        assert not line.seat.actions
        await eventually(lambda: task.is_to_stop)


async def test_one_who_records_nothing_is_taken_for_gone() -> None:
    async with started() as bench:
        bench.agent("one")
        line, other = bench.line(), bench.line("nightly")
        await line.submit(action("a"))
        await line.placement("a")
        await other.submit(action("b"))
        bench.now_ms += directing.RECORD_WITHIN_MS + 1
        bench.scheduler.directing.review()
        assert line.outbox.is_closed
        assert "recorded within 30 s" in line.outbox.why_closed
        assert (await other.placement("b")).node == "one"


async def test_an_action_that_cannot_be_harms_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directing, "MOST_ACTIONS", 2)

    async with started() as bench:
        line = bench.line()
        bad = wire.Action(id="bad", job='{"command": "true", "resources": {"cpu": "much"}}')
        await line.submit(bad, action("a"), wire.Action(id="", job="{}"), action("b"), action("c"))
        await line.submit(action("a", command=["false"]), complete=False)
        await eventually(lambda: len(line.all("refused")) == 4)
        refused = {(one.action, one.field) for one in line.all("refused")}
        assert refused == {("bad", "job.resources.cpu"), ("", "id"), ("c", "actions"), ("a", "id")}
        assert all(one.problem and one.remedy for one in line.all("refused"))
        assert list(line.seat.actions) == ["a", "b"]


async def test_cancelled_while_it_waits_while_it_is_not_recorded_and_while_it_runs() -> None:
    async with started() as bench:
        agent, line = bench.agent("one", cpus=2), bench.line()
        await line.submit(action("runs"), action("placed"), action("waits"))
        runs = await line.placement("runs")
        await line.placement("placed")
        line.record(runs)
        await ordered(agent)
        cancel = wire.Cancel(actions=["runs", "placed", "waits", "nobody"], message="enough")
        await bench.scheduler.directing.cancel(line.seat, cancel)
        await eventually(lambda: len(line.all("ended")) == 2)
        ends = {(ended.ref.action, ended.outcome) for ended in line.all("ended")}
        assert ends == {("placed", "cancelled"), ("waits", "cancelled")}
        assert agent.agent.tasks[ref_of(runs)].is_to_stop
        assert [one.action for one in line.all("refused")] == ["nobody"]


async def test_why() -> None:
    async with started() as bench:
        line = bench.line()
        await line.submit(action("a"))
        bench.scheduler.directing.answering.ask(line.seat, "a")
        why = await line.hear("why")
        assert '"job":"a"' in why.document
        bench.scheduler.directing.answering.ask(line.seat, "nobody")
        assert (await line.hear("refused")).field == "action"
