"""`rota sim openb`: the packing experiment, one run."""

from __future__ import annotations

from difflib import get_close_matches

import typer
from msgspec import Struct

from rota.cli.output import OutputFormat, show, write_document
from rota.cli.tables import new_table
from rota.intake.traces.openb import read_arrivals, read_nodes, read_pods
from rota.simulate.openb import POLICIES, PackingResult, run

_LOADS = (100, 110, 120, 130)


class OpenbEntry(Struct, frozen=True):
    allocated: dict[str, float]
    placed: dict[str, float]


def openb(nodes: str, pods: str, arrivals: str, seed: int, policy: str, output: OutputFormat) -> None:
    if policy not in POLICIES:
        meant = get_close_matches(policy, POLICIES, n=1)
        remedy = f"did you mean {meant[0]}?" if meant else f"known: {', '.join(POLICIES)}"
        raise typer.BadParameter(f"there is no policy {policy}; {remedy}", param_hint="--policy")
    node_list, pod_list = read_nodes(nodes), read_pods(pods)
    order = read_arrivals(arrivals, seed, len(node_list), len(pod_list))
    entry = _entry(run(node_list, pod_list, order, policy))
    if output.is_table:
        _show(entry)
    else:
        write_document(entry, output)


def _entry(outcome: PackingResult) -> OpenbEntry:
    loads = [load for load in _LOADS if load in outcome.allocated]
    return OpenbEntry({str(load): outcome.allocated[load] for load in loads}, outcome.placed)


def _show(entry: OpenbEntry) -> None:
    allocated = new_table("GPUs asked for", "GPUs allocated")
    for load, percent in entry.allocated.items():
        allocated.add_row(f"{load} %", f"{percent:.2f} %")
    placed = new_table("pods", "placed")
    for name, share in entry.placed.items():
        placed.add_row(name, f"{100 * share:.2f} %")
    show([allocated, placed])
