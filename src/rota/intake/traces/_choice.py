"""Files that hold several workloads: which one is meant."""

from collections.abc import Mapping
from typing import TypeVar

from rota.intake.checking.fields import Field
from rota.intake.checking.wording import listed, nearest, quoted

T = TypeVar("T")


def choose(workloads: Mapping[str, T], wanted: str | None, at: Field) -> T:
    if wanted is None:
        if len(workloads) == 1:
            return next(iter(workloads.values()))
        raise at.error(f"holds {len(workloads)} workloads", f"name one: {listed(workloads)}")
    if wanted not in workloads:
        meant = nearest(wanted, workloads)
        remedy = f"did you mean {quoted(meant)}?" if meant else f"there are {listed(workloads)}"
        raise at.error(f"there is no workload {quoted(wanted)}", remedy)
    return workloads[wanted]
