"""What a witness of actions lets pass, and what it doesn't."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from rota.stateless_scheduler.actions import job_id_of
from rota.stateless_scheduler.client import Ended
from tests.crash.action_witness import ActionWitness
from tests.crash.diary import entry_of
from tests.crash.jobs import ENDLESS_S, Form
from tests.crash.ledger import Kept, Left, NotTaken, Over, Placed, Runs, Told, Waits, Word, Wrote
from tests.crash.rules import Broken
from tests.crash.task import LEFT, left_by, text_of

FENCE = 100
LATER = 101
JOB = job_id_of("ci", "build")
FORM = Form(seconds=1.0, lines=3, leaves=True)
TEXT = text_of(FENCE, FORM.lines)
FILE = left_by(FENCE)
PLACED = Placed(FENCE, "a")
WROTE = Wrote(FENCE, 0, TEXT)
LEFT_ALL = Left(FENCE, LEFT, 0, FILE, True)
END = Ended(
    action="build",
    fence=FENCE,
    outcome="succeeded",
    reason="exited",
    exit_code=0,
    signal=None,
    message="",
    cpu_ms=1,
    max_memory_bytes=1,
    started_ms=2_000,
    ended_ms=3_000,
)
RAN = (f"start {JOB} 0 {FENCE} a 2000", f"end-0 {JOB} 0 {FENCE} a 3000")


def saw(
    *words: Word, form: Form = FORM, diary: tuple[str, ...] = RAN, cancelled: bool = False
) -> ActionWitness:
    """Each word recorded a millisecond after the one before, from the second second on."""
    witness = ActionWitness()
    witness.kept("ci", [Kept("build", form, cancelled)])
    witness.entries(map(entry_of, diary))
    news = [Told("build", 1_900 + number, word) for number, word in enumerate(words)]
    witness.check_ends(witness.told("ci", news))
    return witness


def ended(**fields: Any) -> Over:
    return Over(replace(END, **fields))


def test_one_that_ran_once() -> None:
    witness = saw(PLACED, Runs(FENCE), WROTE, LEFT_ALL)
    assert witness.unfinished() == {"ci build": FORM}
    saw(PLACED, Runs(FENCE), WROTE, LEFT_ALL, ended()).finished()


def test_what_may_be_told_again_after_a_connection_broke() -> None:
    pieces = Wrote(FENCE, 0, TEXT[:5]), Wrote(FENCE, 5, TEXT[5:])
    again = PLACED, PLACED, Runs(FENCE), Runs(FENCE), *pieces, Left(FENCE, LEFT, 0, FILE[:9], False), LEFT_ALL
    saw(*again, ended(), ended()).finished()


def test_one_that_was_lost_and_ran_elsewhere() -> None:
    diary = RAN[0], f"start {JOB} 0 {LATER} b 4000", f"end-0 {JOB} 0 {LATER} b 4500"
    second = Placed(LATER, "b"), Runs(LATER), Wrote(LATER, 0, text_of(LATER, 3))
    end = ended(fence=LATER, started_ms=4_000, ended_ms=4_500)
    lost = PLACED, Wrote(FENCE, 0, TEXT[:5]), Waits("its agent is lost")
    saw(*lost, *second, Left(LATER, LEFT, 0, left_by(LATER), True), end, diary=diary).finished()


def test_one_that_was_cancelled_while_it_waited() -> None:
    end = ended(outcome="cancelled", reason="", exit_code=None, started_ms=None)
    saw(PLACED, Waits("evicted"), end, diary=RAN[:1], cancelled=True).finished()
    with pytest.raises(Broken, match="I1: ci build was placed, and never ran"):
        saw(PLACED, end, diary=RAN[:1], cancelled=True)
    with pytest.raises(Broken, match="I1: ci build is cancelled, and nobody wanted that"):
        saw(PLACED, Waits("evicted"), end, diary=RAN[:1])


@pytest.mark.parametrize(
    ("after", "told"),
    [
        (ended(outcome="failed"), "ci build had ended, .*, and is said to have"),
        (ended(ended_ms=3_001), "ci build had ended, .*, and is said to have"),
        (Placed(LATER, "b"), "ci build is placed on b, and had ended"),
        (Waits("no room"), "ci build waits, and had ended"),
    ],
)
def test_an_end_that_isnt_the_last_word(after: Word, told: str) -> None:
    with pytest.raises(Broken, match=f"I1: {told}"):
        saw(PLACED, WROTE, LEFT_ALL, ended(), after)


@pytest.mark.parametrize(
    ("end", "diary", "told"),
    [
        ({"exit_code": 3, "outcome": "failed"}, RAN, f"{JOB}/0#100 is recorded as ended with 3, and wrote 0"),
        ({}, RAN[:1], f"{JOB}/0#100 is recorded as ended with 0, and wrote None"),
        ({"outcome": "failed"}, RAN, "ci build ended so"),
        ({"outcome": "failed", "reason": "lost"}, RAN, "ci build ended so"),
        ({"outcome": "failed", "reason": "signalled"}, RAN, "ci build ended so"),
        ({"outcome": "cancelled", "reason": "stopped"}, RAN, "ci build is cancelled, and nobody wanted that"),
    ],
)
def test_ends_that_never_were(end: dict[str, Any], diary: tuple[str, ...], told: str) -> None:
    with pytest.raises(Broken, match=f"I1: {told}"):
        saw(PLACED, WROTE, LEFT_ALL, ended(**end), diary=diary)


def test_one_that_was_cancelled_as_it_ended() -> None:
    saw(PLACED, WROTE, LEFT_ALL, ended(outcome="cancelled"), cancelled=True).finished()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "was to write 24 bytes, and 0 are kept that differ"),
        ((Wrote(FENCE, 0, TEXT[:-1]),), "and 23 are kept that differ"),
        ((Wrote(FENCE, 0, TEXT[::-1]),), "and 24 are kept that differ"),
        ((WROTE, WROTE), "had told 24 bytes of its output, and goes on at 0"),
        ((Wrote(FENCE, 1, TEXT),), "had told 0 bytes of its output, and goes on at 1"),
        ((WROTE, Left(FENCE, LEFT, 0, FILE[:9], True)), "of its file, 9 bytes are kept"),
        ((WROTE, Left(FENCE, LEFT, 1, FILE, True)), "had told 0 bytes of its file, and goes on at 1"),
        ((WROTE, Left(FENCE, "another", 0, FILE, True)), "left left, not another"),
    ],
)
def test_output_that_is_missing_or_told_twice(words: tuple[Word, ...], told: str) -> None:
    with pytest.raises(Broken, match=f"I1: ci build.*{told}"):
        saw(PLACED, *words, ended())


def test_a_refusal() -> None:
    saw(NotTaken("action", "it is over"))
    with pytest.raises(Broken, match=r"I1: ci build is refused: job\.tasks: an action is one task"):
        saw(NotTaken("job.tasks", "an action is one task"))


def test_an_action_that_nobody_has() -> None:
    with pytest.raises(Broken, match="I1: ci is told of other, which it doesn't have"):
        saw().told("ci", [Told("other", 1, PLACED)])


@pytest.mark.parametrize(
    ("word", "told"),
    [
        (Placed(FENCE - 1, "b"), "is placed under 99 after 100"),
        (Placed(FENCE, "b"), "is placed under 100 on a and on b"),
        (Runs(FENCE - 1), "is 100, and 99 is said to run"),
        (Wrote(FENCE - 1, 0, b""), "is 100, and 99 adds to its output"),
        (Left(FENCE - 1, LEFT, 0, b"", True), "is 100, and 99 adds to its file"),
        (ended(fence=FENCE - 1), "is 100, and 99 is said to have ended"),
    ],
)
def test_stale_words_that_counted(word: Word, told: str) -> None:
    with pytest.raises(Broken, match=f"I2: ci build {told}"):
        saw(PLACED, word)


def test_one_that_runs_after_its_end() -> None:
    words = PLACED, Placed(LATER, "b"), Waits("lost"), ended(outcome="cancelled", reason="", fence=FENCE)
    witness = saw(*words, diary=(*RAN, f"start {JOB} 0 {LATER} b 4000"), cancelled=True)
    with pytest.raises(Broken, match=f"I2: {JOB}/0#101 ran after 100 had ended it"):
        witness.finished()


def test_starts_that_nobody_has_recorded() -> None:
    saw(PLACED).check_starts()
    unrecorded: tuple[tuple[tuple[Word, ...], str], ...] = (
        ((), "ran on a, and nobody has recorded that"),
        ((Placed(LATER, "a"),), "ran on a, and nobody has recorded that"),
        ((Placed(FENCE, "b"),), "ran on a, not b"),
        ((*[Waits("")] * 200, PLACED), "ran 100 ms before that was recorded"),
    )
    for words, told in unrecorded:
        with pytest.raises(Broken, match=f"I4: {JOB}/0#100 {told}"):
            saw(*words).check_starts()


@pytest.mark.parametrize(
    ("end", "told"),
    [
        ({"started_ms": None}, "ran, and isn't charged for it"),
        ({"ended_ms": 2_900}, "ran 1000 ms, and is charged for 900"),
        ({"started_ms": 1_800}, "was recorded at 1900, began at 2000, and is charged from 1800"),
        ({"started_ms": 2_100, "ended_ms": 3_100}, "began at 2000, and is charged from 2100"),
    ],
)
def test_usage_that_isnt_what_ran(end: dict[str, Any], told: str) -> None:
    with pytest.raises(Broken, match=f"I4: ci build .*{told}"):
        saw(PLACED, WROTE, LEFT_ALL, ended(**end))


def test_a_time_limit_that_came_early() -> None:
    form = Form(seconds=ENDLESS_S, limit_s=2.0)
    end = ended(outcome="timed-out", reason="time-limit", exit_code=None, ended_ms=4_000)
    saw(PLACED, end, form=form, diary=RAN[:1]).finished()
    early = replace(end, end=replace(end.end, ended_ms=3_500))
    with pytest.raises(Broken, match=r"I4: ci build had 2\.0 s, and was ended after 1500 ms"):
        saw(PLACED, early, form=form, diary=RAN[:1])
