"""The client that waits for answers, over real HTTP."""

import re
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from rota.api.jobs import JobDocument
from rota.lifecycle.state import Phase
from rota.sdk.client import Client
from rota.sdk.errors import (
    BadAnswer,
    BadInput,
    Conflict,
    JobFailed,
    NotFound,
    TooManyRequests,
    Unauthorised,
    Unavailable,
    Unreachable,
    WaitTimeout,
)
from rota.sdk.patience import Retries
from tests.kit.waiting import wait_until
from tests.unit.sdk.stand_in import TOKEN, Fault, StandIn


@pytest.mark.covers("job-1")
def test_a_command_runs_as_a_job_and_its_end_is_told(client: Client) -> None:
    job = client.run("/bin/sh", "-c", "exit 0", name="quick", project="vision")
    assert (job.is_over, job.succeeded, job.name, job.project) == (True, True, "quick", "vision")


def test_a_job_shows_itself_in_short(client: Client) -> None:
    job = client.run("true", name="short")
    assert repr(job) == f"JobDocument(id='{job.id}', name='short', phase='succeeded')"


def test_a_command_that_fails_raises_with_the_job_unless_told_not_to(client: Client) -> None:
    with pytest.raises(JobFailed, match=r"job 1 failed with status 3") as caught:
        client.run("/bin/sh", "-c", "exit 3")
    assert caught.value.job.exit_code == 3
    assert client.run("/bin/sh", "-c", "exit 3", check=False).phase is Phase.FAILED


def test_an_array_is_not_one_command(client: Client, server: StandIn) -> None:
    with pytest.raises(BadInput, match="array: an array is more than one job"):
        client.run("true", array=3)
    assert server.requests == []


def test_waiting_ends_when_the_job_does(client: Client, server: StandIn) -> None:
    [job] = client.submit({"command": ["true"], "hold": True}).jobs
    ended: list[JobDocument] = []
    waiting = threading.Thread(target=lambda: ended.append(client.wait(job.id)))
    waiting.start()
    wait_until(lambda: any("events/stream" in request for request in server.requests))
    server.finish(job.id, Phase.CANCELLED)
    waiting.join(10)
    assert [document.phase for document in ended] == [Phase.CANCELLED]


@pytest.mark.slow
def test_waiting_goes_on_when_the_stream_breaks(client: Client, server: StandIn) -> None:
    [job] = client.submit({"command": ["true"], "hold": True}).jobs
    ended: list[JobDocument] = []
    waiting = threading.Thread(target=lambda: ended.append(client.wait(job.id)))
    waiting.start()
    wait_until(lambda: len(server.requests) >= 3)  # submitted, listening, asked how it stands
    server.break_streams()
    wait_until(lambda: sum("events/stream" in request for request in server.requests) == 2)
    server.finish(job.id, Phase.SUCCEEDED)
    waiting.join(10)
    assert len(ended) == 1


@pytest.mark.slow
def test_waiting_for_too_long_says_so_and_leaves_the_job_alone(client: Client) -> None:
    [job] = client.submit({"command": ["true"], "hold": True}).jobs
    with pytest.raises(WaitTimeout, match=r"job 1 wasn't over after 0\.05 s"):
        client.wait(job.id, timeout_s=0.05)
    assert not client.job(job.id).job.is_over


def test_lists_are_read_page_by_page(client: Client, server: StandIn) -> None:
    client.submit({"command": ["true"], "hold": True, "array": 5})
    assert [job.id for job in client.jobs(limit=2)] == ["1.4", "1.3", "1.2", "1.1", "1.0"]
    assert sum(request.startswith("GET /jobs") for request in server.requests) == 3
    assert client.job_page(limit=2).next == "2"
    assert [event.subject for event in client.events(after=3)] == ["1.3", "1.4"]
    assert [event.subject for event in client.events(last=2)] == ["1.3", "1.4"]


@pytest.mark.covers("ops-3")
def test_a_problem_names_the_field_and_what_to_do(client: Client) -> None:
    with pytest.raises(BadInput) as caught:
        client.submit({"command": ["true"]}, {"command": []})
    error = caught.value
    assert (error.field, error.help, error.kind, error.status) == (
        "jobs[1].command",
        "give one",
        "bad-input",
        422,
    )
    assert str(error) == "jobs[1].command: names no program (give one)"
    assert list(client.jobs()) == []


def test_each_kind_of_problem_is_its_own_class(client: Client, server: StandIn) -> None:
    with pytest.raises(NotFound, match="there is no job 99"):
        client.job("99")
    job = client.run("true")
    with pytest.raises(Conflict):
        client.cancel(job.id)
    with Client(server.url, "wrong") as stranger, pytest.raises(Unauthorised):
        stranger.me()


@pytest.mark.parametrize("name", ["", ".", ".."])
def test_a_name_is_never_another_path(client: Client, server: StandIn, name: str) -> None:
    with pytest.raises(BadInput):
        client.job(name)
    with pytest.raises(BadInput):
        client.output("1", f"results/{name}/x")
    assert server.requests == []


def test_odd_names_arrive_as_they_are(client: Client, server: StandIn) -> None:
    with pytest.raises(NotFound, match=re.escape("there is no job 1/../?x=%")):
        client.job("1/../?x=%")


@pytest.mark.covers("job-6")
@pytest.mark.parametrize("fault", [Fault(503), Fault(0), Fault(429), Fault(504, body=b"<html>")])
def test_what_may_pass_is_asked_again(client: Client, server: StandIn, fault: Fault) -> None:
    server.misbehave(fault, fault)
    assert client.me().user == "ada"
    assert len(server.requests) == 3


