"""Sees what controllers are told of their actions, and what tasks wrote; knows what must never happen."""

from __future__ import annotations

from collections.abc import Iterable

from rota.backends.backend import TaskRef
from rota.lifecycle.state import EndReason, Phase
from rota.model.ids import JobId
from rota.stateless_scheduler.actions import job_id_of
from rota.stateless_scheduler.client import Ended
from tests.crash.diary import Entry
from tests.crash.jobs import Form
from tests.crash.ledger import Kept, Left, NotTaken, Over, Placed, Runs, Told, Waits, Wrote
from tests.crash.rules import CLOCK_MS, Broken, demand
from tests.crash.task import LEFT, left_by, text_of
from tests.crash.task_witness import TaskWitness, name_of

_OF_UNKNOWN = "action"
"""The field of a refusal to cancel what is over: its controller couldn't know."""


class Course:
    """Of one action, as its controller was told."""

    def __init__(self, name: str, job: JobId, form: Form) -> None:
        self.name = name
        self.job = job
        self.form = form
        self.is_cancelled = False
        self.placed: dict[int, tuple[str, int]] = {}
        """By fence: on which node, and when that was recorded first."""
        self.fence: int | None = None
        """That counts; None: it waits."""
        self.output: dict[int, bytearray] = {}
        self.left: dict[int, bytearray] = {}
        self.end: Ended | None = None

    def told(self, told: Told) -> None:
        match told.word:
            case Placed(fence, node):
                self._is_placed(fence, node, told.at_ms)
            case Waits():
                self._demand_unfinished("waits")
                self.fence = None
            case Runs(fence):
                demand(fence == self.fence, "I2", f"{self.name} is {self.fence}, and {fence} is said to run")
            case Wrote(fence, offset_bytes, data):
                self._adds(self.output, "output", fence, offset_bytes, data)
            case Left(fence, path, offset_bytes, data):
                demand(path == LEFT, "I1", f"{self.name} left {LEFT}, not {path}")
                if offset_bytes == 0:
                    # All of it is told again if the connection breaks.
                    self.left.pop(fence, None)
                self._adds(self.left, "file", fence, offset_bytes, data)
            case Over(end):
                self._is_over(end)
            case NotTaken(field, problem):
                demand(field == _OF_UNKNOWN, "I1", f"{self.name} is refused: {field}: {problem}")

    def _is_placed(self, fence: int, node: str, at_ms: int) -> None:
        self._demand_unfinished(f"is placed on {node}")
        if fence not in self.placed:
            highest = max(self.placed, default=0)
            demand(fence > highest, "I2", f"{self.name} is placed under {fence} after {highest}")
            self.placed[fence] = node, at_ms
        before, _ = self.placed[fence]
        demand(before == node, "I2", f"{self.name} is placed under {fence} on {before} and on {node}")
        self.fence = fence

    def _adds(self, to: dict[int, bytearray], what: str, fence: int, offset_bytes: int, data: bytes) -> None:
        demand(fence == self.fence, "I2", f"{self.name} is {self.fence}, and {fence} adds to its {what}")
        so_far = to.setdefault(fence, bytearray())
        demand(
            offset_bytes == len(so_far),
            "I1",
            f"{self.name} had told {len(so_far)} bytes of its {what}, and goes on at {offset_bytes}",
        )
        so_far += data

    def _is_over(self, end: Ended) -> None:
        if self.end is not None:
            demand(end == self.end, "I1", f"{self.name} had ended, {self.end}, and is said to have, {end}")
            return
        self.end = end
        is_cancelled = end.outcome == Phase.CANCELLED.value
        demand(
            end.fence == self.fence or (self.fence is None and is_cancelled),
            "I2",
            f"{self.name} is {self.fence}, and {end.fence} is said to have ended: {end}",
        )

    def _demand_unfinished(self, what: str) -> None:
        demand(self.end is None, "I1", f"{self.name} {what}, and had ended: {self.end}")


