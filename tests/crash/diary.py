"""What tasks themselves wrote of their lives: a line each, appended in one write."""

from __future__ import annotations

from enum import Enum
from pathlib import Path

from msgspec import Struct

from rota.backends.backend import TaskRef
from rota.model.ids import JobId

CPUS = 4
GIBIBYTES = 6
"""Of each node, as tasks find them: one file each, to be locked."""


class Word(Enum):
    START = "start"
    ENDED = "end-0"
    FAILED = "end-3"
    TWICE = "twice"
    """Another of the same job and rank is alive."""
    EXCLUSIVE = "exclusive"
    """Somebody has the node for itself, and isn't alone."""
    CPU = "cpu"
    """There isn't as much left as it was given; so with the others."""
    MEMORY = "memory"
    PORT = "port"


OVERSUBSCRIBED = (Word.EXCLUSIVE, Word.CPU, Word.MEMORY, Word.PORT)


class Entry(Struct, frozen=True):
    word: Word
    ref: TaskRef
    node: str
    at_ms: int


class Diary:
    def __init__(self, ground: Path, nodes: list[str]) -> None:
        """`ground`: what all nodes share."""
        self.entries: list[Entry] = []
        self._path = ground / "diary"
        self._read_bytes = 0
        (ground / "tasks").mkdir(parents=True)
        for node in nodes:
            folder = ground / "nodes" / node
            folder.mkdir(parents=True)
            for number in range(CPUS):
                (folder / f"cpu-{number}").touch()
            for number in range(GIBIBYTES):
                (folder / f"memory-{number}").touch()
        self._path.touch()

    def read(self) -> list[Entry]:
        """What is new since the last time."""
        with self._path.open("rb") as file:
            file.seek(self._read_bytes)
            written = file.read()
        whole = written[: written.rfind(b"\n") + 1]
        self._read_bytes += len(whole)
        new = [entry_of(line) for line in whole.decode().splitlines()]
        self.entries.extend(new)
        return new


def entry_of(line: str) -> Entry:
    word, job, rank, fence, node, at_ms = line.split()
    return Entry(Word(word), TaskRef(JobId(job), int(rank), int(fence)), node, int(at_ms))
