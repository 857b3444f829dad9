"""Conditions on labels, of nodes and of other jobs."""

from __future__ import annotations

from enum import Enum

from msgspec import Struct

from rota.model.ids import Labels


class Operator(Enum):
    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"
    GT = "Gt"
    LT = "Lt"


class Requirement(Struct, frozen=True, cache_hash=True):
    """One condition on one label key."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()

    def admits(self, value: str | None) -> bool:
        """Whether a thing with this label value (None: without the label) meets the condition."""
        match self.operator:
            case Operator.IN:
                return value is not None and value in self.values
            case Operator.NOT_IN:
                return value is None or value not in self.values
            case Operator.EXISTS:
                return value is not None
            case Operator.DOES_NOT_EXIST:
                return value is None
            case Operator.GT:
                number = whole_number(value)
                return number is not None and number > int(self.values[0])
            case Operator.LT:
                number = whole_number(value)
                return number is not None and number < int(self.values[0])


_LONGEST_NUMBER = len(str(-(2**63)))


def whole_number(text: str | None) -> int | None:
    """The label value as a number, or None where it is none: Gt and Lt then don't hold.

    As in Kubernetes, a number is what fits in 64 bits.
    """
    if text is None or len(text) > _LONGEST_NUMBER or not text.removeprefix("-").isdecimal():
        return None
    number = int(text)
    return number if -(2**63) <= number < 2**63 else None


class Selector(Struct, frozen=True, cache_hash=True):
    """All requirements hold. Without any it selects everything."""

    requirements: tuple[Requirement, ...] = ()

    def selects(self, labels: Labels) -> bool:
        values = dict(labels)
        return all(requirement.admits(values.get(requirement.key)) for requirement in self.requirements)


class NodeTerm(Struct, frozen=True, cache_hash=True):
    """One alternative of a node affinity: conditions on labels and on the node's name."""

    labels: Selector = Selector()
    names: tuple[Requirement, ...] = ()


class PreferredNodeTerm(Struct, frozen=True, cache_hash=True):
    weight: int
    term: NodeTerm
