"""Whatever is killed: nothing is lost, and nothing runs twice."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from rota.stateless_scheduler.client import Action
from tests.real.agents.fleet import cpus
from tests.real.scheduler.ledger import Remembering, directing
from tests.real.scheduler.stand import PATIENT_S, SchedulerStand
from tests.real.server.rota_server import shell

pytestmark = pytest.mark.slow


def noted(id: str, file: Path, script: str = "true") -> Action:
    """One that notes each of its starts, on a line of its own, and takes a whole agent."""
    return Action(id, shell(f"echo {id} >> {file}; {script}", resources={"cpu": cpus()}))


def starts(file: Path) -> list[str]:
    return sorted(file.read_text().split()) if file.exists() else []


@pytest.mark.covers("agent-5")
async def test_a_scheduler_that_is_killed_finds_all_again(stand: SchedulerStand, tmp_path: Path) -> None:
    runs, go_on = tmp_path / "runs", tmp_path / "go"
    script = f"echo before; while [ ! -e {go_on} ]; do sleep 0.1; done; echo after"

    ledger = Remembering()
    agents = [stand.agent("one"), stand.agent("two")]
    ids = [f"a{at}" for at in range(6)]
    async with directing(stand.controllers, ledger) as client:
        client.submit(ledger.add(*(noted(id, runs, script) for id in ids)))
        await ledger.until(lambda: len(ledger.running_) == len(agents), "two to run")
        await ledger.until(lambda: len(ledger.log) == len(agents), "their output")
        running = set(ledger.running_)
        stand.kill()
        await ledger.until(lambda: not client.is_connected, "the connection to break")
        stand.start()
        await ledger.until(lambda: client.is_connected, "a connection")
        await asyncio.sleep(2)
        assert set(starts(runs)) == running, "nothing else has begun while these run"
        go_on.touch()
        for id in ids:
            assert (await ledger.end_of(id)).outcome == "succeeded"
            assert ledger.wrote(id) == b"before\nafter\n"
            assert len(ledger.places[id]) == 1
    assert starts(runs) == ids, "each once"


@pytest.mark.covers("agent-5")
async def test_what_ended_without_a_scheduler_is_told_by_the_next(
    stand: SchedulerStand, tmp_path: Path
) -> None:
    runs, go_on = tmp_path / "runs", tmp_path / "go"
    script = (
        f"while [ ! -e {go_on} ]; do sleep 0.1; done; printf left > out; echo done; touch {tmp_path}/over"
    )

    ledger = Remembering()
    stand.agent("one")
    job = shell(f"echo a >> {runs}; {script}", outputs=["out"])
    async with directing(stand.controllers, ledger) as client:
        client.submit(ledger.add(Action("a", job)))
        await ledger.until_running("a")
        stand.kill()
        go_on.touch()
        await ledger.until((tmp_path / "over").exists, "its end")
        stand.start()
        assert (await ledger.end_of("a")).outcome == "succeeded"
        assert (ledger.wrote("a"), ledger.files) == (b"done\n", {("a", "out"): b"left"})
    assert starts(runs) == ["a"]


@pytest.mark.covers("agent-6")
async def test_what_a_lost_agent_had_runs_elsewhere(impatient: SchedulerStand, tmp_path: Path) -> None:
    runs, go_on = tmp_path / "runs", tmp_path / "go"

    ledger = Remembering()
    impatient.agent("one")
    impatient.agent("two")
    async with directing(impatient.controllers, ledger) as client:
        client.submit(ledger.add(noted("a", runs, f"while [ ! -e {go_on} ]; do sleep 0.1; done")))
        await ledger.until_running("a")
        first = ledger.node_of("a")
        impatient.agents[first].kill()
        await ledger.until(lambda: len(ledger.places["a"]) == 2, "another place")
        assert "not heard" in ledger.reasons["a"] or "wasn't heard" in ledger.reasons["a"]
        assert ledger.node_of("a") != first
        assert ledger.places["a"][1].fence > ledger.places["a"][0].fence
        go_on.touch()
        assert (await ledger.end_of("a")).fence == ledger.places["a"][1].fence
    assert starts(runs) == ["a", "a"], "the first was ended by its lease"


@pytest.mark.covers("agent-5", "agent-6")
async def test_an_agent_that_a_new_scheduler_never_sees_is_waited_for_and_then_lost(
    impatient: SchedulerStand, tmp_path: Path
) -> None:
    runs = tmp_path / "runs"

    ledger = Remembering()
    impatient.agent("one")
    async with directing(impatient.controllers, ledger) as client:
        client.submit(ledger.add(noted("a", runs, f"[ $(wc -l < {runs}) = 2 ] || sleep 50")))
        await ledger.until_running("a")
        impatient.kill()
        impatient.agents["one"].kill()
        impatient.start()
        impatient.agent("two")
        await asyncio.sleep(1)
        assert starts(runs) == ["a"], "the first may still be there"
        assert (await ledger.end_of("a")).outcome == "succeeded"
        assert [place.node for place in ledger.places["a"]] == ["one", "two"]
    assert starts(runs) == ["a", "a"]


@pytest.mark.covers("agent-5")
async def test_a_controller_that_goes_and_comes_back(stand: SchedulerStand, tmp_path: Path) -> None:
    """What it had waiting is gone with it, what ran went on, and nothing is told that it had kept."""
    runs, go_on = tmp_path / "runs", tmp_path / "go"
    script = f"echo before; while [ ! -e {go_on} ]; do sleep 0.1; done; echo after; printf x > out"

    ledger, other = Remembering(), Remembering()
    stand.agent("one")
    first = Action(
        "first", shell(f"echo first >> {runs}; {script}", resources={"cpu": cpus()}, outputs=["out"])
    )
    async with directing(stand.controllers, ledger) as client:
        client.submit(ledger.add(first, noted("second", runs)))
        await ledger.until(lambda: ledger.wrote("first") == b"before\n" if ledger.places else False)
    go_on.touch()
    async with directing(stand.controllers, other, "nightly") as nightly:
        nightly.submit(other.add(noted("another", runs)))
        assert (await other.end_of("another")).outcome == "succeeded", "there is room for others"
        assert starts(runs) == ["another", "first"], "what waited has left with its controller"
        async with directing(stand.controllers, ledger):
            assert (await ledger.end_of("first")).outcome == "succeeded"
            assert ledger.wrote("first") == b"before\nafter\n"
            assert ledger.files == {("first", "out"): b"x"}
            assert (await ledger.end_of("second")).outcome == "succeeded"
    assert starts(runs) == ["another", "first", "second"]


def test_a_controller_that_never_comes_back_is_given_up(tmp_path: Path) -> None:
    stand = SchedulerStand(tmp_path / "stand", PATIENT_S, "--abandoned-after", "3s")
    stand.start()
    runs = tmp_path / "runs"

    async def check() -> None:
        ledger, other = Remembering(), Remembering()
        stand.agent("one")
        async with directing(stand.controllers, ledger) as client:
            client.submit(ledger.add(noted("left", runs, "sleep 50")))
            await ledger.until_running("left")
        async with directing(stand.controllers, other, "nightly") as nightly:
            nightly.submit(other.add(noted("other", runs)))
            assert (await other.end_of("other")).outcome == "succeeded"

    try:
        asyncio.run(check())
    finally:
        stand.remove()
    assert starts(runs) == ["left", "other"]
