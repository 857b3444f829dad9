from __future__ import annotations

import pytest

from rota.backends.backend import TaskEnded
from rota.backends.kubernetes.lanes import Moves, moves_of
from rota.backends.kubernetes.task import PodTask
from rota.lifecycle.state import EndReason, TaskEnd
from rota.model.ids import NodeName
from tests.unit.backends.kubernetes.starts import ref, start

pytestmark = pytest.mark.covers("back-3")


def task(job: str, *, standby: bool = False, over: bool = False) -> PodTask:
    found = PodTask(ref(job), NodeName("n"), start(ref=ref(job), lane="l", standby=standby))
    found.pod_name = f"act-job-{job}"
    if over:
        found.takes(TaskEnded(found.ref, 1, TaskEnd(EndReason.EXITED, 0)))
    return found


def test_one_that_runs_is_waited_for() -> None:
    assert moves_of([task("1"), task("2", standby=True)]) == Moves([], [])


def test_one_that_has_ended_leaves_its_room_to_the_next() -> None:
    ended, first, second = task("1", over=True), task("2", standby=True), task("3", standby=True)
    assert moves_of([ended, first, second]) == Moves([(first, ended)], [])


def test_a_room_is_left_once() -> None:
    ended, waiting = task("1", over=True), task("2", standby=True)
    ended.has_left_room = True
    assert moves_of([ended, waiting]) == Moves([], [waiting])


def test_who_has_nobody_to_wait_for_is_given_back() -> None:
    alone = task("1", standby=True)
    assert moves_of([alone]) == Moves([], [alone])


def test_one_that_is_to_stop_gets_no_room() -> None:
    ended, waiting = task("1", over=True), task("2", standby=True)
    waiting.is_to_stop = True
    assert moves_of([ended, waiting]) == Moves([], [])
