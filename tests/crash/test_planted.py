"""Planted bugs get into real processes, and only a broken rule counts as catching one."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import islice
from pathlib import Path

import pytest

from rota.lifecycle.state import Phase
from tests.crash.plan import Kind, Plan
from tests.crash.planted import find, plans_that_can_show
from tests.crash.rules import Broken
from tests.planting.bugs import AGENT, BUGS, PROCESSES, SCHEDULER, Bug, Needs
from tests.planting.switch import Planted, planted
from tests.real.server.rota_server import RotaServer

REAL = [bug for bug in BUGS.values() if bug.real]
TRUE = {"command": ["/bin/true"]}


def test_there_are_enough_of_them() -> None:
    assert len(REAL) >= 15


@pytest.mark.parametrize("bug", REAL, ids=lambda bug: bug.name)
def test_each_can_be_planted(bug: Bug) -> None:
    with bug.plant_in_process()():
        pass


@pytest.mark.parametrize("process", [AGENT, SCHEDULER])
def test_it_is_planted_once_its_process_has_what_it_changes(process: str, tmp_path: Path) -> None:
    switch = Planted(next(bug.name for bug in REAL if PROCESSES[bug.real] == process), tmp_path)
    subprocess.run(
        [sys.executable, "-c", f"import {process}"], env={**os.environ, **switch.environment}, check=True
    )
    assert len(switch.reached()) == 1


def test_the_keeper_of_a_server_has_it(tmp_path: Path) -> None:
    folder = tmp_path / "planted"
    folder.mkdir()
    switch = Planted("only the first process of a task is ended", folder)
    server = RotaServer(tmp_path / "home", environment=switch.environment)
    try:
        server.start()
        assert server.run(TRUE).phase is Phase.SUCCEEDED
        # A keeper is the child of a process that has imported all for it; the server has no code of keepers.
        assert len(switch.reached()) == 1
    finally:
        server.remove()


@pytest.mark.parametrize("is_there", [False, True])
def test_a_server_does_what_is_planted(is_there: bool, tmp_path: Path) -> None:
    folder = tmp_path / "planted"
    folder.mkdir()
    environment = Planted("attempts are not kept", folder).environment if is_there else None
    server = RotaServer(tmp_path / "home", environment=environment)
    try:
        server.start()
        job = server.run(TRUE).id
        ended = [attempt.ended for attempt in server.client.job(job).attempts]
        assert (None not in ended and len(ended) == 1) is not is_there
    finally:
        server.remove()


def test_what_starts_afterwards_has_no_bug(tmp_path: Path) -> None:
    before = os.environ.get("PYTHONPATH")
    with planted(BUGS["attempts are not kept"], tmp_path):
        assert os.environ["PYTHONPATH"].startswith(f"{tmp_path}:")
    assert os.environ.get("PYTHONPATH") == before


def test_processes_that_are_not_concerned_import_nothing_for_it(tmp_path: Path) -> None:
    switch = Planted("attempts are not kept", tmp_path)
    asked = "import rota.backends.process.keeper.keeper, sys; print('unittest.mock' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", asked],
        env={**os.environ, **switch.environment},
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stdout == "False\n"
    assert not switch.reached()


@pytest.mark.parametrize("needs", Needs)
def test_rounds_are_those_that_can_show_it(needs: Needs) -> None:
    found = list(islice(plans_that_can_show(needs), 4))
    assert len({one.seed for one in found}) == 4
    assert {one.kind is Kind.SCHEDULER for one in found} == {needs is Needs.SCHEDULER}
    if needs is Needs.CALM:
        assert not any(one.length for one in found)
    if needs is Needs.LOG_DAMAGED:
        assert {one.kind for one in found} == {Kind.LOG_DAMAGED}


def test_only_a_broken_rule_catches_it() -> None:
    seen: list[int] = []

    def play(bug: str, one: Plan) -> Broken | None:
        seen.append(one.seed)
        if len(seen) == 1:
            raise AssertionError("waited in vain for a server that leads")
        return Broken("I4", "too short") if len(seen) == 3 else None

    caught = find("keepers ignore their leases", most_rounds=4, play=play)
    assert (caught.tries, caught.rule, caught.by) == (3, "I4", "I4: too short")
    assert caught.failures == (f"seed {seen[0]}: AssertionError: waited in vain for a server that leads",)
    assert find("keepers ignore their leases", most_rounds=2, play=lambda bug, one: None).by == ""
