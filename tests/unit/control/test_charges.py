"""What tenants are charged stays unsaved until a transaction has it."""

from __future__ import annotations

from rota.control.charges import Charges
from rota.model.ids import JobId, NodeName
from rota.model.job import JobTemplate, TaskGroup
from rota.model.policy import FairShare
from rota.model.resources import Resources
from rota.model.task import TaskSpec
from rota.store.writing.batch import Attempt

TEMPLATE = JobTemplate((TaskGroup(TaskSpec(Resources(cpu_milli=1000))),), project="p", user="ada")


def attempt(started_ms: int | None) -> Attempt:
    return Attempt(JobId("1"), 0, 1, NodeName("n"), (), 0, started_ms=started_ms, ended_ms=10_000)


def test_what_ran_is_charged_once_and_saved_once() -> None:
    charges = Charges(FairShare())
    charges.add(TEMPLATE, attempt(started_ms=0))
    assert charges.has_changed
    unsaved = charges.unsaved()
    assert [usage.path for usage in unsaved] == ["p/ada"]
    assert tuple(unsaved) == charges.usage()
    charges.saved(unsaved)
    assert charges.unsaved() == []
    assert charges.usage(), "still counted"


def test_what_never_started_costs_nothing() -> None:
    charges = Charges(FairShare())
    charges.add(TEMPLATE, attempt(started_ms=None))
    assert not charges.has_changed
    assert charges.unsaved() == []


def test_what_was_saved_before_goes_on() -> None:
    earlier = Charges(FairShare())
    earlier.add(TEMPLATE, attempt(started_ms=0))
    charges = Charges(FairShare(), earlier.usage())
    assert charges.usage() == earlier.usage()
    assert charges.unsaved() == []
