"""In which order groups are placed of which some must be near others: the slow, obvious way."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet


def company_order(
    wished: Sequence[int], wants: Sequence[AbstractSet[int]], offers: Sequence[AbstractSet[int]]
) -> list[int]:
    """Again and again the first group that is left and waits for no other that is left; where all wait for
    each other, the first that is left."""
    left = list(wished)
    order: list[int] = []
    while left:
        ready = [
            group
            for group in left
            if not any(other != group and wants[group] & offers[other] for other in left)
        ]
        order.append((ready or left)[0])
        left.remove(order[-1])
    return order
