"""Many jobs, in several requests."""

from __future__ import annotations

from typing import Any, cast

import pytest
from msgspec import json

from rota.api.jobs import Submitted
from rota.api.limits import BODY_BYTES, MOST_JOBS
from rota.cli.client.connection import Server
from rota.cli.jobs.parts import CutShort, submit_in_parts
from rota.intake.job_files import JobData, job_file_of
from rota.intake.submissions import read_submission
from rota.sdk.errors import BadInput, Conflict, TooLarge, Unavailable, Unreachable
from tests.unit.answers import submitted
from tests.unit.cli.documents import a_job

LARGE = "x" * (BODY_BYTES // 3)


class Taking:
    """Takes what it can read, so many bytes at once, and numbers jobs from 17 on."""

    def __init__(self, most_bytes: int = BODY_BYTES) -> None:
        self.requests: list[list[JobData]] = []
        self.fails: dict[int, BaseException] = {}
        """By how many requests were taken before."""
        self._most_bytes = most_bytes
        self._next = 17

    def submit(self, *jobs: JobData, dry_run: bool = False) -> Submitted:
        if len(self.requests) in self.fails:
            raise self.fails.pop(len(self.requests))
        body = json.encode({"jobs": jobs})
        if len(body) > self._most_bytes:
            raise TooLarge(f"the body has more than {self._most_bytes:,} bytes", status=413)
        assert len(jobs) <= MOST_JOBS
        made = []
        for entry in read_submission(body, "default", "ada").entries:
            number = str(self._next)
            self._next += entry.job_count
            ids = [f"{number}.{index}" for index in entry.array] if entry.array else [number]
            made += [a_job(one, array=number if entry.array else None) for one in ids]
        self.requests.append([dict(job) for job in jobs])
        return submitted(made, dry_run=dry_run, warnings=["jobs[1].name: is odd"])


def job(name: str, **fields: Any) -> JobData:
    return {"name": name, "command": ["true"], **fields}


def many(count: int) -> list[JobData]:
    return [job(f"n{at}") for at in range(count)]


def sent(server: Taking, jobs: list[JobData], **options: bool) -> Submitted:
    return submit_in_parts(cast(Server, server), job_file_of(jobs), **options)


def names(server: Taking) -> list[list[str]]:
    return [[str(one["name"]) for one in request] for request in server.requests]


def test_what_has_room_in_one_request_is_one() -> None:
    server = Taking()
    answer = sent(server, many(MOST_JOBS))
    assert [len(request) for request in server.requests] == [MOST_JOBS]
    assert [one.id for one in answer.jobs] == [str(17 + at) for at in range(MOST_JOBS)]


def test_no_request_has_more_than_a_thousand_jobs() -> None:
    server = Taking()
    answer = sent(server, many(2 * MOST_JOBS + 1))
    assert [len(request) for request in server.requests] == [MOST_JOBS, MOST_JOBS, 1]
    assert [one.id for one in answer.jobs] == [str(17 + at) for at in range(2 * MOST_JOBS + 1)]
    assert answer.warnings == [f"jobs[{at}].name: is odd" for at in (1, 1001, 2001)]


def test_no_request_is_larger_than_a_body_may_be() -> None:
    server = Taking()
    sent(server, [job(name, environment={"A": LARGE}) for name in "abcde"])
    assert names(server) == [["a", "b"], ["c", "d"], ["e"]]


def test_a_request_may_fill_a_body_to_the_last_byte() -> None:
    room = BODY_BYTES - len(json.encode({"jobs": [job("a", environment={"A": ""}), job("b")]}))
    for more, requests in ((0, 1), (1, 2)):
        server = Taking()
        sent(server, [job("a", environment={"A": "x" * (room + more)}), job("b")])
        assert len(server.requests) == requests


def test_a_server_that_takes_less_gets_less() -> None:
    server = Taking(most_bytes=200)
    answer = sent(server, many(9))
    assert [name for request in names(server) for name in request] == [f"n{at}" for at in range(9)]
    assert len(answer.jobs) == 9


def test_jobs_of_earlier_requests_are_named_by_their_ids() -> None:
    server = Taking()
    jobs = many(MOST_JOBS)
    jobs[3] = job("first")
    jobs[4] = job("sweep", array=3)
    later = job("later")
    jobs += [
        later,
        job("z", depends_on=["first", {"job": "sweep", "after": "any"}, "later", 5], connect_to="first"),
        job("y", connect_to="later"),
    ]
    sent(server, jobs)
    assert server.requests[1] == [
        later,
        job("z", depends_on=["20", {"job": "21", "after": "any"}, "later", 5], connect_to="20"),
        job("y", connect_to="later"),
    ]


def test_in_a_dry_run_those_before_are_not_waited_for() -> None:
    """They have no ids: what depends on them was checked with the file."""
    server = Taking()
    jobs = [*many(MOST_JOBS), job("z", depends_on=["n0", {"job": "n1"}, "17"], connect_to="n2")]
    assert sent(server, jobs, dry_run=True).dry_run
    assert server.requests[1] == [job("z", depends_on=["17"], connect_to="")]


@pytest.mark.covers("ops-3")
def test_a_refusal_of_the_first_request_is_all_there_is_to_tell() -> None:
    server = Taking()
    server.fails[0] = BadInput("there is no queue q", field="jobs[2].queue", status=422)
    with pytest.raises(BadInput) as refused:
        sent(server, many(2000))
    assert refused.value.field == "jobs[2].queue"
    assert server.requests == []


@pytest.mark.covers("ops-3")
@pytest.mark.parametrize(
    ("error", "told"),
    [
        (
            Conflict("closed", help="choose another queue for jobs[2]", status=409),
            "not submitted: jobs[1000] to",
        ),
        (Unavailable("the disk is full", status=503), "not submitted: jobs[1000] to jobs[2000]"),
        (
            Unreachable("no server answers"),
            "not confirmed: jobs[1000] to jobs[1999]; not submitted: jobs[2000]",
        ),
        (Unavailable("the leader went away", status=502), "not confirmed: jobs[1000] to jobs[1999]"),
        (KeyboardInterrupt(), "not confirmed: jobs[1000] to jobs[1999]"),
    ],
)
@pytest.mark.slow
def test_a_later_refusal_tells_what_was_kept(error: BaseException, told: str) -> None:
    server = Taking()
    server.fails[1] = error
    with pytest.raises(CutShort) as cut:
        sent(server, many(2001))
    assert cut.value.note.startswith("submitted: jobs[0] to jobs[999], as 17 to 1016; ")
    assert told in cut.value.note
    assert len(cut.value.kept.jobs) == 1000
    assert type(cut.value.cause) is type(error)
    if isinstance(cut.value.cause, Conflict):
        assert cut.value.cause.help == "choose another queue for jobs[1002]", "as it is counted in the file"


@pytest.mark.covers("ops-3")
def test_a_job_that_is_too_large_by_itself_is_named() -> None:
    server = Taking()
    with pytest.raises(CutShort) as cut:
        sent(server, [job("a"), job("b", environment={"A": 4 * LARGE}), job("c")])
    assert cut.value.note == "submitted: jobs[0], as 17; not submitted: jobs[1] to jobs[2]"
    assert isinstance(cut.value.cause, TooLarge)
    assert cut.value.cause.field == "jobs[1]"
    assert "`files`" in (cut.value.cause.help or "")
