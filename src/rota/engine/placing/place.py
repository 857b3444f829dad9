"""Where the tasks of a job go: one, many equal ones at once, or one after another.

All of it happens on the board and can be undone; a gang is a trial that is kept or rolled back.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from itertools import combinations, islice, permutations

import numpy as np

from rota.engine.placing.board import Board, Devices
from rota.engine.placing.company import company_order
from rota.engine.placing.search import search
from rota.engine.placing.signature import Signature
from rota.engine.placing.work import Apart, Seat, Work, apart_rules, least_need
from rota.model.job import TopologyMode, TopologyRule
from rota.snapshot.arrays import Bools, Int64s


def place(work: Work, board: Board, within: Bools | None = None) -> list[Seat] | None:
    """Places as many tasks as it can and at least the needed number; else nothing, and None."""
    if len(work.counts) > 1 and not _may_hold(work, board):
        return None
    checkpoint = board.checkpoint()
    orders = _orders(work)
    for region, seeds in regions(work, board, rules_of(work), within):
        for order in orders:
            seats = _place_groups(work, board, region, seeds, order)
            if seats is not None:
                return seats
            board.rollback(checkpoint)
        if len(work.counts) > 1 and not seeds:
            found, _ = search(work, board, region, orders[0])
            if found is not None:
                return found
    return None


def would_place(work: Work, board: Board) -> list[Seat] | None:
    """Where `place` would put it; the board stays as it is."""
    checkpoint = board.checkpoint()
    seats = place(work, board)
    board.rollback(checkpoint)
    return seats


def _may_hold(work: Work, board: Board) -> bool:
    """By amounts, and by those of the whole cluster: cheap, and never wrongly no. It spares trying orders of
    many different groups that can't all be there."""
    return not (least_need(work) > np.maximum(board.free, 0).sum(axis=1)).any()


_ORDERS = 6


def _orders(work: Work) -> list[Sequence[int]]:
    """Orders of the groups to try, the most promising first: which of them leaves room for the
    others can't always be told."""
    first = hardest_first(work)
    return [first] if len(first) == 1 else list(islice(permutations(first), _ORDERS))


def rules_of(work: Work) -> tuple[TopologyRule, ...]:
    """The job's own rules, and those that follow from others: where all its tasks must be near
    their own kind, of which there is none yet, all have to go to one domain."""
    if work.total == 1:
        return work.topology
    keys = [_own_company(signature) for signature in work.signatures]
    implied = [key for key in keys[0] if all(key in others for others in keys)]
    return (*work.topology, *(TopologyRule(key, TopologyMode.SAME) for key in implied))


def _own_company(signature: Signature) -> list[str]:
    """Keys over which tasks of this kind have to be together, as the first of their kind."""
    return [rule.term.topology_key for rule in signature.domain_rules.near if rule.is_first]


_MANY = 64
"""From so many equal tasks on it pays to rank all nodes at once."""


def place_equal(signature: Signature, board: Board, count: int, within: Bools | None = None) -> list[int]:
    """Puts up to `count` equal tasks on the board and gives their positions, in the order in which
    one by one they would have been placed."""
    if signature.needs_turns or count < _MANY:
        return _in_turns(signature, board, count, within, ())
    positions = _climb(signature, count, within)
    board.put_many(positions, signature.demand, signature.footprint)
    picked: list[int] = positions.tolist()
    return picked


def put_best(signature: Signature, board: Board, within: Bools | None = None) -> tuple[int, Devices] | None:
    """Puts one task on the best node; where it went and on which devices, None if nowhere."""
    at = signature.best(within)
    if at < 0:
        return None
    return at, board.put(at, signature.demand, signature.footprint, signature.chosen_devices(at))


