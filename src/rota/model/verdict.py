"""Why something doesn't run: what a reason is, and what reasons add up to.

A reason is data: one frozen struct for each thing that can be in the way, with its fields typed and its rule
beside them. The engine's own are in `rota.model.reasons`; a rule that is a module of its own (a plugin, the
mirror of a Kubernetes cluster) defines its reasons where it gives them. Text is made of them at the edge, in
`rota.views.wording` and in `rota.kube.scheduling.words`.
"""

from __future__ import annotations

from enum import Enum
from typing import ClassVar

from msgspec import Struct

from rota.model.vocabulary import Coded


class Kind(Enum):
    NOT_NOW = "not-now"
    """Can start once an event of `unblocked_by` comes."""
    NEVER = "never"
    """Can't start on this cluster as it is defined, however idle: the job or the cluster must change."""


class Unblock(Enum):
    """Events after which it is worth asking again."""

    TASK_ENDED = "task ended"
    TASK_PLACED = "task placed"
    NODE_CHANGED = "node changed"
    NODE_ADDED = "node added"
    POLICY_CHANGED = "policy changed"
    TIME_PASSED = "time passed"
    NEXT_CYCLE = "next cycle"
    OBJECT_CHANGED = "object changed"
    """Something that the job is made of, or needs: a pod of its gang, a claim."""


CLUSTER = (Unblock.NODE_CHANGED, Unblock.NODE_ADDED)
ROOM = (Unblock.TASK_ENDED, *CLUSTER)
POLICY = (Unblock.POLICY_CHANGED,)


class Rule(Struct, frozen=True):
    """What a reason means: who says it, whether it can pass, and by which events."""

    plugin: str
    kind: Kind
    unblocked_by: tuple[Unblock, ...]
    is_about_the_job: bool = True
    """Whether asking for less, or for something else, could help."""


def never(plugin: str, *events: Unblock, is_about_the_job: bool = True) -> Rule:
    return Rule(plugin, Kind.NEVER, events, is_about_the_job)


def not_now(plugin: str, *events: Unblock, is_about_the_job: bool = True) -> Rule:
    return Rule(plugin, Kind.NOT_NOW, events, is_about_the_job)


class Reason(Coded):
    """What all reasons have. Derive from `TypedReason`."""

    __slots__ = ()
    rule: ClassVar[Rule]

    @property
    def plugin(self) -> str:
        """Who says it."""
        return self.rule.plugin

    @property
    def kind(self) -> Kind:
        return self.rule.kind

    @property
    def unblocked_by(self) -> tuple[Unblock, ...]:
        return self.rule.unblocked_by


class TypedReason(Struct, Reason, frozen=True, cache_hash=True, omit_defaults=True, tag_field="code"):
    """A reason with its fields. Its `tag` is the code that records of cycles know it by."""


class Refusal(Struct, frozen=True):
    """One reason and the number of nodes it refuses. 0: it isn't about nodes (a quota, a partner)."""

    reason: Reason
    nodes: int


class Verdict(Struct, frozen=True):
    """Why a job waits. Each node is counted in one refusal, the first in the pipeline's order."""

    kind: Kind
    refusals: tuple[Refusal, ...]

    @property
    def unblocked_by(self) -> frozenset[Unblock]:
        return frozenset(event for refusal in self.refusals for event in refusal.reason.unblocked_by)

    @property
    def awaits_nodes(self) -> bool:
        """No node that is there will ever do, and another one could: nothing else is in the way."""
        return self.kind is Kind.NEVER and all(
            Unblock.NODE_ADDED in refusal.reason.unblocked_by for refusal in self.refusals
        )
