"""What would be in the way of a task on nodes where nobody were left who may have to go for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from rota.engine.evicting.one_node import is_about_amounts
from rota.engine.evicting.victims import Victims
from rota.engine.explaining.verdicts import NodeRefusal, node_refusals
from rota.engine.placing.board import Board
from rota.engine.placing.work import Work
from rota.engine.plugin import Plugins
from rota.model.reasons import NobodyToEvict
from rota.model.verdict import Reason, Refusal
from rota.snapshot.arrays import Bools

_NODES_ASKED = 64
"""So many are asked one by one where rules about others count; the rest as if on all of them everybody had
gone."""


def still_refused(
    work: Work,
    board: Board,
    victims: Victims | None,
    eligible: Bools | None,
    refusals: Sequence[NodeRefusal],
    plugins: Plugins,
) -> tuple[Refusal, ...]:
    """Of the nodes that refuse it now for reasons which the end of others may do away with."""
    hopeful = np.zeros(len(board.nodes), dtype=np.bool_)
    for one in refusals:
        if isinstance(one.reason, plugins.asked_without_victims):
            hopeful |= one.nodes
    occupied = np.zeros_like(hopeful)
    if victims is not None and eligible is not None:
        occupied[victims.running.node[victims.candidates(eligible)[0]]] = True
    counts: Counter[Reason] = Counter()
    if alone := int((hopeful & ~occupied).sum()):
        counts[NobodyToEvict()] = alone
    asked = hopeful & occupied
    if victims is not None and eligible is not None and asked.any():
        for part in _parts(work, asked):
            counts.update(_without_them(work, board, victims, eligible, part, plugins))
    return tuple(Refusal(reason, nodes) for reason, nodes in counts.items())


def _parts(work: Work, asked: Bools) -> list[Bools]:
    """Nodes that can be asked at the same time."""
    if is_about_amounts(work):
        return [asked]
    positions = np.flatnonzero(asked)
    parts = []
    for some in (*positions[:_NODES_ASKED, None], positions[_NODES_ASKED:]):
        if len(some):
            part = np.zeros_like(asked)
            part[some] = True
            parts.append(part)
    return parts


def _without_them(
    work: Work, board: Board, victims: Victims, eligible: Bools, asked: Bools, plugins: Plugins
) -> Counter[Reason]:
    checkpoint = board.checkpoint()
    tasks = victims.candidates(eligible & asked[victims.running.node])[0]
    victims.lift(tasks.tolist())
    found = node_refusals(work.signatures[0], board, plugins.filters, plugins.refusal_order)
    board.rollback(checkpoint)
    counts: Counter[Reason] = Counter()
    for one in found:  # Several may have the same reason: of several running tasks, say.
        if count := int((one.nodes & asked).sum()):
            counts[one.reason] += count
    return counts