def _climb(signature: Signature, count: int, within: Bools | None) -> Int64s:
    """Many equal tasks in one go.

    A placement changes the score of its own node only, so the order one by one is that of a merge:
    each node has a ladder of scores (for its first, second, … such task), and the highest step that
    is next on any ladder is taken. Exact for every strategy, monotone or not.
    """
    positions = np.flatnonzero(signature.feasible_scores(within) >= 0)
    if not len(positions):
        return np.empty(0, dtype=np.int64)
    room = signature.capacity(positions).tolist()
    depth = max(1, min(max(room), 2 + 2 * count // len(positions)))
    ladders = signature.score_ladder(positions, 0, depth).tolist()
    width = len(positions)
    # One whole number holds score and position: higher scores first, then lower positions.
    heap = [at - ladder[0] * width for at, ladder in enumerate(ladders)]
    heapq.heapify(heap)
    steps = [0] * width
    picks: list[int] = []
    for _ in range(count):
        if not heap:
            break
        at = heap[0] % width
        picks.append(at)
        step = steps[at] = steps[at] + 1
        if step >= room[at]:
            heapq.heappop(heap)
            continue
        ladder = ladders[at]
        if step >= len(ladder):
            more = signature.score_ladder(positions[at : at + 1], step, len(ladder) + 8)
            ladder.extend(more[0].tolist())
        heapq.heapreplace(heap, at - ladder[step] * width)
    return positions[picks]


def _in_turns(
    signature: Signature,
    board: Board,
    count: int,
    within: Bools | None,
    apart: Sequence[Apart],
) -> list[int]:
    """One after another, each seeing what the one before it changed."""
    positions: list[int] = []
    for _ in range(count):
        mask = within
        for rule in apart:
            mask = rule.free if mask is None else mask & rule.free
        found = put_best(signature, board, mask)
        if found is None:
            break
        positions.append(found[0])
        for rule in apart:
            rule.use(found[0])
    return positions


def _place_groups(
    work: Work, board: Board, within: Bools | None, seeds: Sequence[Bools], order: Sequence[int]
) -> list[Seat] | None:
    """All groups within the mask, in this order, after one task in each of the seeds' domains."""
    apart = apart_rules(work, board.nodes)
    first_move = board.checkpoint()
    left = list(work.counts)
    seats: list[tuple[int, int]] = []
    for seed in seeds:
        seeded = seed if within is None else seed & within
        if not _place_seed(work, board, order, left, seeded, apart, seats):
            return None
    for group in order:
        signature, count = work.signatures[group], left[group]
        if not count:
            continue
        if apart:
            positions = _in_turns(signature, board, count, within, apart)
        else:
            mask = _company_mask(signature, board, count, within) if len(work.counts) > 1 else within
            positions = place_equal(signature, board, count, mask)
        left[group] -= len(positions)
        seats += [(group, position) for position in positions]
    for group in order:
        # Those that were placed later may have opened domains for who found no place before.
        if left[group] and seats and work.signatures[group].domain_rules.opens:
            followers = _in_turns(work.signatures[group], board, left[group], within, apart)
            seats += [(group, position) for position in followers]
    if len(seats) < work.needed:
        return None
    devices = board.devices_since(first_move)
    return [Seat(group, position, got) for (group, position), got in zip(seats, devices, strict=True)]


def _company_mask(signature: Signature, board: Board, count: int, within: Bools | None) -> Bools | None:
    """For one group of several: the roomiest domain, where its tasks have to be together."""
    for key in _own_company(signature):
        alone = Work((signature,), (count,), 1)
        rule = TopologyRule(key, TopologyMode.SAME)
        for chosen in _domain_choices(alone, rule, board, within):
            inside = np.isin(board.nodes.topology(key).codes, chosen)
            within = inside if within is None else inside & within
            break
    return within


def _place_seed(
    work: Work,
    board: Board,
    order: Sequence[int],
    left: list[int],
    mask: Bools,
    apart: Sequence[Apart],
    seats: list[tuple[int, int]],
) -> bool:
    for group in order:
        if left[group]:
            found = _in_turns(work.signatures[group], board, 1, mask, apart)
            if found:
                seats.append((group, found[0]))
                left[group] -= 1
                return True
    return False


def hardest_first(work: Work) -> list[int]:
    """Tasks with few nodes to choose from before those with many, large ones before small ones,
    which still find room between them; but none before those of the job that it must be near to."""
    signatures = work.signatures
    if len(signatures) == 1:
        return [0]
    nodes = [int((signature.feasible_scores() >= 0).sum()) for signature in signatures]
    size = [signature.largest_share() for signature in signatures]
    wished = sorted(range(len(size)), key=lambda group: (nodes[group], -size[group], group))
    wants = [
        {id(rule.counter) for rule in signature.domain_rules.near if not rule.may_be_first}
        for signature in signatures
    ]
    wanted = set().union(*wants)
    if not wanted:
        return wished
    offers = [{id(counter) for counter in signature.footprint.counters} & wanted for signature in signatures]
    return company_order(wished, wants, offers)


def regions(
    work: Work, board: Board, rules: Sequence[TopologyRule], within: Bools | None
) -> Iterator[tuple[Bools | None, list[Bools]]]:
    """The parts of the cluster to try, best first, and the domains that must each get a task."""
    bounding = [rule for rule in rules if rule.mode is not TopologyMode.DIFFERENT]
    if not bounding:
        yield within, []
        return
    rule, rest = bounding[0], bounding[1:]
    column = board.nodes.topology(rule.key)
    for chosen in _domain_choices(work, rule, board, within):
        inside = np.isin(column.codes, chosen)
        mask = inside if within is None else inside & within
        held = {int(column.codes[position]) for position in work.placed_at}
        seeds = (
            [column.codes == domain for domain in chosen if domain not in held]
            if rule.mode is TopologyMode.COUNT
            else []
        )
        for region, more in regions(work, board, rest, mask):
            yield region, seeds + more


_CHOICES = 256
"""How many sets of domains are tried at most, for a job that must lie in so many of them."""


def _domain_choices(
    work: Work, rule: TopologyRule, board: Board, within: Bools | None
) -> Iterator[list[int]]:
    """Sets of domains that could hold the job, those with room for all of it first."""
    column = board.nodes.topology(rule.key)
    codes, domains = column.codes, len(column.values)
    room = np.zeros(domains, dtype=np.int64)
    top = np.full(domains, -1, dtype=np.int64)
    for signature, count in zip(work.signatures, work.counts, strict=True):
        scores = signature.feasible_scores(within)
        usable = scores >= 0
        if signature.domain_rules.allowed() is not None:
            # The job's own tasks may open nodes to each other that are closed now.
            usable = signature.static_mask if within is None else signature.static_mask & within
        at = np.flatnonzero(usable & (codes >= 0))
        fitting = np.zeros(domains, dtype=np.int64)
        np.add.at(fitting, codes[at], signature.capacity(at))
        room += np.minimum(fitting, count)
        np.maximum.at(top, codes[at], scores[at])
    held = sorted({int(codes[position]) for position in work.placed_at} - {-1})
    if rule.mode is TopologyMode.SAME:
        fitting_domains = [d for d in held or range(domains) if room[d] >= work.needed]
        for domain in sorted(fitting_domains, key=lambda d: (-room[d], -top[d], d)):
            yield [domain]
        return
    others = sorted(
        (d for d in range(domains) if room[d] > 0 and d not in held), key=lambda d: (-room[d], -top[d], d)
    )
    wanted = rule.count - len(held)
    if 0 <= wanted <= len(others):
        # In this order the roomiest come first, then those that differ from them by little.
        for chosen in islice(combinations(others, wanted), _CHOICES):
            yield sorted([*held, *chosen])