class ActionWitness:
    def __init__(self) -> None:
        self._tasks = TaskWitness()
        self._courses: dict[JobId, Course] = {}
        self._told = 0

    @property
    def counts(self) -> str:
        return f"{len(self._courses)} actions, {len(self._tasks.began)} starts, {self._told} words"

    # -- what controllers keep

    def kept(self, controller: str, actions: Iterable[Kept]) -> None:
        """All that it has, to be told before what it was told."""
        for action in actions:
            job = job_id_of(controller, action.id)
            if job not in self._courses:
                self._courses[job] = Course(f"{controller} {action.id}", job, action.form)
            self._courses[job].is_cancelled = action.is_cancelled

    def told(self, controller: str, news: Iterable[Told]) -> set[JobId]:
        """Which are over, as it has just been told."""
        over = set()
        for one in news:
            self._told += 1
            job = job_id_of(controller, one.action)
            if job not in self._courses:
                raise Broken("I1", f"{controller} is told of {one.action}, which it doesn't have: {one.word}")
            self._courses[job].told(one)
            if isinstance(one.word, Over):
                over.add(job)
        return over

    def unfinished(self) -> dict[str, Form]:
        return {course.name: course.form for course in self._courses.values() if course.end is None}

    # -- what tasks wrote

    def entries(self, entries: Iterable[Entry]) -> None:
        self._tasks.entries(entries)

    def check_starts(self) -> None:
        """Of all that is known to have started, once everything is told that was kept by then."""
        for ref, entry in self._tasks.began.items():
            course = self._courses.get(ref.job)
            if course is None or ref.fence not in course.placed:
                raise Broken("I4", f"{name_of(ref)} ran on {entry.node}, and nobody has recorded that")
            node, recorded_ms = course.placed[ref.fence]
            demand(node == entry.node, "I4", f"{name_of(ref)} ran on {entry.node}, not {node}")
            demand(
                recorded_ms <= entry.at_ms,
                "I4",
                f"{name_of(ref)} ran {recorded_ms - entry.at_ms} ms before that was recorded",
            )

    def check_ends(self, jobs: Iterable[JobId]) -> None:
        """Of those that are over, once all that they wrote is known."""
        for job in jobs:
            course = self._courses[job]
            assert course.end is not None
            self._check_outcome(course, course.end)
            self._check_output(course, course.end)
            self._check_usage(course, course.end)

    def _check_outcome(self, course: Course, end: Ended) -> None:
        expected = Phase.CANCELLED
        match end.reason:
            case "":
                # While it waited, for the first time or again.
                demand(course.fence is None, "I1", f"{course.name} was placed, and never ran: {end}")
            case EndReason.EXITED.value:
                self._tasks.check_exit_code(TaskRef(course.job, 0, end.fence), end.exit_code)
                expected = Phase.FAILED if end.exit_code else Phase.SUCCEEDED
            case EndReason.TIME_LIMIT.value:
                expected = Phase.TIMED_OUT
        if end.outcome == Phase.CANCELLED.value:
            wanted = course.is_cancelled
            demand(wanted, "I1", f"{course.name} is cancelled, and nobody wanted that: {end}")
        else:
            demand(end.outcome == expected.value, "I1", f"{course.name} ended so: {end}")

    def _check_output(self, course: Course, end: Ended) -> None:
        wrote, left = (bytes(kept.get(end.fence, b"")) for kept in (course.output, course.left))
        text = text_of(end.fence, course.form.lines)
        is_exited = end.reason == EndReason.EXITED.value
        demand(
            wrote == text if is_exited else text.startswith(wrote),
            "I1",
            f"{course.name} was to write {len(text)} bytes, and {len(wrote)} are kept that differ",
        )
        if is_exited and course.form.leaves:
            demand(
                left == left_by(end.fence), "I1", f"{course.name}: of its file, {len(left)} bytes are kept"
            )

    def _check_usage(self, course: Course, end: Ended) -> None:
        ref = TaskRef(course.job, 0, end.fence)
        began = self._tasks.began.get(ref)
        if began is None or end.reason in ("", EndReason.LOST.value):
            return
        if end.started_ms is None:
            raise Broken("I4", f"{course.name} ran, and isn't charged for it: {end}")
        charged_ms = end.ended_ms - end.started_ms
        ran_ms = self._tasks.ran_ms(ref) or 0
        demand(
            charged_ms >= ran_ms - CLOCK_MS,
            "I4",
            f"{course.name} ran {ran_ms} ms, and is charged for {charged_ms}",
        )
        _, recorded_ms = course.placed[end.fence]
        demand(
            recorded_ms - CLOCK_MS <= end.started_ms <= began.at_ms + CLOCK_MS,
            "I4",
            f"{course.name} was recorded at {recorded_ms}, began at {began.at_ms}, "
            f"and is charged from {end.started_ms}",
        )
        limit_s = course.form.limit_s
        if end.outcome == Phase.TIMED_OUT.value and limit_s is not None:
            demand(
                charged_ms >= 1000 * limit_s - CLOCK_MS,
                "I4",
                f"{course.name} had {limit_s} s, and was ended after {charged_ms} ms",
            )

    # -- at the end

    def finished(self) -> None:
        """Once nothing is unfinished any more."""
        self.check_starts()
        self.check_ends(self._courses)
        for ref in self._tasks.began:
            end = self._courses[ref.job].end
            assert end is not None
            demand(ref.fence <= end.fence, "I2", f"{name_of(ref)} ran after {end.fence} had ended it")
