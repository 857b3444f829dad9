"""Actions of controllers, performed by agents: what comes back, and what is said while they wait."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from rota.stateless_scheduler.client import Action, InlineFile
from tests.real.agents.fleet import cpus
from tests.real.scheduler.ledger import Remembering, directing, token_of
from tests.real.scheduler.stand import SchedulerStand
from tests.real.server.rota_server import PATIENCE_S, shell

pytestmark = pytest.mark.slow


def action(id: str, script: str, **fields: Any) -> Action:
    return Action(id, shell(script, **fields))


@pytest.mark.covers("agent-1", "agent-2")
async def test_without_agents_it_waits_and_says_why(stand: SchedulerStand) -> None:
    ledger = Remembering()
    async with directing(stand.controllers, ledger) as client:
        client.submit(ledger.add(action("a", "echo hello")))
        reason = await ledger.until(lambda: ledger.reasons.get("a"), "a reason")
        assert "no nodes" in reason
        assert (await client.why("a"))["outcome"] in ("waiting", "never")
        stand.agent("one")
        assert (await ledger.end_of("a")).outcome == "succeeded"
        assert ledger.wrote("a") == b"hello\n"


@pytest.mark.covers("agent-3", "agent-4")
async def test_stages_output_files_and_the_result_come_back(stand: SchedulerStand) -> None:
    data = bytes(range(256)) * 10_000
    script = "cat input/data; echo problem >&2; cp input/data big; printf done > small; exit 3"

    ledger = Remembering()
    stand.agent("one")
    job = shell(script, outputs=["big", "small", "missing"])
    files = (InlineFile("input/data", data[: 1 << 20]),)
    async with directing(stand.controllers, ledger) as client:
        client.submit(ledger.add(Action("a", job, files)))
        ended = await ledger.end_of("a")
        assert (ended.outcome, ended.reason, ended.exit_code) == ("failed", "exited", 3)
        assert ended.started_ms is not None
        assert ended.started_ms <= ended.ended_ms
        assert ledger.running_["a"] == ended.fence == ledger.places["a"][-1].fence
        assert sorted(ledger.wrote("a")) == sorted(data[: 1 << 20] + b"problem\n")
        assert ledger.wrote("a").replace(b"problem\n", b"", 1) == data[: 1 << 20]
        assert ledger.files == {("a", "big"): data[: 1 << 20], ("a", "small"): b"done"}


@pytest.mark.covers("agent-1", "agent-7")
async def test_more_actions_than_agents(stand: SchedulerStand, tmp_path: Path) -> None:
    told = tmp_path / "told"
    script = f"while [ ! -e {told} ]; do sleep 0.05; done; echo"

    ledger = Remembering()
    stand.agent("one")
    stand.agent("two")
    actions = [action(f"a{at}", f"{script} {at}", resources={"cpu": cpus()}) for at in range(12)]
    async with directing(stand.controllers, ledger) as client:
        client.submit(ledger.add(*actions))
        reasons = ledger.reasons
        await ledger.until(lambda: any("cpu" in reason for reason in reasons.values()), "a reason")
        told.touch()
        for at in range(12):
            assert (await ledger.end_of(f"a{at}")).outcome == "succeeded"
            assert ledger.wrote(f"a{at}") == f"{at}\n".encode()
        assert {places[0].node for places in ledger.places.values()} == {"one", "two"}


async def test_actions_that_wait_and_that_run_are_cancelled(stand: SchedulerStand, tmp_path: Path) -> None:
    ledger = Remembering()
    stand.agent("one")
    async with directing(stand.controllers, ledger) as client:
        client.submit(ledger.add(action("runs", f"echo $$ > {tmp_path}/pid; exec sleep 50")))
        await ledger.until_running("runs")
        client.submit(ledger.add(action("waits", "true", resources={"cpu": 100_000})))
        await ledger.until(lambda: ledger.reasons.get("waits"), "a reason")
        client.cancel(["runs", "waits", "nobody"], "enough")
        assert (await ledger.end_of("waits")).outcome == "cancelled"
        ended = await ledger.end_of("runs")
        assert (ended.outcome, ended.reason) == ("cancelled", "stopped")
        [refusal] = await ledger.until(lambda: ledger.refusals, "a refusal")
        assert (refusal.action, refusal.field) == ("nobody", "action")


async def test_two_controllers_with_the_same_ids(stand: SchedulerStand) -> None:
    ours, theirs = Remembering(), Remembering()
    stand.agent("one")
    async with (
        directing(stand.controllers, ours, "ci") as ci,
        directing(stand.controllers, theirs, "nightly") as nightly,
    ):
        ci.submit(ours.add(action("build", "echo ours; sleep 1")))
        nightly.submit(theirs.add(action("build", "echo theirs; exit 1")))
        assert (await ours.end_of("build")).outcome == "succeeded"
        assert (await theirs.end_of("build")).exit_code == 1
        assert (ours.wrote("build"), theirs.wrote("build")) == (b"ours\n", b"theirs\n")


@pytest.mark.covers("agent-3")
async def test_a_slow_controller_slows_nobody_else(stand: SchedulerStand) -> None:
    slow, quick = Remembering(), Remembering()
    slow.slowness_s = 0.5
    stand.agent("one")
    many = f"head -c {50 << 20} /dev/zero"
    async with (
        directing(stand.controllers, slow, "ci") as ci,
        directing(stand.controllers, quick, "nightly") as nightly,
    ):
        ci.submit(slow.add(action("chatty", many)))
        await slow.until(lambda: slow.log, "some output")
        nightly.submit(quick.add(action("chatty", many)))
        await quick.end_of("chatty")
        assert len(quick.wrote("chatty")) == 50 << 20
        assert "chatty" not in slow.ended_
        slow.slowness_s = 0.0
        await slow.end_of("chatty")
        assert len(slow.wrote("chatty")) == 50 << 20


def test_health_and_metrics(stand: SchedulerStand) -> None:
    assert stand.get("/readyz")[0] == 200
    assert stand.get("/metrics")[0] == 401
    status, body = stand.get("/metrics", token_of("ci"))
    assert (status, b"rota_pending_jobs" in body) == (200, True)
    assert stand.get("/v1/jobs", token_of("ci"))[0] == 404


@pytest.mark.covers("agent-2")
async def test_rota_agent_ls_shows_the_pool(stand: SchedulerStand, tmp_path: Path) -> None:
    def listed(*words: str) -> str:
        return subprocess.run(
            [sys.executable, "-m", "rota", "agent", "ls", *words],
            env={**os.environ, "ROTA_URL": f"http://{stand.rest}", "ROTA_TOKEN": token_of("ci")},
            capture_output=True,
            text=True,
            check=True,
            timeout=PATIENCE_S,
        ).stdout

    assert listed("-o", "json").strip() == "[]"
    told = tmp_path / "told"
    ledger = Remembering()
    stand.agent("one", "--pool", "fast")
    async with directing(stand.controllers, ledger) as client:
        client.submit(ledger.add(action("a", f"while [ ! -e {told} ]; do sleep 0.05; done")))
        await ledger.until(lambda: ledger.running_.get("a"), "it to run")
        [one] = json.loads(listed("-o", "json"))
        assert (one["name"], one["state"], one["pool"]) == ("one", "connected", "fast")
        assert (one["tasks"], one["runs"]) == (1, ["ci/a"])
        assert one["capacity"]["memory"] > one["memory_used"] > 0
        assert "one" in listed()
        told.touch()
        await ledger.end_of("a")
