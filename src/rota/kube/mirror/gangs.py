"""Pods of one gang, at one moment in a live cluster: what of it counts, what must wait, and for what.

Files hold whole gangs; in a cluster pods come one after the other, fail, and are replaced.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from rota.kube.mirror.reasons import GangIncomplete, GangOthersFirst, Hold, Misread
from rota.kube_objects.gangs import Disagreement, agreed, as_gang
from rota.kube_objects.pods import GangKeys, PodState, PodTask
from rota.model.ids import JobId, TaskName
from rota.model.job import JobRecord


class Roles(Struct, frozen=True):
    """Where not just any pods of a gang will do."""

    least: Mapping[str, int]
    """So many of each must start together, besides as many as the gang needs in all."""
    of: Mapping[TaskName, str]


ANY_PODS = Roles({}, {})


class GangReading(Struct, frozen=True):
    record: JobRecord | None
    """What is to be decided about, or runs; None: nothing."""
    ready: int
    """Pods that run, are done, or could start."""
    needed: int
    """How many must start together."""
    incomplete: GangIncomplete | None = None
    """What the pods wait for that are held; None: none is."""
    held: tuple[TaskName, ...] = ()
    """Pods that wait for others to come."""
    later: tuple[TaskName, ...] = ()
    """Pods that wait until those have started that must start together."""
    torn: tuple[TaskName, ...] = ()
    """Pods that were bound, of a gang that has never had enough of them: others were there and weren't."""
    disagreement: Disagreement | None = None
    is_open_ended: bool = False
    """No number says how many pods there will be: more may be on their way."""

    def holds(self, gang: str) -> dict[TaskName, Hold]:
        """What keeps pods of it from being decided about."""
        holds: dict[TaskName, Hold] = dict.fromkeys(self.later, GangOthersFirst(gang))
        return holds if self.incomplete is None else holds | dict.fromkeys(self.held, self.incomplete)

    def misread(self, gang: str, gang_keys: GangKeys) -> Misread | None:
        """Of each of its pods that wait; None: they say the same."""
        if self.disagreement is None:
            return None
        said = " and ".join(self.disagreement.said)
        problem = f"pods of the gang {gang} say different things of {gang_keys.annotation}: {said}"
        return Misread(f"{problem}; give all the same", self.disagreement.assumed)


def gang_id_of(pod: PodTask) -> JobId:
    """No pod's name has a colon in it."""
    return JobId(f"{pod.template.namespace}/gang:{pod.gang}")


def read_gang(
    gang_id: JobId, pods: Sequence[PodTask], gang_keys: GangKeys, roles: Roles = ANY_PODS
) -> GangReading:
    """`pods` are all that are of the gang, those that have failed included."""
    present = [pod for pod in pods if pod.state is not PodState.GONE]
    least, disagreement = agreed(pods, len(present))
    needed = len(present) if least is None else least.of(len(present))
    if disagreement is not None:
        pods = [replace(pod, min_available=least) for pod in pods]
    gang = pods[0].gang
    ready = [pod for pod in present if pod.state is not PodState.GATED]
    started = [pod for pod in ready if pod.state in _STARTED]
    reading = GangReading(
        record=None,
        ready=len(ready),
        needed=needed,
        torn=tuple(pod.name for pod in _torn(present, _shortfall(gang, started, needed, roles))),
        disagreement=disagreement,
        is_open_ended=least is None or least.count is None,
    )
    missing = _shortfall(gang, ready, needed, roles)
    if missing is not None:
        # Those that run go on, whatever the others are waiting for.
        running = [replace(pod, min_available=None) for pod in started]
        return replace(
            reading,
            record=as_gang(gang_id, running, gang_keys).record if running else None,
            incomplete=missing,
            held=tuple(pod.name for pod in ready if pod.state is PodState.WAITING),
        )
    if roles.least and _shortfall(gang, started, needed, roles) is not None:
        first = _first(ready, needed, roles)
        kept = {pod.name for pod in first}
        return replace(
            reading,
            record=as_gang(gang_id, first, gang_keys).record,
            later=tuple(pod.name for pod in ready if pod.name not in kept),
        )
    return replace(reading, record=as_gang(gang_id, pods, gang_keys).record)


_STARTED = frozenset({PodState.RUNNING, PodState.DONE})


def _shortfall(gang: str, pods: Sequence[PodTask], needed: int, roles: Roles) -> GangIncomplete | None:
    """What these lack to start together; None: nothing."""
    if len(pods) < needed:
        return GangIncomplete(gang, len(pods), needed)
    counts = _by_role(pods, roles)
    for role, least in roles.least.items():
        if counts[role] < least:
            return GangIncomplete(gang, counts[role], least, role)
    return None


def _first(ready: Sequence[PodTask], needed: int, roles: Roles) -> list[PodTask]:
    """Those that have started, and as few others as make them enough: any of a role is as good as another,
    and so the first by name are taken."""
    chosen = [pod for pod in ready if pod.state in _STARTED]
    lacking = Counter(roles.least)
    lacking.subtract(_by_role(chosen, roles))
    others = []
    for pod in sorted((pod for pod in ready if pod.state not in _STARTED), key=lambda pod: pod.name):
        role = roles.of.get(pod.name, "")
        if lacking[role] > 0:
            lacking[role] -= 1
            chosen.append(pod)
        else:
            others.append(pod)
    return chosen + others[: max(0, needed - len(chosen))]


def _by_role(pods: Iterable[PodTask], roles: Roles) -> Counter[str]:
    return Counter(roles.of.get(pod.name, "") for pod in pods)


def _torn(present: Sequence[PodTask], shortfall: GangIncomplete | None) -> list[PodTask]:
    """A pod that replaces another comes after the gang has started; one that was left behind was there."""
    bound = [pod for pod in present if pod.state is PodState.RUNNING]
    if not bound or shortfall is None:
        return []
    began_ms = [pod.started_ms for pod in bound if pod.started_ms > pod.submitted_ms]
    left_behind = [
        pod
        for pod in present
        if pod.state is PodState.WAITING and (not began_ms or pod.submitted_ms <= min(began_ms))
    ]
    return bound if left_behind else []
