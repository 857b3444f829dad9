"""Spares victims that needn't go after all, the most valuable first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rota.engine.evicting.victims import Unit, Victims
from rota.engine.placing.board import Board
from rota.engine.placing.work import Seat

_TRIALS = 256
"""How many victims are tried for sparing one by one where each try means placing the job anew."""


@dataclass(frozen=True, eq=False)
class Preempted:
    seats: list[Seat]
    victims: list[Unit]


Stay = Callable[[list[Unit]], bool]
"""Puts units back on the board if the job can do without their eviction, and says whether."""
Leave = Callable[[list[Unit]], None]
"""Takes units off the board."""


def spare_in_place(chosen: list[Unit], victims: Victims) -> list[Unit]:
    """Puts back whoever still fits beside the placed job, and gives the others."""

    def leave(units: list[Unit]) -> None:
        victims.lift(tasks_of(units))

    def stay(units: list[Unit]) -> bool:
        for at, unit in enumerate(units):
            if not victims.fits_back(unit):
                leave(units[:at])
                return False
            victims.put_back(unit)
        return True

    return _spare(chosen, victims, stay, leave)


def spare_by_trial(
    chosen: list[Unit],
    victims: Victims,
    board: Board,
    placed: Callable[[], list[Seat] | None],
    credit: Callable[[list[int], int], None] = lambda tasks, sign: None,
) -> Preempted | None:
    """Evicts those of the units that have to go for the job and places it, trying anew each time
    whether it can be `placed`. Whoever goes or stays meanwhile is given to `credit`, with -1 or 1."""
    start = board.checkpoint()
    trials = _TRIALS

    def leave(units: list[Unit]) -> None:
        victims.lift(tasks_of(units))
        credit(tasks_of(units), -1)

    def stay(units: list[Unit]) -> bool:
        nonlocal trials
        if not trials or len(units) == len(chosen):
            return False
        trials -= 1
        for unit in units:
            victims.put_back(unit)
        credit(tasks_of(units), 1)
        if fits():
            return True
        leave(units)
        return False

    def fits() -> bool:
        checkpoint = board.checkpoint()
        seats = placed()
        board.rollback(checkpoint)
        return seats is not None

    leave(chosen)
    needed = _spare(chosen, victims, stay, leave) if fits() else chosen
    seats = placed()
    credit(tasks_of(needed), 1)
    if seats is None:
        board.rollback(start)
        return None
    return Preempted(seats, needed)


def _spare(chosen: list[Unit], victims: Victims, stay: Stay, leave: Leave) -> list[Unit]:
    """Lets stay whom the job can do without, the most valuable first, and gives the others. Many are
    asked about at once, and by halves where not all of them can stay."""
    gone: list[Unit] = []
    doubtful = [_parties(chosen)]
    while doubtful:
        parties = doubtful.pop()
        if stay([unit for party in parties for unit in party]):
            continue
        if len(parties) > 1:
            half = len(parties) // 2
            doubtful += [parties[half:], parties[:half]]
        else:
            gone += _without_enough(parties[0], victims, stay, leave)
    return gone


def _parties(units: list[Unit]) -> list[list[Unit]]:
    """Units that can stay whoever else goes; a gang that would have to go as a whole is one party."""
    whole = {unit.job for unit in units if unit.is_core}
    parties: dict[Unit | int, list[Unit]] = {}
    for unit in sorted(units, key=Unit.value):
        parties.setdefault(unit.job if unit.job in whole else unit, []).append(unit)
    return list(parties.values())


def _without_enough(party: list[Unit], victims: Victims, stay: Stay, leave: Leave) -> list[Unit]:
    """Who goes of a party that can't stay as a whole: a gang goes on if enough of its tasks stay."""
    if len(party) == 1:
        return party
    singles = victims.singles(party)
    staying = [single for single in singles if stay([single])]
    if len(staying) >= victims.running.min_running[party[0].job]:
        return [single for single in singles if single not in staying]
    leave(staying)
    return party


def tasks_of(units: list[Unit]) -> list[int]:
    return [task for unit in units for task in unit.tasks]
