"""In which order the groups of one job are placed when some must be near others."""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence
from collections.abc import Set as AbstractSet
from typing import TypeVar

Kind = TypeVar("Kind", bound=Hashable)


def company_order(
    wished: Sequence[int], wants: Sequence[AbstractSet[Kind]], offers: Sequence[AbstractSet[Kind]]
) -> list[int]:
    """The groups in the wished order, but each after all others that offer a kind of company it wants.

    Where groups wait for each other in a circle, the first that is left goes ahead. The kinds stand between
    those who want and those who offer them: the cost is that of these lists, and not of all pairs of groups.
    """
    offering = Counter(kind for group in wished for kind in offers[group])
    """How many of the groups that are left offer it."""
    waiting: defaultdict[Kind, list[int]] = defaultdict(list)
    missing = [0] * len(wants)
    """Of each group, how many kinds it waits for. Nobody is company to itself."""
    for at, group in enumerate(wished):
        for kind in wants[group]:
            if offering[kind] > (kind in offers[group]):
                missing[group] += 1
                waiting[kind].append(at)
    ready = [at for at, group in enumerate(wished) if not missing[group]]
    is_left = [True] * len(wished)
    order: list[int] = []
    first = 0
    while len(order) < len(wished):
        while ready and not is_left[ready[0]]:
            heapq.heappop(ready)
        while not is_left[first]:
            first += 1
        at = ready[0] if ready else first
        is_left[at] = False
        order.append(wished[at])
        for kind in offers[wished[at]]:
            offering[kind] -= 1
            if offering[kind] > 1 or kind not in waiting:
                continue
            # The last one that offers it, if it wants it too, has no other to wait for.
            freed = [one for one in waiting[kind] if not offering[kind] or kind in offers[wished[one]]]
            for one in freed:
                missing[wished[one]] -= 1
                if is_left[one] and not missing[wished[one]]:
                    heapq.heappush(ready, one)
    return order
