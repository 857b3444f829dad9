"""Sees what really happens on machines and what controllers are told of their actions; knows what must never
happen.

I0  neither the scheduler nor a controller nor an agent fails by itself
I1  every action in a ledger ends once, by what its task really did, and cancelled only if somebody wanted it;
    an end that is told again is the same; output is all there, byte for byte, and once
I2  at most one start of an action is alive; fences only rise; nothing counts of a start that isn't the latest
I3  no node is oversubscribed in any dimension, by what actions asked for
I4  every start had been recorded by its controller, on that node, before it began; ends are charged for at
    least as long as their tasks ran, from their beginning
I5  after the faults everything ends within two lease periods
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from rota.backends.backend import TaskRef, TaskStart
from rota.lifecycle.state import EndReason, Phase
from rota.model.ids import JobId
from rota.model.node import Node
from rota.stateless_scheduler.actions import job_id_of
from rota.stateless_scheduler.client import Ended, Placement, Refused
from tests.faults.cluster import BEGINNING_MS
from tests.faults.machine import written_by
from tests.faults.onlooker import Onlooker, Ran, name_of, names_of
from tests.faults.room import Held, oversubscribed
from tests.faults.scheduler.scenario import Form

_OF_UNKNOWN = "action"
"""The field of a refusal to cancel what is over: its controller couldn't know."""
_ROUNDED_MS = 1
_BEFORE_MS = 10
"""By so much a time limit may strike early: clocks count whole milliseconds."""


class Course:
    """Of one action, as its controller was told."""

    def __init__(self, controller: str, id: str, form: Form) -> None:
        self.controller = controller
        self.id = id
        self.form = form
        self.job = job_id_of(controller, id)
        self.is_cancelled = False
        self.placed: dict[int, tuple[Placement, float]] = {}
        """By fence: what was recorded first, and when."""
        self.fence: int | None = None
        """That counts; None: it waits."""
        self.output: dict[int, bytes] = {}
        self.end: Ended | None = None

    @property
    def name(self) -> str:
        return f"{self.controller} {self.id}"