def test_a_submission_whose_answer_got_lost_is_not_made_twice(client: Client, server: StandIn) -> None:
    server.misbehave(Fault(0, after_the_deed=True))
    [job] = client.submit({"command": ["true"]}).jobs
    assert (job.id, list(server.jobs)) == ("1", ["1"])
    assert len(server.keys) == 2
    assert len(set(server.keys)) == 1


def test_what_does_not_pass_is_told_at_once(client: Client, server: StandIn) -> None:
    server.misbehave(Fault(429, (("Retry-After", "3600"),)))
    with pytest.raises(TooManyRequests) as caught:
        client.me()
    assert caught.value.retry_after_s == 3600
    server.misbehave(Fault(302, (("Location", "http://example.org/"),)))
    with pytest.raises(BadAnswer):
        client.me()
    server.misbehave(Fault(200, body=b"<html>"))
    with pytest.raises(BadAnswer, match="same version"):
        client.me()
    assert len(server.requests) == 3


def test_nobody_there() -> None:
    with StandIn() as gone:
        url = gone.url
    with Client(url, "token", retries=Retries(2, 0.001)) as client, pytest.raises(Unreachable) as caught:
        client.me()
    assert "connection refused" in str(caught.value)
    assert "is `rota server` running" in str(caught.value)


@pytest.mark.slow
def test_after_many_failures_the_server_is_left_alone(server: StandIn) -> None:
    with Client(server.url, "token", retries=Retries(20, 0.001, longest_s=0.5)) as client:
        server.misbehave(*[Fault(0)] * 30)
        with pytest.raises(Unreachable, match="has not answered 10 times in a row"):
            client.me()
        assert len(server.requests) == 10


def test_events_go_on_where_they_broke_off(client: Client, server: StandIn) -> None:
    client.submit({"command": ["true"], "hold": True})
    events = client.events(follow=True, after=0)
    assert next(events).seq == 1
    server.break_streams()
    server.note("node.Cordoned", "n1")
    assert next(events).subject == "n1"
    server.note("node.Opened", "n1")
    assert next(events).kind == "node.Opened"


def test_events_are_followed_from_the_latest_few(client: Client, server: StandIn) -> None:
    client.submit({"command": ["true"], "hold": True, "array": 3})
    events = client.events(follow=True, last=2)
    assert [next(events).subject, next(events).subject] == ["1.1", "1.2"]
    server.note("node.Cordoned", "n1")
    assert next(events).subject == "n1"


def test_logs_are_followed_to_the_end_of_the_job(client: Client, server: StandIn, tmp_path: Path) -> None:
    script = "echo one; while test ! -e $GO; do sleep 0.01; done; printf '\\377two'"
    go = tmp_path / "go"
    [job] = client.submit({"command": ["/bin/sh", "-c", script], "environment": {"GO": str(go)}}).jobs
    logs = client.logs(job.id, follow=True)
    assert next(logs).data == b"one\n"
    server.break_streams()
    go.touch()
    assert [chunk.data for chunk in logs] == [b"\xfftwo"]
    assert b"".join(chunk.data for chunk in client.logs(job.id)) == b"one\n\xfftwo"


def test_files_are_stored_by_what_they_hold(client: Client) -> None:
    digest = client.upload(b"weights")
    form = {
        "command": ["cp", "in.bin", "out.bin"],
        "files": [{"path": "in.bin", "sha256": digest, "size": 7}],
        "outputs": ["out.bin"],
    }
    [job] = client.submit(form).jobs
    client.wait(job.id)
    assert client.output(job.id, "out.bin") == b"weights"
    with pytest.raises(NotFound):
        client.output(job.id, "other.bin")


NOT_TEXT = b'{"user": "\xff"}'
DEEP = b'{"x": ' + b"[" * 5_000


@pytest.mark.parametrize("body", [NOT_TEXT, DEEP, b"", b"<html>"])
@pytest.mark.covers("trust-1")
def test_an_answer_that_cannot_be_read_is_told_as_that(client: Client, server: StandIn, body: bytes) -> None:
    server.misbehave(Fault(200, body=body))
    with pytest.raises(BadAnswer, match="can't be read"):
        client.me()
    server.misbehave(Fault(404, body=body))
    with pytest.raises(NotFound):
        client.me()
    server.misbehave(Fault(200, body=body + b"\n"))
    with pytest.raises(BadAnswer):
        list(client.logs("1") if body else [client.me()])


@pytest.mark.covers("trust-1")
def test_pages_that_never_end_are_not_turned_for_ever(client: Client, server: StandIn) -> None:
    page = Fault(200, body=b'{"items": [], "next": "5"}')
    server.misbehave(page, page)
    with pytest.raises(BadAnswer, match="same page"):
        list(client.jobs())
    server.misbehave(page, page)
    with pytest.raises(BadAnswer, match="same page"):
        list(client.events())


def test_what_no_request_can_hold_is_bad_input(client: Client, server: StandIn) -> None:
    """Python has names of files that aren't UTF-8 as such texts."""
    odd = "caf\udce9"
    asking: list[Callable[[], object]] = [
        lambda: client.job(odd),
        lambda: list(client.jobs(project=odd)),
        lambda: client.submit({"command": [odd]}),
    ]
    for ask in asking:
        with pytest.raises(BadInput, match="can't be sent"):
            ask()
    assert server.requests == []


def test_who_looks_at_logs_once_is_told_soon_that_nobody_answers(server: StandIn) -> None:
    """Only who follows them waits for a server to come back."""
    with Client(server.url, TOKEN, retries=Retries(1), stream_retries=Retries(40, 60.0)) as client:
        server.misbehave(Fault(503))
        with pytest.raises(Unavailable):
            list(client.logs("1"))
