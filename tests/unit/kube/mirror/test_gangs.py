"""Gangs as they are while their pods come, fail and are replaced."""

from __future__ import annotations

import pytest

from rota.kube.mirror.gangs import GangReading, read_gang
from rota.kube_objects.namespaces import Namespaces
from rota.kube_objects.objects.pods import Pod
from rota.kube_objects.pods import DEFAULT_GANG_KEYS, PodReader
from rota.kube_objects.priority import PriorityClasses
from rota.kube_objects.volumes import Volumes
from rota.model.ids import JobId
from tests.unit.kube.pods import pod

pytestmark = pytest.mark.covers("kube-2", "kube-4")


def gang(*pods: Pod) -> GangReading:
    reader = PodReader(PriorityClasses(()), Namespaces((), ()), Volumes((), ()), DEFAULT_GANG_KEYS)
    tasks = [reader.read(one) for one in pods]
    return read_gang(JobId("default/gang:g"), tasks, DEFAULT_GANG_KEYS)


def member(name: str, least: str = "2", **more: object) -> Pod:
    return pod(name, gang="g", least=least, **more)  # type: ignore[arg-type]


def test_a_percentage_is_of_those_that_are_there() -> None:
    assert gang(*(member(f"p{number}", "50%") for number in range(5))).needed == 3


def test_those_that_have_failed_are_no_part_of_it() -> None:
    reading = gang(member("p", phase="Failed"), member("q"))
    assert (reading.ready, reading.needed, reading.held) == (1, 2, ("default/q",))


def test_those_that_are_done_count() -> None:
    reading = gang(member("p", phase="Succeeded"), member("q"))
    assert reading.record is not None
    assert list(reading.record.waiting_ranks()) == [1]


def test_those_that_run_go_on_while_others_are_missing() -> None:
    reading = gang(member("p", "3", node="n"), member("q", "3"))
    assert reading.record is not None
    assert reading.record.job.task_names == ("default/p",)
    assert reading.held == ("default/q",)


def test_one_that_replaces_another_doesnt_tear_it() -> None:
    """It came after the gang had started."""
    started = member("p", node="n", created_s=0, began_s=10)
    assert not gang(started, member("q", created_s=60)).torn


def test_one_that_was_left_behind_does() -> None:
    started = member("p", node="n", created_s=0, began_s=10)
    assert gang(started, member("q", created_s=1)).torn == ("default/p",)


def test_enough_of_it_is_whole() -> None:
    reading = gang(member("p", node="n"), member("q", node="n"), member("r"))
    assert not reading.torn
    assert not reading.held