class ActionWitness(Onlooker):
    def __init__(self, now_s: Callable[[], float]) -> None:
        super().__init__(now_s)
        self._courses: dict[JobId, Course] = {}

    def unfinished(self) -> Iterator[tuple[str, str, Form]]:
        for course in self._courses.values():
            if course.end is None:
                yield course.controller, course.id, course.form

    # -- what really happens on machines

    def task_started(self, node: Node, start: TaskStart) -> None:
        super().task_started(node, start)
        ref = start.ref
        course = self._courses.get(ref.job)
        if course is None or ref.fence not in course.placed:
            self.broken("I4", f"{name_of(ref)} runs on {node.name}, and nobody has recorded that")
            return
        place, _ = course.placed[ref.fence]
        self.demand(place.node == node.name, "I4", f"{name_of(ref)} runs on {node.name}, not {place.node}")
        highest = max(course.placed)
        self.demand(ref.fence == highest, "I2", f"{name_of(ref)} starts after {highest} was recorded")
        self.demand(course.end is None, "I2", f"{name_of(ref)} starts, and had ended: {course.end}")
        self._runs(node, ref)
        complaint = oversubscribed(node, [self._held(one) for one in self._running_on(node)])
        self.demand(not complaint, "I3", f"{node.name}: {complaint}")

    def _held(self, ref: TaskRef) -> Held:
        course = self._courses[ref.job]
        place, _ = course.placed[ref.fence]
        return Held(name_of(ref), course.form.spec(), place.gpu_devices)

    # -- what controllers decide

    def submitted(self, controller: str, id: str, form: Form) -> None:
        """Right before it is in its ledger."""
        course = Course(controller, id, form)
        self._courses[course.job] = course
        self.note(f"{course.name} is submitted, job {course.job}: {form}")

    def cancelled(self, controller: str, id: str) -> None:
        course = self._course(controller, id)
        course.is_cancelled = True
        self.note(f"{course.name} is to be cancelled")

    # -- what they are told, when they have recorded it

    def placed(self, controller: str, place: Placement) -> None:
        course = self._course(controller, place.action)
        fence = place.fence
        self.note(f"{course.name} is placed on {place.node} under {fence}")
        self._demand_unfinished(course, f"is placed on {place.node}")
        if fence not in course.placed:
            highest = max(course.placed, default=0)
            self.demand(fence > highest, "I2", f"{course.name} is placed under {fence} after {highest}")
            course.placed[fence] = place, self._now_s()
        before, _ = course.placed[fence]
        self.demand(
            before == place, "I2", f"{course.name} is placed under {fence} as {before} and as {place}"
        )
        course.fence = fence

    def waits(self, controller: str, id: str, reason: str) -> None:
        course = self._course(controller, id)
        self.note(f"{course.name} waits: {reason}")
        self._demand_unfinished(course, "waits")
        course.fence = None

    def runs(self, controller: str, id: str, fence: int) -> None:
        course = self._course(controller, id)
        self.note(f"{course.name} is said to run under {fence}")
        self._demand_latest(course, fence, "is said to run")
        self.demand(
            TaskRef(course.job, 0, fence) in self.ran, "I1", f"{course.name} is said to run, and never did"
        )

    def wrote(self, controller: str, id: str, fence: int, offset_bytes: int, data: bytes) -> None:
        course = self._course(controller, id)
        self._demand_latest(course, fence, "adds to its output")
        so_far = course.output.get(fence, b"")
        self.demand(
            offset_bytes == len(so_far),
            "I1",
            f"{course.name} had told {len(so_far)} bytes, and goes on at {offset_bytes}",
        )
        course.output[fence] = so_far + data

    def over(self, controller: str, end: Ended) -> None:
        course = self._course(controller, end.action)
        self.note(f"{course.name} is over: {end.outcome} {end.reason} {end.exit_code} under {end.fence}")
        if course.end is not None:
            same = end == course.end
            self.demand(same, "I1", f"{course.name} had ended, {course.end}, and is said to have, {end}")
            return
        course.end = end
        is_cancelled = end.outcome == Phase.CANCELLED.value
        self.demand(
            end.fence == course.fence or (course.fence is None and is_cancelled),
            "I2",
            f"{course.name} is {course.fence}, and {end.fence} is said to have ended: {end}",
        )
        running = [ref for ref in self._running if ref.job == course.job]
        self.demand(not running, "I2", f"{course.name} is over, and {names_of(running)} runs")
        self._check_outcome(course, end)
        self._check_output(course, end)
        self._check_usage(course, end)

    def refused(self, controller: str, refused: Refused) -> None:
        self.demand(refused.field == _OF_UNKNOWN, "I1", f"{controller} is refused: {refused}")

    def _course(self, controller: str, id: str) -> Course:
        return self._courses[job_id_of(controller, id)]

    def _demand_unfinished(self, course: Course, what: str) -> None:
        self.demand(course.end is None, "I1", f"{course.name} {what}, and had ended: {course.end}")

    def _demand_latest(self, course: Course, fence: int, what: str) -> None:
        self.demand(fence == course.fence, "I2", f"{course.name} is {course.fence}, and {fence} {what}")

    # -- whether that is how it ended

    def _check_outcome(self, course: Course, end: Ended) -> None:
        expected = Phase.CANCELLED
        match end.reason:
            case "":
                # While it waited, for the first time or again.
                self.demand(course.fence is None, "I1", f"{course.name} was placed, and never ran: {end}")
            case EndReason.EXITED.value:
                self._demand_ended_so(course, end)
                expected = Phase.FAILED if end.exit_code else Phase.SUCCEEDED
            case EndReason.TIME_LIMIT.value:
                if (end.exit_code, end.signal) != (None, None):
                    # Otherwise nobody saw how.
                    self._demand_ended_so(course, end)
                expected = Phase.TIMED_OUT
        if end.outcome == Phase.CANCELLED.value:
            wanted = course.is_cancelled
            self.demand(wanted, "I1", f"{course.name} is cancelled, and nobody wanted that: {end}")
        else:
            self.demand(end.outcome == expected.value, "I1", f"{course.name} ended so: {end}")

    def _demand_ended_so(self, course: Course, end: Ended) -> None:
        ran = self.ran.get(TaskRef(course.job, 0, end.fence))
        self.demand(
            ran is not None and (ran.exit_code, ran.signal) == (end.exit_code, end.signal),
            "I1",
            f"{course.name} is said to have ended so, which it never did: {end}",
        )

    def _check_output(self, course: Course, end: Ended) -> None:
        begins, ends = written_by(TaskRef(course.job, 0, end.fence))
        wrote = course.output.get(end.fence, b"")
        is_exited = end.reason == EndReason.EXITED.value
        self.demand(
            wrote == begins + ends if is_exited else (begins + ends).startswith(wrote),
            "I1",
            f"{course.name} was to write {begins + ends!r}, and {wrote!r} is kept",
        )

    def _check_usage(self, course: Course, end: Ended) -> None:
        ran = self.ran.get(TaskRef(course.job, 0, end.fence))
        if ran is None or end.reason in ("", EndReason.LOST.value):
            return
        if end.started_ms is None:
            self.broken("I4", f"{course.name} ran, and isn't charged for it: {end}")
            return
        ran_ms = _ran_ms(ran)
        limit_ms = course.form.limit_ms
        if end.outcome == Phase.TIMED_OUT.value and limit_ms is not None:
            early = f"{course.name} had {limit_ms} ms, and was ended after {ran_ms:.0f}"
            self.demand(ran_ms >= limit_ms - _BEFORE_MS, "I4", early)
        if self.clocks_are_right:
            off_ms = _ROUNDED_MS + self.clocks_seem_off_ms
            charged_ms = end.ended_ms - end.started_ms
            charged = f"{course.name} ran {ran_ms:.0f} ms, and is charged for {charged_ms}"
            self.demand(charged_ms >= ran_ms - off_ms, "I4", charged)
            _, recorded_s = course.placed[end.fence]
            recorded_ms, began_ms = _at_ms(recorded_s), _at_ms(ran.started_s)
            self.demand(
                recorded_ms - off_ms <= end.started_ms <= began_ms + off_ms,
                "I4",
                f"{course.name} was recorded at {recorded_ms}, began at {began_ms}, and is charged from "
                f"{end.started_ms}",
            )

    # -- at the end

    def finished(self) -> None:
        """Once nothing is unfinished any more."""
        for ref in self.ran:
            end = self._courses[ref.job].end
            assert end is not None
            self.demand(ref.fence <= end.fence, "I2", f"{name_of(ref)} ran after {end.fence} had ended it")


def _at_ms(at_s: float) -> int:
    return BEGINNING_MS + int(at_s * 1000)


def _ran_ms(ran: Ran) -> float:
    return 0.0 if ran.ended_s is None else (ran.ended_s - ran.started_s) * 1000
