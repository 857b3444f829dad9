"""Events as they happen, also for those who were cut off meanwhile."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from rota.lifecycle.state import Phase
from tests.real.server.conftest import NewServer
from tests.real.server.rota_server import RotaServer, shell


@pytest.mark.covers("job-1")
def test_who_follows_is_told_everything_once_and_in_order(server: RotaServer) -> None:
    ids = server.submit(*[shell("true", resources={"cpu": "100m"}) for _ in range(5)])
    first = next(server.client.events(subject=ids[0]))
    seen: dict[str, list[str]] = {job: [] for job in ids}
    last = 0
    for event in server.client.events(follow=True, after=first.seq - 1):
        assert event.seq > last
        last = event.seq
        if event.subject in seen:
            seen[event.subject].append(event.kind)
        if all(kinds and kinds[-1] == "job.Ended" for kinds in seen.values()):
            break
    assert all(kinds == ["job.Submitted", "job.Bound", "job.Started", "job.Ended"] for kinds in seen.values())


def test_who_is_cut_off_goes_on_where_it_was(new_server: NewServer) -> None:
    """The client of the test isn't told of the restart: it meets it."""
    server = new_server()
    job = server.submit_one(shell("sleep 1.5; echo done"))

    def follow() -> list[str]:
        kinds = []
        for event in server.client.events(follow=True, after=0, subject=job):
            kinds.append(event.kind)
            if event.kind == "job.Ended":
                return kinds
        return kinds

    with ThreadPoolExecutor(1) as pool:
        following = pool.submit(follow)
        server.started(job)
        server.kill()
        server.start()
        assert following.result(60) == ["job.Submitted", "job.Bound", "job.Started", "job.Ended"]
    assert server.client.job(job).job.phase is Phase.SUCCEEDED


def test_only_events_of_some_kind_or_job_are_told(server: RotaServer) -> None:
    job = server.run(shell("true"))
    kinds = {event.kind for event in server.client.events(subject=job.id, kind="job.Started,job.Ended")}
    assert kinds == {"job.Started", "job.Ended"}
    assert not list(server.client.events(subject=job.id, project="elsewhere"))


def test_the_latest_come_in_their_order_and_what_follows_after_them(server: RotaServer) -> None:
    job = server.run(shell("true"))
    happened = list(server.client.events(subject=job.id))
    assert list(server.client.events(subject=job.id, last=2)) == happened[-2:]
    followed = server.client.events(follow=True, project=job.project, last=1)
    latest = next(followed)
    assert [latest] == list(server.client.events(project=job.project, last=1))
    held = server.submit_one(shell("true", hold=True))
    assert (event := next(followed)).subject == held
    assert event.seq > latest.seq
    server.client.cancel(held)
