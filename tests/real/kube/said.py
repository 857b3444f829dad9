"""What schedulers say of pods, watched as they say it: some of it is there for moments only."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from rota.kube.api.client import Client, Selection
from rota.kube.api.informer import Informer
from rota.kube.api.resources import Resource
from rota.kube_objects.objects.metadata import KubeObject, KubeStruct


class SaidCondition(KubeStruct):
    type: str
    status: str = ""
    message: str = ""


class SaidStatus(KubeStruct):
    nominated_node_name: str = ""
    conditions: list[SaidCondition] | None = None


class SaidSpec(KubeStruct):
    node_name: str = ""


class SaidPod(KubeObject):
    """A pod, with what its scheduler says of it."""

    spec: SaidSpec
    status: SaidStatus | None = None

    @property
    def nominated(self) -> str:
        return self.status.nominated_node_name if self.status else ""

    @property
    def refusal(self) -> str:
        """Why it can't be scheduled; empty: nobody says so."""
        for one in (self.status and self.status.conditions) or ():
            if one.type == "PodScheduled" and one.status == "False":
                return one.message
        return ""


_NO_DEVICES = " no new claims to deallocate,"
_NOT_NOTED = ". not found"
PREEMPTION = "preemption:"
ANY = "…"
"""Whatever else is said."""
SAID = Resource("", "v1", "pods", SaidPod)


class Hearing:
    """Of each pod of a namespace what was said first, and where it was to go."""

    def __init__(self) -> None:
        self.refusals: dict[str, str] = {}
        """By uid, like the next."""
        self.nominated: dict[str, str] = {}

    def changed(self, _old: SaidPod | None, new: SaidPod | None) -> None:
        if new is None:
            return
        uid = new.metadata.uid or ""
        if new.refusal:
            self.refusals.setdefault(uid, new.refusal)
        if new.nominated:
            self.nominated[uid] = new.nominated

    async def refusal(self, uid: str, within_s: float) -> str:
        """Empty: nothing was heard by then."""
        ends_s = asyncio.get_running_loop().time() + within_s
        while uid not in self.refusals and asyncio.get_running_loop().time() < ends_s:
            await asyncio.sleep(0.01)
        return self.refusals.get(uid, "")


@asynccontextmanager
async def heard(client: Client, namespace: str) -> AsyncIterator[Hearing]:
    hearing, informer = Hearing(), Informer(client, SAID, Selection(namespace))
    informer.subscribe(hearing.changed)
    listening = asyncio.create_task(informer.run())
    try:
        await informer.synced.wait()
        yield hearing
    finally:
        listening.cancel()


def parts_of(message: str) -> tuple[str, ...]:
    """How many nodes, by reason, in both halves: as it is now, and if those were gone who may have to go.

    What kube-scheduler says of devices to pods that ask for none is left out. If a pod is refused before any
    node is asked, 1.34 looks for what it never noted about devices, and says no more than that this was "not
    found": the second half is left out then.
    """
    refused, _, preemption = message.replace(_NO_DEVICES, "").partition(" preemption: ")
    if refused.endswith(_NOT_NOTED):
        return (*_counts(refused.removesuffix(_NOT_NOTED)), ANY)
    return (*_counts(refused), PREEMPTION, *_counts(preemption)) if preemption else _counts(refused)


def _counts(text: str) -> tuple[str, ...]:
    """Newer releases of kube-scheduler no longer say which taint it is: ours does."""
    head, _, reasons = text.rstrip(".:").partition(": ")
    counts: Counter[str] = Counter()
    for one in re.split(r", (?=\d)", reasons):
        count, _, reason = one.partition(" ")
        if count.isdecimal():
            counts[re.sub(r"taint \{[^}]*\}", "taint(s)", reason)] += int(count)
        elif one:
            return (head, reasons)
    return (head, *sorted(f"{count} {reason}" for reason, count in counts.items()))
