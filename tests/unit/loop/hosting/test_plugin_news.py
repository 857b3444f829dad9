"""A live cluster and its plugins: they hear of what is committed, and their faults are heard of."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
import structlog
from msgspec import json

from rota.api.people import Role
from rota.control.access import Who
from rota.lifecycle.state import Phase
from rota.loop.hosting import plugin_news
from rota.loop.hosting.fault_book import FaultTally
from rota.loop.hosting.plugin_host import GROUP, PluginHost
from rota.loop.hosting.plugin_news import PluginNews
from rota.loop.live.runtime import Runtime
from rota.loop.telemetry.metrics import Metrics
from rota.model.ids import JobId, NodeName
from rota.model.job import Job, JobTemplate, TaskGroup
from rota.model.plan import Binding
from rota.model.policy import PluginConfig, Policy, SchedulerPolicy
from rota.model.resources import Resources
from rota.model.task import TaskSpec
from rota.store.reading.event_list import EventFilter
from rota.store.store import open_store
from rota.views.why.document import why_document
from tests.kit.live import ADA, OPERATOR, START_MS, no_files, now_ms, spec, submit, until
from tests.kit.waiting import eventually
from tests.obedient import ObedientBackend, node
from tests.unit.loop import plugins_for_tests as strangers

pytestmark = [pytest.mark.virtual_time, pytest.mark.covers("decide-18")]


@pytest.fixture(autouse=True)
def nothing_told() -> Iterator[None]:
    strangers.told.clear()
    yield
    strangers.told.clear()


def host(target: str) -> PluginHost:
    return PluginHost([EntryPoint("stranger", f"{strangers.__name__}:{target}", GROUP)])


POLICY = Policy((SchedulerPolicy(plugins=(PluginConfig("stranger", 1),)),))


@asynccontextmanager
async def cluster(path: Path, target: str, backend: ObedientBackend) -> AsyncIterator[Runtime]:
    with open_store(f"sqlite:///{path}/rota.db") as store:
        runtime = Runtime(store, POLICY, [backend], now_ms, lambda: 0.5, no_files, host=host(target))
        await runtime.start()
        try:
            yield runtime
        finally:
            await runtime.stop()


class TestTold:
    async def test_of_a_job_once_it_is_committed(self, tmp_path: Path) -> None:
        async with cluster(tmp_path, "Listener", ObedientBackend(node("n1", cpus=4))) as runtime:
            [job] = await submit(runtime.desks, spec(tasks=3))
            await until(runtime.desks, job, Phase.RUNNING)
            await eventually(lambda: bool(strangers.told))
            assert strangers.told == [(job.id, 3)]

    async def test_of_no_plan_that_is_only_thought_of(self, tmp_path: Path) -> None:
        """Why, plans, estimates and the check of new jobs decide as well. They were told of those, too."""
        async with cluster(tmp_path, "Listener", ObedientBackend(node("n1", cpus=2))) as runtime:
            desks = runtime.desks
            first, second = await submit(desks, spec(cpus=2), spec(cpus=2))
            await until(desks, first, Phase.RUNNING)
            await eventually(lambda: bool(strangers.told))
            await desks.questions.why(second.id, None, ADA)
            await desks.questions.why(first.id, None, ADA)
            await desks.questions.extend(first.id, 3_600_000, ADA, dry_run=True)
            await asyncio.sleep(5)
            assert strangers.told == [(first.id, 1)]


class TestFaults:
    async def test_are_an_event_a_metric_and_in_the_why_of_the_job(self, tmp_path: Path) -> None:
        async with cluster(tmp_path, "Raising", ObedientBackend(node("n1", cpus=2))) as runtime:
            desks = runtime.desks
            [job] = await submit(desks, spec())
            await until(desks, job, Phase.RUNNING)
            failed = EventFilter(kinds=("plugin.Failed",))
            async with asyncio.timeout(30):
                while not (events := await desks.events.events(0, 10, failed)):
                    await asyncio.sleep(0.1)
            [event] = events
            assert (event.row.subject, event.row.project) == ("stranger", job.spec.template.project)
            data = json.decode(event.row.data)
            assert (data["call"], data["error"], data["job"]) == ("filter", "ValueError: no idea", job.id)
            assert (
                b'rota_plugin_faults_total{call="filter",plugin="stranger"}' in runtime.metrics.exposition()
            )
            why = why_document(await desks.questions.why(job.id, None, ADA), START_MS)
            assert [(one.plugin, one.call) for one in why.faults] == [("stranger", "filter")]

    async def test_of_the_news_itself(self, tmp_path: Path) -> None:
        """The why of a job that runs shows it, though nobody is told again."""
        async with cluster(tmp_path, "RaisingWhenTold", ObedientBackend(node("n1", cpus=2))) as runtime:
            desks = runtime.desks
            [job] = await submit(desks, spec())
            await until(desks, job, Phase.RUNNING)
            await eventually(lambda: bool(runtime.live.news.book.of_job(job.id)))
            why = why_document(await desks.questions.why(job.id, None, ADA), START_MS)
            assert [(one.call, one.error) for one in why.faults] == [
                ("on_job_scheduled", "ValueError: no idea")
            ]

    async def test_are_listed_with_where_a_plugin_comes_from_and_what_it_does(self, tmp_path: Path) -> None:
        async with cluster(tmp_path, "Raising", ObedientBackend(node("n1", cpus=2))) as runtime:
            desks = runtime.desks
            [job] = await submit(desks, spec())
            await until(desks, job, Phase.RUNNING)
            listed = {one.name: one for one in await desks.plugins.plugins(OPERATOR)}
            one = listed["stranger"]
            assert (one.usable, one.does, one.schedulers) == (True, ["filter"], ["rota"])
            [fault] = one.faults
            assert (fault.call, fault.error, fault.job) == ("filter", "ValueError: no idea", job.id)
            assert fault.count >= 1
            assert listed["gpu-packing"].package == "rota"
            assert "score" in listed["gpu-packing"].does

    async def test_of_jobs_of_others_are_counted_and_no_more(self, tmp_path: Path) -> None:
        async with cluster(tmp_path, "Raising", ObedientBackend(node("n1", cpus=2))) as runtime:
            desks = runtime.desks
            [job] = await submit(desks, spec())
            await until(desks, job, Phase.RUNNING)
            other = Who("eve", Role.VIEWER, ("audio",))
            [one] = [one for one in await desks.plugins.plugins(other) if one.name == "stranger"]
            assert [(fault.error, fault.job) for fault in one.faults] == [(None, None)]

    async def test_one_that_fails_in_each_cycle_is_one_event(self, tmp_path: Path) -> None:
        async with cluster(tmp_path, "Raising", ObedientBackend(node("n1", cpus=8))) as runtime:
            desks = runtime.desks
            for _ in range(5):
                [job] = await submit(desks, spec())
                await until(desks, job, Phase.RUNNING)
            await asyncio.sleep(2)
            assert len(await desks.events.events(0, 10, EventFilter(kinds=("plugin.Failed",)))) == 1
            [tally] = runtime.live.news.book.of_plugin("stranger")
            assert tally.count >= 5


async def _dropped(tally: FaultTally) -> None:
    raise OSError("the disk is full")


def _news(host_: PluginHost) -> PluginNews:
    return PluginNews(host_, lambda: POLICY, now_ms, Metrics(), _dropped)


def _one() -> tuple[Job, list[Binding]]:
    job = Job(JobId("1"), JobTemplate((TaskGroup(TaskSpec(Resources(1000))),)))
    return job, [Binding(job.id, 0, NodeName("n1"))]


async def test_a_fault_that_cant_be_published_ends_nothing() -> None:
    news = _news(host("RaisingWhenTold"))
    with structlog.testing.capture_logs() as logs:
        running = asyncio.create_task(news.run())
        news.committed(_one)
        await eventually(lambda: any(one["event"] == "plugin.fault_unpublished" for one in logs))
        news.committed(_one)
        await eventually(lambda: news.book.of_plugin("stranger")[0].count == 2)
    running.cancel()
    news.close()


async def test_what_waits_to_be_told_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugin_news, "MOST_WAITING", 2)
    news = _news(host("Listener"))
    for _ in range(5):
        news.committed(_one)
    with structlog.testing.capture_logs() as logs:
        running = asyncio.create_task(news.run())
        await eventually(lambda: len(strangers.told) == 2)
    assert [one["jobs"] for one in logs if one["event"] == "plugin.untold"] == [3]
    running.cancel()
    news.close()
