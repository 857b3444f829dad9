"""Users who try to go before others, to keep them away, to hold everything, or to learn about them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from typing import Any

import msgspec
import pytest

from rota.api.people import Role
from rota.lifecycle.state import Phase
from rota.model.causes import Cause
from rota.sdk.client import Client
from rota.sdk.errors import BadInput, Conflict, Forbidden, NotFound, RotaError, TooLarge
from tests.real.server.rota_server import RotaServer, eventually, shell

pytestmark = pytest.mark.covers("trust-4")

POLICY = """
queues:
  - {name: default}
  - {name: long}
limits:
  default: {waiting_jobs: 5, time_limit: 1h, default_time_limit: 10m}
  projects:
    red: {priority: high, tolerations: [gpu], running_jobs: 2}
    blue: {at_once: {cpu: 1}, queues: [default]}
  users:
    hasty: {submissions_per_minute: 2, upload_bytes: 8Ki}
    chatty: {log_bytes: 1Ki}
  queues:
    long: {time_limit: 4h}
"""
EVERYBODY = [{"key": "app", "operator": "DoesNotExist"}]
TINY = {"resources": {"cpu": "1m"}}


def _server(tmp_path_factory: pytest.TempPathFactory, *flags: str) -> Iterator[RotaServer]:
    server = RotaServer(tmp_path_factory.mktemp("rota"), *flags)
    server.start()
    for project in ("red", "blue"):
        server.client.set_project(project, members={})
    yield server
    server.remove()


@pytest.fixture(scope="module")
def _plain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RotaServer]:
    yield from _server(tmp_path_factory)


@pytest.fixture(scope="module")
def _strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RotaServer]:
    policy = tmp_path_factory.mktemp("policy") / "policy.yaml"
    policy.write_text(POLICY)
    yield from _server(tmp_path_factory, "--policy", str(policy))


def _cleared(server: RotaServer) -> None:
    for job in server.unfinished():
        with suppress(Conflict):  # It ended by itself meanwhile.
            server.client.cancel(job.id)
    eventually(lambda: not any(server.unfinished()), "all jobs to end")


@pytest.fixture
def plain(_plain: RotaServer) -> Iterator[RotaServer]:
    """Without a policy."""
    yield _plain
    _cleared(_plain)


@pytest.fixture
def strict(_strict: RotaServer) -> Iterator[RotaServer]:
    yield _strict
    _cleared(_strict)


def of(server: RotaServer, project: str, user: str = "") -> Client:
    """A submitter of the project. Whoever asks for it closes it."""
    secret = server.client.add_token(user or f"{project}-user", Role.SUBMITTER, projects=[project]).secret
    return server.impatient(secret)


def sleeping(seconds: int = 60, **fields: Any) -> dict[str, Any]:
    return shell(f"exec sleep {seconds}", **fields)


def submitted(client: Client, **fields: Any) -> str:
    [job] = client.submit(sleeping(**fields)).jobs
    return job.id


def refused(client: Client, kind: type[RotaError] = Forbidden, **fields: Any) -> str:
    """The field that the refusal names."""
    with pytest.raises(kind) as error:
        client.submit(sleeping(**fields))
    assert error.value.help
    return str(error.value.field)


def data(answer: object) -> Any:
    """As programs get it."""
    return answer


def reasons(client: Client, job_id: str) -> list[str]:
    return [one["message"] for one in data(client.why(job_id).why["reasons"])]


def test_nobody_evicts_others_by_a_priority_of_their_own_choosing(plain: RotaServer) -> None:
    with of(plain, "red") as red, of(plain, "blue") as blue:
        victim = submitted(red, resources={"cpu": plain.cpus})
        plain.started(victim)
        for priority in (2**31 - 1, "critical", "high", 1):
            assert refused(blue, priority=priority, resources={"cpu": plain.cpus}) == "jobs[0].priority"
        assert refused(blue, preemptible=False) == "jobs[0].preemptible"
        waiting = submitted(blue, resources={"cpu": plain.cpus}, may_preempt=True)
        assert plain.client.job(waiting).job.phase is Phase.PENDING
        assert plain.client.job(victim).job.phase is Phase.RUNNING
        # An operator may.
        plain.client.submit(sleeping(priority="critical", resources={"cpu": "1m"}))


def test_affinity_reaches_jobs_of_the_own_project_alone(plain: RotaServer) -> None:
    with of(plain, "red") as red, of(plain, "blue") as blue:
        alone = [{"to": EVERYBODY, "within": "host", "anti": True}]
        plain.started(submitted(blue, affinity=alone, **TINY))
        plain.started(submitted(red, **TINY))
        assert plain.client.job(submitted(blue, **TINY)).job.phase is Phase.PENDING
        for namespaces in (["*"], ["red"], ["default"]):
            wide = [{"to": EVERYBODY, "within": "host", "anti": True, "namespaces": namespaces}]
            assert refused(blue, affinity=wide) == "jobs[0].affinity"
        assert refused(blue, namespace="red", affinity=alone) == "jobs[0].namespace"


def test_invented_queues_are_refused_and_leave_no_trace(plain: RotaServer) -> None:
    _, before, _ = plain.rest("GET", "/metrics")
    with of(plain, "blue") as blue:
        for number in range(20):
            assert refused(blue, BadInput, queue=f"invented-{number}") == "jobs[0].queue"
    with pytest.raises(BadInput, match='there is no queue "invented"'):
        plain.client.submit(sleeping(queue="invented"))
    assert [queue.name for queue in plain.client.queues()] == ["default"]
    _, after, _ = plain.rest("GET", "/metrics")
    assert b"invented" not in after
    assert len(after) < len(before) + 10_000


def test_unknown_projects_are_refused(plain: RotaServer) -> None:
    with of(plain, "nowhere") as nobody:
        assert refused(nobody, BadInput, project="nowhere") == "jobs[0].project"
    with pytest.raises(BadInput, match='there is no project "nowhere"'):
        plain.client.submit(sleeping(project="nowhere"))


def test_taints_of_operators_hold(plain: RotaServer) -> None:
    node = plain.node
    plain.client.set_node(node, taints=["broken:NoSchedule"])
    try:
        with of(plain, "blue") as blue:
            for toleration in ("*", "broken", {"operator": "Exists"}, {"key": "broken", "value": ""}):
                assert refused(blue, tolerations=[toleration]) == "jobs[0].tolerations"
            with pytest.raises(BadInput, match="never start") as refusal:
                blue.submit(sleeping())
            assert "tolerate" not in str(refusal.value.help)
        with pytest.raises(BadInput, match="never start") as refusal:
            plain.client.submit(sleeping())
        assert "it could if you tolerate broken:NoSchedule" in str(refusal.value.help)
    finally:
        plain.client.set_node(node, taints=[])


def test_a_user_runs_no_more_at_once_than_the_limit(strict: RotaServer) -> None:
    with of(strict, "red") as red, of(strict, "blue") as blue:
        first, second = (submitted(red, **TINY) for _ in range(2))
        strict.started(first, second)
        third = submitted(red, **TINY)
        waits = eventually(lambda: reasons(red, third), "a reason")
        assert waits == ["limit of project red: 2 jobs at once"]
        strict.client.cancel(first)
        strict.started(third)
        strict.started(submitted(blue, resources={"cpu": 1}))
        over = submitted(blue, resources={"cpu": "500m"})
        waits = eventually(lambda: reasons(blue, over), "a reason")
        assert waits == ["limit of project blue: 1 cpu at once, asks 0.5"]
        with pytest.raises(BadInput, match="limit of project blue: 1 cpu at once, asks 2"):
            blue.submit(sleeping(resources={"cpu": 2}))


def test_so_many_wait_however_they_come(strict: RotaServer) -> None:
    with of(strict, "blue", "greedy") as blue:
        with pytest.raises(Conflict, match="more than 5 would wait"):
            blue.submit(sleeping(array="0-5", hold=True))
        blue.submit(sleeping(array="0-3", hold=True))
        submitted(blue, hold=True)
        with pytest.raises(Conflict, match="limit of user greedy; 5 wait now"):
            blue.submit(sleeping())
        strict.client.submit(sleeping(array="0-9", hold=True))


def test_time_limits_have_a_default_and_a_most(strict: RotaServer) -> None:
    with of(strict, "red") as red, of(strict, "blue") as blue:
        endless = {"command": ["sleep", "60"], **TINY}
        [job] = red.submit(endless).jobs
        assert red.job(job.id).job.time_limit_s == 600
        assert refused(red, time_limit="61m") == "jobs[0].time_limit"
        submitted(red, time_limit="3h", queue="long", hold=True)
        assert refused(red, time_limit="5h", queue="long") == "jobs[0].time_limit"
        assert refused(blue, queue="long") == "jobs[0].queue"
        strict.started(job.id)
        assert red.extend(job.id, "30m").extension["granted"]
        with pytest.raises(Forbidden, match="a time limit of 2h is too long"):
            red.extend(job.id, "2h")
        with pytest.raises(Forbidden):
            red.extend(job.id, "+2h")
        assert strict.client.extend(job.id, "2h").extension["granted"]


def test_what_a_policy_allows_more(strict: RotaServer) -> None:
    with of(strict, "red") as red:
        submitted(red, priority="high", tolerations=["gpu"], hold=True)
        assert refused(red, priority="critical") == "jobs[0].priority"
        assert refused(red, tolerations=["gpu", "*"]) == "jobs[0].tolerations"


def test_so_many_submissions_a_minute(strict: RotaServer) -> None:
    secret = strict.client.add_token("hasty", Role.SUBMITTER, projects=["blue"]).secret
    body = {"jobs": [sleeping(hold=True)]}
    answers = [
        strict.rest("POST", f"/v1/{path}", body, Authorization=f"Bearer {secret}")
        for path in ("jobs?dry_run=true", "plan", "jobs", "plan")
    ]
    assert [status for status, _, _ in answers] == [200, 200, 429, 429]
    _, problem, headers = answers[2]
    assert problem["detail"] == "more than 2 submissions a minute (limit of user hasty)"
    assert 0 < int(headers["retry-after"]) <= 30


def test_so_many_bytes_of_files(strict: RotaServer) -> None:
    with of(strict, "blue", "hasty") as hasty, of(strict, "blue") as blue:
        with pytest.raises(TooLarge, match="of 8Ki"):
            hasty.upload(bytes(9000))
        blue.upload(bytes(9000))


def test_nobody_is_told_to_do_what_they_may_not(plain: RotaServer) -> None:
    """With a higher priority the job would start: an operator may say so."""
    with of(plain, "red") as red, of(plain, "blue") as blue:
        plain.started(submitted(red, resources={"cpu": plain.cpus}, time_limit="10m"))
        waits = submitted(blue, resources={"cpu": plain.cpus}, time_limit="10m")
        told = [one["change"] for one in data(blue.why(waits).why["remedies"])]
        told_operator = [one["change"] for one in data(plain.client.why(waits).why["remedies"])]
    assert "priority" not in told
    assert sorted(told_operator) == sorted([*told, "priority"])


def test_so_many_bytes_of_output(strict: RotaServer) -> None:
    """It has written more than its pipe holds when it ends."""
    writes = shell("head -c 200000 /dev/zero | tr '\\0' a; exit 3", **TINY)
    with of(strict, "blue", "chatty") as chatty, of(strict, "blue") as blue:
        [limited], [free] = chatty.submit(writes).jobs, blue.submit(writes).jobs
        assert chatty.wait(limited.id).exit_code == blue.wait(free.id).exit_code == 3
        said = "rota: output limit of 1 KiB reached; the rest was dropped\n"
        assert strict.output(limited.id) == "a" * 1024 + "\n" + said
        assert strict.output(free.id) == "a" * 200_000
        shown = {one.limit: (one.value, one.of, one.set_by) for one in chatty.limits().limits}
        assert shown["log_bytes"] == ("1Ki", "job", "user chatty")
        assert "log_bytes" not in {one.limit for one in blue.limits().limits}


class TestOthersAreHidden:
    """A job of red waits behind one of blue, for which its start is planned."""

    @pytest.fixture
    def jobs(self, plain: RotaServer) -> tuple[str, str]:
        with of(plain, "red") as red, of(plain, "blue") as blue:
            runs = submitted(blue, resources={"cpu": plain.cpus}, time_limit="10m")
            plain.started(runs)
            waits = submitted(red, resources={"cpu": plain.cpus}, time_limit="10m")
        return runs, waits

    def test_from_who_asks_for_more_time(self, plain: RotaServer, jobs: tuple[str, str]) -> None:
        runs, waits = jobs
        with of(plain, "blue") as blue:
            extension = data(blue.extend(runs, "20m", dry_run=True).extension)
        assert (extension["moved"], extension["others_moved"]) == ([], 1)
        seen = data(plain.client.extend(runs, "20m", dry_run=True).extension)
        assert [one["job"] for one in seen["moved"]] == [waits]

    def test_from_who_asks_why(self, plain: RotaServer, jobs: tuple[str, str]) -> None:
        runs, waits = jobs
        with of(plain, "red") as red:
            answer = red.why(waits)
        assert answer.why["outcome"] == "waiting"
        assert runs not in [job for remedy in data(answer.why["remedies"]) for job in remedy["evicts"]]

    def test_from_who_is_evicted(self, plain: RotaServer, jobs: tuple[str, str]) -> None:
        evicted, _ = jobs
        preemptor = plain.submit_one(
            sleeping(project="red", priority="critical", resources={"cpu": plain.cpus}, time_limit="10m")
        )
        plain.started(preemptor)
        evictions: dict[str, Any] = {"kind": "job.Evicted", "subject": evicted}
        both = plain.client.add_token("both", Role.VIEWER, projects=["blue", "red"]).secret
        with of(plain, "blue") as blue, plain.impatient(both) as sees_both:
            for follow in (False, True):
                [hidden] = islice(blue.events(follow=follow, after=0, **evictions), 1)
                assert hidden.data["preemptor"] == "a job of another project"
                assert "red" not in hidden.data.values()
                for who in (sees_both, plain.client):
                    [seen] = islice(who.events(follow=follow, after=0, **evictions), 1)
                    assert (seen.data["preemptor"], seen.data["preemptor_project"]) == (preemptor, "red")
            [latest] = blue.events(last=1, **evictions)
            assert latest.data == hidden.data
            detail = blue.job(evicted)
            assert detail.job.cause is Cause.PREEMPTED
            assert f'"{preemptor}"' not in msgspec.json.encode(detail).decode()

    def test_from_who_would_connect_to_them(self, plain: RotaServer, jobs: tuple[str, str]) -> None:
        runs, waits = jobs
        with of(plain, "blue") as blue:
            assert refused(blue, BadInput, connect_to=waits) == "jobs[0].connect_to"
            assert refused(blue, BadInput, connect_to="999999") == "jobs[0].connect_to"
            submitted(blue, connect_to=runs)


def test_whose_start_would_move_is_hidden(strict: RotaServer) -> None:
    everything: dict[str, Any] = {"resources": {"cpu": strict.cpus}, "time_limit": "10m"}
    strict.started(strict.submit_one(sleeping(**everything, priority="critical")))
    with of(strict, "red") as red, of(strict, "blue") as blue:
        waits = submitted(blue, resources={"cpu": 1}, time_limit="10m")
        asked = sleeping(**everything, priority="high")
        answer = red.plan(asked)
        assert (answer.changes, answer.others_changed) == ([], 1)
    assert [change.job for change in strict.client.plan(asked).changes] == [waits]


def test_everybody_sees_their_own_limits_and_how_much_of_them_is_used(strict: RotaServer) -> None:
    with of(strict, "blue", "ada") as ada:
        strict.started(submitted(ada, resources={"cpu": "500m"}))
        submitted(ada, hold=True)
        found = ada.limits()
        with pytest.raises(Forbidden):
            ada.limits(user="hasty")
        with pytest.raises(NotFound):
            ada.limits(project="red")
    shown = {(one.limit, one.of): (one.value, one.used, one.set_by) for one in found.limits}
    assert (found.user, found.project, found.exempt) == ("ada", "blue", False)
    assert shown["priority", "job"] == ("medium", None, "built in")
    assert shown["queues", "job"] == ("default", None, "project blue")
    assert shown["waiting_jobs", "user ada"] == ("5", "1", "default")
    assert shown["at_once.cpu", "project blue"] == ("1", "0.5", "project blue")
    assert shown["time_limit", "job"] == ("4h", None, "queue long")
    assert strict.client.limits(user="hasty", project="red").limits
    asked = ("limits", "--user", "hasty", "--project", "red")
    printed = strict.rota(*asked, environment={"COLUMNS": "80"}).stdout
    assert "submissions_per_minute" in printed
    assert max(map(len, printed.splitlines())) <= 80
