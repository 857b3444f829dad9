"""Looks for planted bugs by rounds of real processes: after how many is one caught, and by which rule.

Only a broken rule counts. That a server or an agent ends by itself is one, I0; that a cluster doesn't start,
or that nobody answers any more, tells nothing about the bug: such a round is left out, and told of.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from itertools import count, islice
from pathlib import Path

from tests.crash import faults
from tests.crash.plan import LEADS_S, LOST_AFTER_S, Kind, Plan, Point, plan
from tests.crash.rules import Broken
from tests.crash.torture import Failed, Round
from tests.planting.bugs import BUGS, Needs
from tests.planting.caught import Caught
from tests.planting.switch import planted

MOST_ROUNDS = 4
_DATABASE_HIT = (faults.DatabaseKilled, faults.DatabaseFrozen, faults.SessionKilled, faults.SessionFrozen)
_CALM = 8 * (Point(3.0, (), 0.0),)
"""Looked at as often as others are, and nothing is done to it."""

Play = Callable[[str, Plan], Broken | None]
"""What a round with a bug has broken. Raises what keeps it from being judged."""


class NotPlanted(Exception):
    """No process of a round had the bug: what it shows is of no use."""


def play(bug: str, chosen: Plan) -> Broken | None:
    """A round of real processes with the bug. Raises NotPlanted, and what keeps it from being judged."""
    folder = Path(tempfile.mkdtemp(prefix="rota-planted-"))
    try:
        with planted(BUGS[bug], folder) as switch:
            broken = _broken_by(Round(chosen))
            if not switch.reached():
                raise NotPlanted(f"no process has the bug {bug!r}")
            return broken
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def find(bug: str, first_seed: int = 1, most_rounds: int = MOST_ROUNDS, play: Play = play) -> Caught:
    failures: list[str] = []
    plans = islice(plans_that_can_show(BUGS[bug].needs, first_seed), most_rounds)
    for tries, one in enumerate(plans, start=1):
        try:
            broken = play(bug, one)
        except Exception as error:
            failures.append(f"seed {one.seed}: {type(error).__name__}: {error}")
            continue
        if broken is not None:
            return Caught(bug, tries, str(broken), tuple(failures))
    return Caught(bug, most_rounds, "", tuple(failures))


def _broken_by(one: Round) -> Broken | None:
    try:
        one.run()
    except Failed as failed:
        if not isinstance(failed.__cause__, Broken):
            raise
        # As it should be: nobody wants to look into that.
        shutil.rmtree(one.folder, ignore_errors=True)
        return failed.__cause__
    return None


def plans_that_can_show(needs: Needs, first_seed: int = 1) -> Iterator[Plan]:
    """Without end, those from the first seed on in which what is needed goes wrong."""
    if needs is Needs.CALM:
        return (Plan(seed, Kind.LOG_DAMAGED, _CALM) for seed in count(first_seed))
    is_of_scheduler = needs is Needs.SCHEDULER
    drawn = (one for one in map(plan, count(first_seed)) if (one.kind is Kind.SCHEDULER) is is_of_scheduler)
    return filter(_CAN_SHOW[needs], drawn)


def _has(*kinds: type, longer_than_s: float = 0.0) -> Callable[[Plan], bool]:
    def has(one: Plan) -> bool:
        struck = (fault for point in one.points for fault in point.faults)
        return any(isinstance(fault, kinds) and fault.for_s >= longer_than_s for fault in struck)

    return has


_CAN_SHOW: Mapping[Needs, Callable[[Plan], bool]] = {
    Needs.NOTHING: lambda one: True,
    Needs.SERVER_KILLED: _has(faults.ServerKilled),
    Needs.LOG_DAMAGED: lambda one: one.kind is Kind.LOG_DAMAGED,
    Needs.DATABASE_HIT: _has(*_DATABASE_HIT),
    Needs.LEADER_OUTLIVED: _has(faults.ServerFrozen, longer_than_s=LEADS_S),
    Needs.AGENT_OUTLIVED: _has(faults.AgentFrozen, faults.Parted, longer_than_s=LOST_AFTER_S),
    Needs.AGENT_PARTED: _has(faults.Parted, longer_than_s=LOST_AFTER_S),
    Needs.KEEPER_KILLED: _has(faults.KeeperKilled),
    Needs.SCHEDULER: lambda one: True,
}
