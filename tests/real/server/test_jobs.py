"""What jobs are given, and what becomes of them."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path
from typing import Any

import pytest

from rota.lifecycle.state import EndReason, Phase
from rota.model.causes import Cause
from rota.sdk.errors import BadInput, Conflict, NotFound
from tests.real.process.host import is_alive
from tests.real.server.rota_server import RotaServer, eventually, shell


@pytest.mark.covers("job-1", "job-2", "back-2")
def test_a_job_runs_and_ends_on_any_store(any_store: RotaServer) -> None:
    job = any_store.run(shell('echo "$GREETING"; exit 3', environment={"GREETING": "good day"}))
    assert (job.phase, job.cause, job.exit_code) == (Phase.FAILED, Cause.TASK_FAILED, 3)
    assert any_store.output(job.id) == "good day\n"
    kinds = [event.kind for event in any_store.client.events(subject=job.id)]
    assert kinds == ["job.Submitted", "job.Bound", "job.Started", "job.Ended"]
    assert job.submitted <= job.started <= job.ended  # type: ignore[operator]


@pytest.mark.covers("job-2")
def test_a_script_gets_its_arguments_and_its_directory(server: RotaServer, tmp_path: Path) -> None:
    script = '#!/bin/bash\n[[ -n $BASH ]] && pwd && echo "$# $2"\n'
    job = server.run({"script": script, "args": ["one", "and two"], "directory": str(tmp_path)})
    assert server.output(job.id) == f"{tmp_path}\n2 and two\n"


@pytest.mark.covers("job-2", "job-5")
def test_without_a_directory_it_has_a_folder_of_its_own_that_is_removed(server: RotaServer) -> None:
    job = server.run(shell("pwd; echo draft > draft"))
    folder = Path(server.output(job.id).strip())
    assert folder.is_relative_to(server.data)
    eventually(lambda: not folder.exists(), "the folder to be removed")


@pytest.mark.covers("job-2")
def test_input_files_are_there_before_it_starts(server: RotaServer) -> None:
    data, tool = bytes(range(256)), b"#!/bin/sh\nwc -c < in/data\n"
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w:gz") as tar:
        member = tarfile.TarInfo("sub/from-archive")
        member.size = 3
        tar.addfile(member, io.BytesIO(b"abc"))
    job = server.run(
        shell(
            "./tool && cat src/sub/from-archive",
            files=[
                _uploaded(server, "in/data", data),
                {**_uploaded(server, "tool", tool), "executable": True},
                {**_uploaded(server, "src", archive.getvalue()), "unpack": True},
            ],
        )
    )
    assert server.output(job.id) == "256\nabc"


@pytest.mark.covers("job-2")
def test_a_job_whose_file_nobody_uploaded_never_starts(server: RotaServer) -> None:
    missing = {"path": "data", "sha256": "0" * 64, "size": 1}
    job = server.run(shell("echo started", files=[missing]))
    assert job.phase is Phase.FAILED
    [attempt] = server.client.job(job.id).attempts
    assert attempt.reason is EndReason.STAGING
    assert "data" in attempt.message
    assert server.output(job.id) == ""


@pytest.mark.covers("job-2", "ops-3")
def test_an_archive_that_leaves_its_folder_harms_nothing(server: RotaServer, tmp_path: Path) -> None:
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for name in ("../escaped", str(tmp_path / "escaped")):
            member = tarfile.TarInfo(name)
            member.size = 1
            tar.addfile(member, io.BytesIO(b"x"))
    file = {**_uploaded(server, "src", archive.getvalue()), "unpack": True}
    job = server.run(shell("echo started", files=[file]))
    assert job.phase is Phase.FAILED
    assert server.client.job(job.id).attempts[0].reason is EndReason.STAGING
    assert not (tmp_path / "escaped").exists()


@pytest.mark.covers("job-4")
def test_tasks_know_their_rank_and_their_peers(server: RotaServer) -> None:
    says = 'echo "$ROTA_RANK of $ROTA_TASKS on $ROTA_HOSTS"; wc -l < "$ROTA_HOSTFILE"'
    job = server.run(shell(says, tasks=3, resources={"cpu": "100m"}))
    hosts = ",".join([server.node] * 3)
    assert job.phase is Phase.SUCCEEDED
    for rank in range(3):
        assert server.output(job.id, [rank]) == f"{rank} of 3 on {hosts}\n3\n"
    together = [f"{rank} of 3 on {hosts}" for rank in range(3)]
    assert sorted(server.output(job.id).splitlines()) == [*together, "3", "3", "3"]


def test_an_array_is_a_job_for_each_index(server: RotaServer) -> None:
    submitted = server.client.submit(
        shell('echo "$ROTA_ARRAY_INDEX"', array="1-9:4", resources={"cpu": "100m"})
    )
    ids = [job.id for job in submitted.jobs]
    number = submitted.jobs[0].array
    assert ids == [f"{number}.1", f"{number}.5", f"{number}.9"]
    assert [server.over(job_id).phase for job_id in ids] == [Phase.SUCCEEDED] * 3
    assert [server.output(job_id) for job_id in ids] == ["1\n", "5\n", "9\n"]
    assert sorted(job.id for job in server.client.jobs(array=number)) == sorted(ids)


@pytest.mark.covers("job-6")
def test_a_job_that_fails_is_tried_again(server: RotaServer, tmp_path: Path) -> None:
    tried = tmp_path / "tried"
    job = server.run(
        shell(
            f'echo "attempt $ROTA_ATTEMPT" >> {tried}; [ "$ROTA_ATTEMPT" = 3 ] || exit 75',
            retry={"limit": 2, "backoff": "50ms", "exit_codes": [75]},
        )
    )
    assert job.phase is Phase.SUCCEEDED
    assert tried.read_text() == "attempt 1\nattempt 2\nattempt 3\n"
    assert [attempt.exit_code for attempt in server.client.job(job.id).attempts] == [75, 75, 0]


@pytest.mark.covers("job-6")
def test_an_exit_code_that_is_not_to_be_tried_again_is_not(server: RotaServer) -> None:
    job = server.run(shell("exit 1", retry={"limit": 5, "backoff": "50ms", "exit_codes": [75]}))
    assert job.phase is Phase.FAILED
    assert len(server.client.job(job.id).attempts) == 1


ONE_FAILS = '[ "$ROTA_RANK" = 1 ] && [ ! -e {once} ] && touch {once} && exit 3; {then}'


@pytest.mark.covers("gang-5")
@pytest.mark.parametrize(
    ("policy", "then", "phase", "starts_of"),
    [
        ("fail-job", "sleep 60", Phase.FAILED, (1, 1)),
        ("restart-job", "sleep 0.3", Phase.SUCCEEDED, (2, 2)),
        ("restart-task", "sleep 0.3", Phase.SUCCEEDED, (1, 2)),
        ("continue", "sleep 0.3", Phase.FAILED, (1, 1)),
    ],
)
def test_when_one_task_of_a_gang_fails(
    server: RotaServer, tmp_path: Path, policy: str, then: str, phase: Phase, starts_of: tuple[int, int]
) -> None:
    job = server.run(
        shell(
            ONE_FAILS.format(once=tmp_path / "once", then=then),
            tasks=2,
            min_available=1,
            resources={"cpu": "100m"},
            on_task_failure=policy,
            retry={"limit": 1, "backoff": "20ms"},
        )
    )
    ranks = [attempt.rank for attempt in server.client.job(job.id).attempts]
    assert (job.phase, (ranks.count(0), ranks.count(1))) == (phase, starts_of)


def test_jobs_wait_for_those_they_depend_on(server: RotaServer) -> None:
    first = server.submit_one(shell("exit 1", hold=True))
    after_failure, after_any, after_success = server.submit(
        shell("true", depends_on=[{"job": first, "after": "failure"}]),
        shell("true", depends_on=[{"job": first, "after": "any"}]),
        shell("true", depends_on=[first]),
    )
    waiting = server.client.job(after_any).job
    assert (waiting.phase, waiting.cause, waiting.waits_for) == (Phase.CREATED, Cause.DEPENDENCY, [first])
    server.client.release(first)
    assert server.over(after_failure).phase is Phase.SUCCEEDED
    assert server.over(after_any).phase is Phase.SUCCEEDED
    never = server.over(after_success)
    assert (never.phase, never.cause) == (Phase.CANCELLED, Cause.DEPENDENCY_FAILED)
    with pytest.raises(BadInput, match="there is no job 999999"):
        server.submit(shell("true", depends_on=["999999"]))


def test_a_held_job_waits_until_it_is_released(server: RotaServer) -> None:
    job = server.submit_one(shell("true", hold=True))
    assert server.client.job(job).job.cause is Cause.HELD
    server.client.release(job)
    assert server.over(job).phase is Phase.SUCCEEDED
    with pytest.raises(Conflict):
        server.client.hold(job)


TREE = """
echo $$
setsid sh -c 'echo $$; trap "" TERM; sleep 60' &
(sh -c 'echo $$; sleep 60' &)
sleep 60
"""


@pytest.mark.covers("job-5")
def test_cancelling_ends_the_whole_tree_of_processes(server: RotaServer) -> None:
    job = server.submit_one(shell(TREE, grace="200ms"))
    pids = eventually(
        lambda: found if len(found := server.output(job).split()) == 3 else None, "three processes"
    )
    server.client.cancel(job, message="no longer needed")
    over = server.over(job)
    assert (over.phase, over.cause, over.message) == (Phase.CANCELLED, Cause.BY_USER, "no longer needed")
    assert not [pid for pid in pids if is_alive(int(pid))]
    with pytest.raises(Conflict, match="is over"):
        server.client.cancel(job)


@pytest.mark.covers("time-7")
def test_a_time_limit_comes_with_a_warning_before(server: RotaServer) -> None:
    job = server.run(
        shell(
            "trap 'echo warned' USR1; echo begun; while true; do sleep 0.05; done",
            time_limit="2s",
            warn={"signal": "SIGUSR1", "before": "1s"},
            grace="100ms",
        )
    )
    assert (job.phase, job.cause) == (Phase.TIMED_OUT, Cause.TIME_LIMIT)
    [first, *_, last] = server.output(job.id).splitlines()
    assert (first, last) == ("begun", "warned")


def test_outputs_are_kept_as_declared(server: RotaServer) -> None:
    script = "mkdir out; echo $ROTA_RANK > out/result; echo secret > other"
    job = server.run(
        shell(script, tasks=2, resources={"cpu": "100m"}, outputs=["out/result", "never-written"])
    )
    assert [server.client.output(job.id, "out/result", rank=rank) for rank in (0, 1)] == [b"0\n", b"1\n"]
    for path in ("never-written", "other"):
        with pytest.raises(NotFound):
            server.client.output(job.id, path)


def test_a_program_that_does_not_exist_is_named(server: RotaServer) -> None:
    job = server.run({"command": ["/no/such/program"]})
    assert job.phase is Phase.FAILED
    [attempt] = server.client.job(job.id).attempts
    assert attempt.reason is EndReason.NOT_STARTED
    assert "/no/such/program" in attempt.message


def _uploaded(server: RotaServer, path: str, data: bytes) -> dict[str, Any]:
    return {"path": path, "sha256": server.client.upload(data), "size": len(data)}


@pytest.mark.covers("first-1")
def test_whoever_asks_for_its_end_is_answered_then(server: RotaServer) -> None:
    [job] = server.client.submit(shell("true")).jobs
    while not (found := server.client.job(job.id, until="over", within_s=10).job).is_over:
        pass
    assert found.phase is Phase.SUCCEEDED
    [held] = server.client.submit(shell("true", hold=True)).jobs
    for until in ("started", "over"):
        assert server.client.job(held.id, until=until, within_s=0.05).job.phase is Phase.CREATED
    with pytest.raises(BadInput):
        server.client.job(held.id, until="tomorrow")
    with pytest.raises(BadInput):
        server.client.job(held.id, until="over", within_s=11)
