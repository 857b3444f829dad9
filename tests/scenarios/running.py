"""Reads a scenario, plans it, and says what is wrong."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from rota.intake.errors import InputError
from rota.loop.on_files import Moment
from rota.model.cluster import ClusterRecords
from tests.scenarios.comparison import Made, differences
from tests.scenarios.plugins import HOST
from tests.scenarios.scenario import before, carried_out, read_scenario


def complaint_about(path: Path, shown_as: str) -> str:
    """What is wrong with a scenario or with the plan for it; empty: nothing."""
    try:
        scenario = read_scenario(path, shown_as)
    except InputError as error:
        return "\n".join(map(str, error.all))
    records = scenario.records
    for number, step in enumerate(scenario.steps, start=1):
        records = before(step, records)
        moment = Moment(records, scenario.policy, step.now_ms, HOST)
        plan = moment.plan()
        which = f", cycle {number}" if len(scenario.steps) > 1 else ""
        if plan != Moment(_reversed(records), scenario.policy, step.now_ms, HOST).plan():
            return f"{shown_as}{which}: the plan is another when nodes and jobs come in reverse order"
        made = Made(records, plan, step.now_ms)
        found = list(differences(step.expect, made, moment.explain))
        if found:
            parts = [f"{shown_as}{which}: {scenario.title}", *map(str, found)]
            return "\n\n".join([*parts, f"The whole plan:\n{made.as_yaml()}"])
        if number < len(scenario.steps):
            records = carried_out(plan, records, step.now_ms)
    return ""


def _reversed(records: ClusterRecords) -> ClusterRecords:
    return replace(records, nodes=records.nodes[::-1], offers=records.offers[::-1], jobs=records.jobs[::-1])
