"""What must never happen to actions is noticed when it does: each rule by an example that breaks it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from rota.backends.backend import TaskRef, TaskStart
from rota.model.ids import NodeName
from rota.model.node import Node, NodeSpec
from rota.model.resources import Resources
from rota.model.run import Run
from rota.stateless_scheduler.actions import job_id_of
from rota.stateless_scheduler.client import Ended, Placement, Refused
from tests.faults.cluster import BEGINNING_MS
from tests.faults.machine import written_by
from tests.faults.scheduler.scenario import Form
from tests.faults.scheduler.witness import ActionWitness

NODE = Node(NodeName("n1"), NodeSpec(Resources(cpu_milli=2000, memory_bytes=1 << 33)))
SECOND = Form(1000)
OTHER = Node(NodeName("n2"), NODE.spec)


def ref(id: str = "a", fence: int = 1) -> TaskRef:
    return TaskRef(job_id_of("ci", id), 0, fence)


class Watched(ActionWitness):
    """Of actions of one controller."""

    def __init__(self, form: Form = SECOND) -> None:
        self.at_s = 1.0
        super().__init__(lambda: self.at_s)
        self.submitted("ci", "a", form)

    @property
    def broken_rule(self) -> str:
        return "" if self.violation is None else self.violation.invariant

    def place(self, id: str = "a", fence: int = 1, node: Node = NODE) -> None:
        self.placed("ci", Placement(id, fence, node.name))

    def start(self, id: str = "a", fence: int = 1, node: Node = NODE) -> None:
        self.task_started(node, TaskStart(ref(id, fence), node.name, Run(("work",))))

    def stop(self, id: str = "a", fence: int = 1, exit_code: int = 0) -> None:
        self.task_ended(NODE, ref(id, fence), exit_code, None)

    def write(self, id: str = "a", fence: int = 1) -> None:
        self.wrote("ci", id, fence, 0, b"".join(written_by(ref(id, fence))))

    def end(self, id: str = "a", fence: int = 1, **fields: Any) -> None:
        told: dict[str, Any] = {
            "outcome": "succeeded",
            "reason": "exited",
            "exit_code": 0,
            "signal": None,
            "message": "",
            "cpu_ms": 0,
            "max_memory_bytes": 0,
            "started_ms": BEGINNING_MS + 1_000,
            "ended_ms": BEGINNING_MS + 2_000,
        }
        self.over("ci", Ended(action=id, fence=fence, **told | fields))

    def run(self) -> None:
        """From its placement to the end of its task, a second later."""
        self.place()
        self.start()
        self.at_s += 1.0
        self.stop()


def test_an_action_that_ends_as_it_should() -> None:
    witness = Watched()
    witness.run()
    witness.runs("ci", "a", 1)
    witness.write()
    witness.end()
    witness.end()
    witness.finished()
    assert witness.broken_rule == ""
    assert list(witness.unfinished()) == []


def _unrecorded(witness: Watched) -> None:
    witness.start()


def _elsewhere(witness: Watched) -> None:
    witness.place()
    witness.start(node=OTHER)


def _twice(witness: Watched) -> None:
    witness.place()
    witness.start()
    witness.place(fence=2, node=OTHER)
    witness.start(fence=2, node=OTHER)


def _after_a_later_placement(witness: Watched) -> None:
    witness.place()
    witness.place(fence=2, node=OTHER)
    witness.start(fence=1)


def _an_older_placement(witness: Watched) -> None:
    witness.place(fence=2)
    witness.place(fence=1)


def _the_same_placement_elsewhere(witness: Watched) -> None:
    witness.place()
    witness.place(node=OTHER)


def _too_many(witness: Watched) -> None:
    for id in ("b", "c"):
        witness.submitted("ci", id, Form(1000, cpus=2))
        witness.place(id)
        witness.start(id)


def _said_to_run_and_never_did(witness: Watched) -> None:
    witness.place()
    witness.runs("ci", "a", 1)


def _output_of_an_earlier_start(witness: Watched) -> None:
    witness.place()
    witness.place(fence=2)
    witness.write(fence=1)


def _output_with_a_gap(witness: Watched) -> None:
    witness.run()
    witness.wrote("ci", "a", 1, 5, b"more")


def _output_twice(witness: Watched) -> None:
    witness.run()
    witness.write()
    witness.write()


def _an_end_without_its_output(witness: Watched) -> None:
    witness.run()
    witness.end()


def _another_exit_code(witness: Watched) -> None:
    witness.run()
    witness.write()
    witness.end(outcome="failed", exit_code=3)


def _another_outcome(witness: Watched) -> None:
    witness.run()
    witness.write()
    witness.end(outcome="failed")


def _cancelled_by_nobody(witness: Watched) -> None:
    witness.end(fence=0, outcome="cancelled", reason="", exit_code=None)


def _two_ends(witness: Watched) -> None:
    witness.run()
    witness.write()
    witness.end()
    witness.end(outcome="failed")


def _an_end_of_an_earlier_start(witness: Watched) -> None:
    witness.run()
    witness.place(fence=2)
    witness.end()


def _an_end_while_it_runs(witness: Watched) -> None:
    witness.place()
    witness.start()
    witness.cancelled("ci", "a")
    witness.end(outcome="cancelled", reason="lost", exit_code=None)


def _placed_after_its_end(witness: Watched) -> None:
    witness.run()
    witness.write()
    witness.end()
    witness.place(fence=2)


def _charged_for_too_little(witness: Watched) -> None:
    witness.run()
    witness.write()
    witness.end(ended_ms=BEGINNING_MS + 1_900)


def _charged_from_too_late(witness: Watched) -> None:
    witness.run()
    witness.write()
    witness.end(started_ms=BEGINNING_MS + 1_100, ended_ms=BEGINNING_MS + 2_100)


def _not_charged(witness: Watched) -> None:
    witness.run()
    witness.write()
    witness.end(started_ms=None)


def _refused(witness: Watched) -> None:
    witness.refused("ci", Refused("a", "job", "can't be", "correct it"))


@pytest.mark.parametrize(
    "happens, rule",
    [
        (_unrecorded, "I4"),
        (_elsewhere, "I4"),
        (_twice, "I2"),
        (_after_a_later_placement, "I2"),
        (_an_older_placement, "I2"),
        (_the_same_placement_elsewhere, "I2"),
        (_too_many, "I3"),
        (_said_to_run_and_never_did, "I1"),
        (_output_of_an_earlier_start, "I2"),
        (_output_with_a_gap, "I1"),
        (_output_twice, "I1"),
        (_an_end_without_its_output, "I1"),
        (_another_exit_code, "I1"),
        (_another_outcome, "I1"),
        (_cancelled_by_nobody, "I1"),
        (_two_ends, "I1"),
        (_an_end_of_an_earlier_start, "I2"),
        (_an_end_while_it_runs, "I2"),
        (_placed_after_its_end, "I1"),
        (_charged_for_too_little, "I4"),
        (_charged_from_too_late, "I4"),
        (_not_charged, "I4"),
        (_refused, "I1"),
    ],
)
def test_what_must_not_happen(happens: Callable[[Watched], None], rule: str) -> None:
    witness = Watched()
    happens(witness)
    assert witness.broken_rule == rule


def test_a_time_limit_that_comes_early() -> None:
    witness = Watched(Form(5000, limit_ms=2000))
    witness.place()
    witness.start()
    witness.at_s += 1.0
    witness.task_ended(NODE, ref(), None, 15)
    witness.end(outcome="timed-out", reason="time-limit", exit_code=None, signal=15)
    assert witness.broken_rule == "I4"


def test_a_start_of_what_is_over() -> None:
    witness = Watched()
    witness.place()
    witness.cancelled("ci", "a")
    witness.end(outcome="cancelled", reason="lost", exit_code=None)
    witness.start()
    assert witness.broken_rule == "I2"
