"""What a keeper writes down, another one can read: whole entries, up to the first damaged one."""

from pathlib import Path

import pytest

from rota.backends.backend import TaskEnded, TaskRef, TaskStart
from rota.backends.process.keeper.recovery.journal import (
    Began,
    Entry,
    Journal,
    LimitChanged,
    Over,
    Settled,
    StopAsked,
    Told,
    Trying,
    read,
)
from rota.backends.process.keeper.recovery.left_to_do import remember
from rota.lifecycle.state import EndReason, TaskEnd
from rota.model.ids import JobId, NodeName
from rota.model.run import Run

REF = TaskRef(JobId("1"), 0, 1)
OTHER = TaskRef(JobId("2"), 0, 1)


def told(ref: TaskRef) -> Told:
    return Told(TaskStart(ref, NodeName("n"), Run(command=("true",)), lane="l"))


def began(ref: TaskRef) -> Began:
    return Began(ref, 1000, 50, 3, 77, "boot", 4, (), (8, 9))


def over(ref: TaskRef) -> Over:
    return Over(TaskEnded(ref, 2000, TaskEnd(EndReason.EXITED, 0)), lane="l")


def written(path: Path, *entries: Entry) -> Journal:
    journal = Journal(path, [])
    for entry in entries:
        journal.add(entry)
    journal.flush()
    return journal


def test_entries_come_back_as_they_were(tmp_path: Path) -> None:
    entries: list[Entry] = [
        told(REF),
        Trying((REF,)),
        began(REF),
        LimitChanged(REF, 5),
        StopAsked(REF, EndReason.STOPPED),
        over(REF),
        Settled((REF,)),
    ]
    written(tmp_path / "journal", *entries).close()
    assert list(read(tmp_path / "journal")) == entries
    assert (tmp_path / "journal").stat().st_mode & 0o777 == 0o600


def test_no_journal_is_an_empty_one(tmp_path: Path) -> None:
    assert list(read(tmp_path / "journal")) == []


@pytest.mark.parametrize("cut", [1, 8, 20])
def test_an_entry_that_is_cut_off_is_left_out(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "journal"
    written(path, told(REF), told(OTHER)).close()
    path.write_bytes(path.read_bytes()[:-cut])
    assert list(read(path)) == [told(REF)]


def test_nothing_behind_a_damaged_entry_is_believed(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    written(path, told(REF), told(OTHER)).close()
    data = bytearray(path.read_bytes())
    data[12] ^= 1
    path.write_bytes(data)
    assert list(read(path)) == []


def test_a_rewritten_journal_holds_what_it_is_given_and_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    journal = written(path, told(REF), over(REF), told(OTHER))
    journal.rewrite([told(OTHER)])
    journal.add(began(OTHER))
    journal.close()
    assert list(read(path)) == [told(OTHER), began(OTHER)]


@pytest.mark.covers("job-3")
def test_what_is_left_to_do() -> None:
    third = TaskRef(JobId("3"), 0, 1)
    unfinished, finished = remember(
        [
            told(REF),
            told(OTHER),
            told(third),
            Trying((REF, OTHER)),
            began(REF),
            LimitChanged(REF, 5),
            StopAsked(REF, EndReason.TIME_LIMIT),
            over(OTHER),
        ]
    )
    first, last = unfinished
    assert (first.start.ref, first.began, first.time_limit_ms) == (REF, began(REF), 5)
    assert first.as_task().told_to is EndReason.TIME_LIMIT
    assert (last.start.ref, last.was_tried) == (third, False)
    assert [each.report.ref for each in finished] == [OTHER]


def test_what_is_settled_is_forgotten() -> None:
    assert remember([told(REF), over(REF), Settled((REF,))]) == ([], [])
