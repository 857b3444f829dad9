"""What tasks wrote is asked of the backends that they ran on, live and later."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from rota.backends.backend import LogChunk, LogQuery, Stream
from rota.backends.registry import Registry
from rota.control.memory import Memory
from rota.loop.desk.task_output import Written
from rota.model.ids import JobId, NodeName
from rota.model.node import Node
from rota.model.policy import Policy
from rota.store.store import Store, open_store
from rota.store.writing.batch import Attempt, Batch
from tests.obedient import ObedientBackend, node
from tests.stored import job

pytestmark = pytest.mark.covers("back-1", "job-4")


class Writing(ObedientBackend):
    """On a node of its name. Has written its name for each job that it knows, at these times."""

    def __init__(self, name: str, *jobs: str, at_ms: Sequence[int] = (1,)) -> None:
        here = node(f"on-{name}")
        super().__init__(replace(here, spec=replace(here.spec, backend=name)))
        self.name = name
        self.jobs = jobs
        self.at_ms = at_ms
        self.asked: list[LogQuery] = []

    async def logs(self, query: LogQuery) -> AsyncIterator[Sequence[LogChunk]]:
        self.asked.append(query)
        if query.job in self.jobs:
            written = [LogChunk(0, Stream.OUT, at_ms, self.name.encode()) for at_ms in self.at_ms]
            yield written if query.tail_bytes is None else written[-query.tail_bytes :]

    async def output(self, job: JobId, rank: int, path: str, epoch: int = 0) -> AsyncIterator[bytes]:
        if job not in self.jobs:
            raise FileNotFoundError(path)
        yield self.name.encode()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(f"sqlite:///{tmp_path}/rota.db") as opened:
        yield opened


def sent(store: Store, job_id: str, *nodes: str) -> None:
    """In turn."""
    attempts = [
        Attempt(JobId(job_id), 0, fence, NodeName(name), (), 10) for fence, name in enumerate(nodes, start=1)
    ]
    store.commit(Batch(jobs=[job(job_id, phase="running")], attempts=attempts))


def written(store: Store, backends: Sequence[Writing], nodes: Sequence[Node] | None = None) -> Written:
    memory = Memory(Policy())
    memory.set_nodes([each for backend in backends for each in backend.here] if nodes is None else nodes)
    return Written(Registry(backends), memory, store)


def logs(asked: Written, job_id: str, tail_bytes: int | None = None) -> str:
    async def read() -> str:
        query = LogQuery(JobId(job_id), tail_bytes=tail_bytes)
        return b" ".join([one.data async for batch in asked.logs(query) for one in batch]).decode()

    return asyncio.run(read())


def output(asked: Written, job_id: str) -> bytes:
    async def read() -> bytes:
        return b"".join([piece async for piece in asked.output(JobId(job_id), 0, "out")])

    return asyncio.run(read())


def test_the_backend_of_its_node_is_asked_and_no_other(store: Store) -> None:
    a, b = Writing("a", "1"), Writing("b", "1")
    sent(store, "1", "on-b")
    asked = written(store, [a, b])
    assert logs(asked, "1") == "b"
    assert output(asked, "1") == b"b"
    assert a.asked == []


def test_what_a_job_wrote_on_several_is_merged_by_time(store: Store) -> None:
    sent(store, "1", "on-a", "on-b")
    asked = written(store, [Writing("a", "1", at_ms=(1, 4, 5, 9)), Writing("b", "1", at_ms=(2, 3, 6))])
    assert logs(asked, "1") == "a b b a a b a"


@pytest.mark.parametrize(
    ("tail_bytes", "told"), [(1, "c"), (4, "b c b c"), (5, "b b c b c"), (99, "b c b b c b c")]
)
def test_the_end_of_all_is_no_longer_than_was_asked_for(store: Store, tail_bytes: int, told: str) -> None:
    sent(store, "1", "on-b", "on-c")
    asked = written(store, [Writing("b", "1", at_ms=(1, 3, 4, 6)), Writing("c", "1", at_ms=(2, 5, 7))])
    assert logs(asked, "1", tail_bytes) == told


def test_a_job_that_was_on_several_is_read_in_the_order_of_its_starts(store: Store) -> None:
    a, b = Writing("a", "1"), Writing("b", "1")
    sent(store, "1", "on-a", "on-b", "on-b")
    sent(store, "2", "on-b", "on-a")
    asked = written(store, [a, b])
    assert logs(asked, "1") == "a b"
    assert logs(asked, "1", tail_bytes=1) == "b"
    assert output(asked, "1") == b"b"
    assert logs(written(store, [Writing("a", "2"), Writing("b", "2")]), "2") == "b a"


def test_what_the_latest_has_not_left_an_earlier_one_may_have(store: Store) -> None:
    sent(store, "1", "on-a", "on-b")
    assert output(written(store, [Writing("a", "1"), Writing("b")]), "1") == b"a"
    with pytest.raises(FileNotFoundError, match="task 0 of job 1 has left no file 'out'"):
        output(written(store, [Writing("a"), Writing("b")]), "1")


def test_all_are_asked_when_its_node_is_gone(store: Store) -> None:
    sent(store, "1", "gone")
    assert logs(written(store, [Writing("a"), Writing("b", "1")]), "1") == "b"
    assert logs(written(store, [Writing("a", "1")], nodes=[]), "1") == "a"


def test_a_job_that_was_nowhere_wrote_nothing(store: Store) -> None:
    store.commit(Batch(jobs=[job("1")]))
    a = Writing("a", "1")
    assert logs(written(store, [a]), "1") == ""
    assert a.asked == []
