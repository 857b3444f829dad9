"""Much at once is done in slices: in between, everybody else is answered."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from rota.api.limits import MOST_SHOWN
from rota.control.draft import Draft
from rota.control.memory import Memory
from rota.control.slices import SLICE
from rota.intake.submissions import Entry, Submission
from rota.store.writing.batch import Answer
from tests.kit.live import ADA, running, spec
from tests.obedient import ObedientBackend, node

pytestmark = [pytest.mark.covers("trust-1"), pytest.mark.slow]

ELEMENTS = 3 * SLICE


class Steps:
    """How much is done at most between two turns of the event loop."""

    def __init__(self) -> None:
        self.most = 0
        self._since = 0

    def counted(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            self._since += 1
            self.most = max(self.most, self._since)
            return real(*args, **kwargs)

        return call

    @asynccontextmanager
    async def watched(self) -> AsyncIterator[None]:
        async def turn() -> None:
            while True:
                self._since = 0
                await asyncio.sleep(0)

        turning = asyncio.create_task(turn())
        self.most = 0
        try:
            yield
        finally:
            turning.cancel()


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> Steps:
    counted = Steps()
    for owner, name in ((Draft, "submit"), (Draft, "change"), (Memory, "_put")):
        monkeypatch.setattr(owner, name, counted.counted(getattr(owner, name)))
    return counted


async def test_a_large_array_comes_in_is_held_and_goes(steps: Steps, tmp_path: Path) -> None:
    async with running(tmp_path, ObedientBackend(node("n1", cpus=1))) as runtime:
        array = Submission((Entry(spec(held=True), array=tuple(range(ELEMENTS))),))
        async with steps.watched():
            assert len(await runtime.desks.jobs.submit(array, ADA, dry_run=True)) == MOST_SHOWN
            first, *_ = await runtime.desks.jobs.submit(array, ADA)
            job = first.id.partition(".")[0]
            assert len(await runtime.desks.jobs.release(job, ADA)) == ELEMENTS  # type: ignore[arg-type]
            assert len(await runtime.desks.jobs.cancel(job, ADA, "")) == ELEMENTS  # type: ignore[arg-type]
        assert 0 < steps.most <= 2 * SLICE


async def test_an_answer_that_is_kept_is_the_same(tmp_path: Path) -> None:
    async with running(tmp_path, ObedientBackend(node("n1", cpus=1))) as runtime:
        for number, count in enumerate((1, ELEMENTS)):
            key = f"key {number}"
            array = Submission((Entry(spec(held=True), array=tuple(range(count))),))

            def answer_of(states: Any, key: str = key) -> Answer:
                return Answer("ada", key, "", 201, str(len(states)).encode(), 0)

            await runtime.desks.jobs.submit(array, ADA, answer_of=answer_of)
            kept = await runtime.desks.answers.answer("ada", key)
            assert kept is not None
            assert kept.body == str(count).encode()


async def test_one_that_is_refused_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    submit = Draft.submit

    def failing(self: Draft, job_id: Any, number: int, *args: Any) -> Any:
        if job_id.endswith(f".{ELEMENTS - 1}"):
            raise ValueError("it can't be")
        return submit(self, job_id, number, *args)

    monkeypatch.setattr(Draft, "submit", failing)

    async with running(tmp_path, ObedientBackend(node("n1", cpus=1))) as runtime:
        array = Submission((Entry(spec(held=True), array=tuple(range(ELEMENTS))),))
        with pytest.raises(ValueError, match="it can't be"):
            await runtime.desks.jobs.submit(array, ADA)
        assert not runtime.memory.jobs
        assert await runtime.desks.jobs.submit(Submission((Entry(spec(held=True)),)), ADA)
