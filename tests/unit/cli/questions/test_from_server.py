"""`rota why` and `rota extend` of a server's job: what it answers is shown as that of the engine here."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec import to_builtins

from rota.api.questions import ExtendAnswer, WhyAnswer
from rota.cli.questions.files import Files, find_subject, read_question
from rota.model.extension import Answer, Extension, InTheWay, Obstacle
from rota.model.ids import JobId, NodeName
from rota.sdk.errors import Conflict
from rota.views.extend.document import extension_document
from rota.views.plan.view import PlanView
from rota.views.why.document import why_document
from rota.views.why.view import WhyView, why_view
from tests.unit.cli.calling import MIXED_FILES, rota, write
from tests.unit.cli.documents import CLOCK
from tests.unit.cli.fake_server import FakeServer


def view_of(job: str, cluster: str, jobs: str) -> WhyView:
    question = read_question(Files(cluster, jobs, None, "2026-05-01T12:00:00Z", "64Mi"))
    subject = find_subject(job, jobs, question.records)
    plan = PlanView(question.moment.plan(), question.moment.snapshot, None)
    return why_view(subject, question.moment.explain(subject.job), plan)


def test_why_reads_as_it_does_of_files(server: FakeServer, tmp_path: Path) -> None:
    files = write(
        tmp_path,
        cluster="nodes: [{name: n, resources: {cpu: 4}}, {name: m, resources: {cpu: 8}}]",
        jobs="jobs: [{name: huge, resources: {cpu: 6}, tasks: 2}, {name: small, resources: {cpu: 1}}]",
    )
    for job in ("huge", "small"):
        view = view_of(job, *files)
        server.why_answer = WhyAnswer(why_document(view, CLOCK.now_ms))
        for form in ("table", "wide", "json"):
            of_files = rota("why", job, *files, "--now", "2026-05-01T12:00:00Z", "-o", form)
            assert rota("why", "17", "-o", form) == of_files


GRANTED = Extension(JobId("17"), Answer.GRANTED, 7_200_000, had_ms=3_600_000, end_ms=CLOCK.now_ms + 60_000)
REFUSED = Extension(
    JobId("17"),
    Answer.IN_THE_WAY,
    7_200_000,
    had_ms=3_600_000,
    longest_ms=5_400_000,
    in_the_way=(InTheWay(Obstacle.MAINTENANCE, "fan", CLOCK.now_ms + 60_000, (NodeName("n1"),)),),
)


class TestExtend:
    def test_granted(self, server: FakeServer) -> None:
        server.extension = ExtendAnswer(extension_document(GRANTED))
        result = rota("extend", "17", "+1h")
        assert result.code == 0
        assert result.out.startswith("17 may run for 2h in all instead of 1h, until 12:01")
        assert server.asked == [("extend", "17", {"time_limit": "+1h", "dry_run": False})]
        assert rota("extend", "17", "+1h", "-o", "json").data == to_builtins(extension_document(GRANTED))

    def test_refused_says_what_is_in_the_way(self, server: FakeServer) -> None:
        server.extension = Conflict(
            "its nodes are needed", data={"extension": to_builtins(extension_document(REFUSED))}
        )
        result = rota("extend", "17", "2h")
        assert (result.code, result.err) == (2, "")
        assert "maintenance fan" in result.out
        assert "the longest limit that would be granted: 1h30m" in result.out

    def test_refused_for_another_reason(self, server: FakeServer) -> None:
        server.extension = Conflict("job 17 is over", help="submit it again")
        result = rota("extend", "17", "2h")
        assert (result.code, result.out, result.err) == (2, "", "rota: job 17 is over; submit it again\n")

    def test_bad_limits_ask_nothing(self, server: FakeServer) -> None:
        result = rota("extend", "17", "for ever")
        assert (result.code, server.asked) == (1, [])
        assert "LIMIT" in result.err


@pytest.mark.parametrize("arguments", [("why", "17"), ("extend", "17", "1h")])
def test_one_file_is_too_few(server: FakeServer, arguments: tuple[str, ...]) -> None:
    result = rota(*arguments, MIXED_FILES[0])
    assert (result.code, result.out) == (1, "")
    assert "JOBS" in result.err
