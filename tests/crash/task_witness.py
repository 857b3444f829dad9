"""What tasks wrote of their lives, and what none may ever write."""

from __future__ import annotations

from collections.abc import Iterable

from rota.backends.backend import TaskRef
from tests.crash.diary import OVERSUBSCRIBED, Entry, Word
from tests.crash.rules import Broken, demand

_EXIT_CODES = {Word.ENDED: 0, Word.FAILED: 3}


class TaskWitness:
    def __init__(self) -> None:
        self.began: dict[TaskRef, Entry] = {}
        self._finished: dict[TaskRef, Entry] = {}

    def entries(self, entries: Iterable[Entry]) -> None:
        for entry in entries:
            name = name_of(entry.ref)
            match entry.word:
                case Word.START:
                    demand(entry.ref not in self.began, "I2", f"{name} is started twice")
                    self.began[entry.ref] = entry
                case Word.TWICE:
                    others = [name_of(ref) for ref in self.began if _same(ref, entry.ref)]
                    raise Broken("I2", f"{name} runs on {entry.node} while one of {', '.join(others)} does")
                case word if word in OVERSUBSCRIBED:
                    raise Broken("I3", f"{name}: too little {word.value} is left on {entry.node}")
                case _:
                    self._finished[entry.ref] = entry

    def check_exit_code(self, ref: TaskRef, recorded: int | None) -> None:
        entry = self._finished.get(ref)
        wrote = None if entry is None else _EXIT_CODES[entry.word]
        demand(
            wrote == recorded, "I1", f"{name_of(ref)} is recorded as ended with {recorded}, and wrote {wrote}"
        )

    def ran_ms(self, ref: TaskRef) -> int | None:
        """From its first word to its last; None: it was ended before that."""
        began, finished = self.began.get(ref), self._finished.get(ref)
        return None if began is None or finished is None else finished.at_ms - began.at_ms


def name_of(ref: TaskRef) -> str:
    return f"{ref.job}/{ref.rank}#{ref.fence}"


def _same(one: TaskRef, other: TaskRef) -> bool:
    return (one.job, one.rank) == (other.job, other.rank)
