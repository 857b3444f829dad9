"""How durations are distributed: the share of all that is no longer than so much, on a logarithmic axis."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rota.simulate.report.axes import Axis
from rota.simulate.report.chart import Points

_MOST_POINTS = 300


def cumulative(durations_ms: Sequence[int], of: int, axis: Axis) -> Points:
    """Steps from the left end of the axis to its right end. `of`: so many count as all."""
    ordered = np.sort(np.asarray(durations_ms, float))
    places = np.unique(ordered[(ordered > axis.low) & (ordered < axis.high)])
    if len(places) > _MOST_POINTS:
        places = np.geomspace(axis.low, axis.high, _MOST_POINTS)
    places = np.concatenate(([axis.low], places, [axis.high]))
    shares = np.searchsorted(ordered, places, side="right") / max(of, 1)
    return [*zip(places.tolist(), shares.tolist(), strict=True)]
