"""What a reader leaves out or assumes, counted by reason."""

from rota.model.workload import WorkloadNote


class Notes:
    def __init__(self) -> None:
        self._notes: dict[str, tuple[int, int]] = {}
        """reason → (count, first line)"""

    def count(self, reason: str, line: int = 0, times: int = 1) -> None:
        count, first = self._notes.get(reason, (0, line))
        self._notes[reason] = count + times, first

    def remark(self, reason: str) -> None:
        self._notes.setdefault(reason, (0, 0))

    def all(self) -> tuple[WorkloadNote, ...]:
        return tuple(WorkloadNote(reason, count, line) for reason, (count, line) in self._notes.items())
