"""Arrays as one row each: counted as a whole, whatever of them is asked for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rota.lifecycle.state import Phase
from rota.store.errors import BadCursor
from rota.store.reading.queries import JobFilter
from rota.store.store import Store, open_store
from tests.stored import job, keep

pytestmark = pytest.mark.covers("first-3")

OPEN = JobFilter(phases=(Phase.PENDING, Phase.RUNNING))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(f"sqlite:///{tmp_path}/rota.db") as opened:
        yield opened


def rows(store: Store, wanted: JobFilter, limit: int = 100) -> list[tuple[str, dict[str, int] | None]]:
    """All pages, with the job that stands for each row."""
    found: list[tuple[str, dict[str, int] | None]] = []
    after = None
    while True:
        page = store.folded_jobs(wanted, after, limit)
        assert len(page.rows) <= limit
        for state, counts in page.rows:
            told = None if counts is None else {phase.value: n for phase, n in counts.items()}
            found.append((state.id, told))
        if page.next is None:
            return found
        after = page.next


def filled(store: Store) -> None:
    keep(
        store,
        job("1", phase="succeeded"),
        *(job(f"2.{n}", phase="succeeded") for n in range(8)),
        job("2.8", phase="failed"),
        job("2.9", phase="running"),
        job("12"),
        *(job(f"13.{n}", phase="running" if n < 2 else "pending") for n in range(300)),
        job("400"),
    )


def test_an_array_is_counted_as_a_whole(store: Store) -> None:
    filled(store)
    assert rows(store, JobFilter()) == [
        ("400", None),
        ("13.2", {"pending": 298, "running": 2}),
        ("12", None),
        ("2.8", {"failed": 1, "running": 1, "succeeded": 8}),
        ("1", None),
    ]


def test_it_is_listed_if_one_of_its_jobs_is_wanted_and_counted_with_all(store: Store) -> None:
    filled(store)
    assert rows(store, OPEN)[-1] == ("2.8", {"failed": 1, "running": 1, "succeeded": 8})


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 5])
def test_pages_count_jobs_and_not_elements(store: Store, limit: int) -> None:
    filled(store)
    assert rows(store, JobFilter(), limit) == rows(store, JobFilter())


def test_an_array_by_itself(store: Store) -> None:
    filled(store)
    found = store.array(2)
    assert found is not None
    assert found.first[Phase.FAILED] == ["2.8"]
    assert found.first[Phase.SUCCEEDED] == [f"2.{n}" for n in range(8)]
    assert len(store.array(13).first[Phase.PENDING]) == 20  # type: ignore[union-attr]
    assert store.array(1) is None
    assert store.array(99) is None


def test_a_page_that_never_was(store: Store) -> None:
    with pytest.raises(BadCursor):
        store.folded_jobs(JobFilter(), "x", 10)
