"""Scenario files as they are written; README.md describes them."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

from msgspec import UNSET, Meta, Struct, UnsetType, field

from rota.model.explanation import Outcome
from rota.model.plan import EvictionCause
from rota.model.verdict import Kind

Amount: TypeAlias = int | float | str
Texts: TypeAlias = str | tuple[str, ...]


class Form(Struct, forbid_unknown_fields=True):
    """Whatever it doesn't name is an error."""


PlacedForm: TypeAlias = str | int | tuple[str, ...] | dict[str, int]
"""The node of an only task, a number of tasks, the nodes by rank, or the number of tasks by node."""

DevicesForm: TypeAlias = tuple[int | tuple[int, ...], ...]
"""The GPUs of an only task, or of each task by rank."""


class EvictedForm(Form):
    by: str = ""
    cause: EvictionCause | UnsetType = UNSET
    ranks: tuple[int, ...] | UnsetType = UNSET
    """Unset: all that run."""
    ends: bool = False
    """The job is over for good."""


class StartForm(Form):
    after: Amount
    on: Texts | UnsetType = UNSET
    promised: bool = False


class WaitingForm(Form):
    verdict: Kind
    because: tuple[str, ...]
    says: Texts = ()
    nodes: dict[str, int] | UnsetType = UNSET


class HelpForm(Form):
    change: str
    subject: str | UnsetType = UNSET
    amount: Amount | UnsetType = UNSET
    node: str | UnsetType = UNSET
    starts_on: tuple[str, ...] | UnsetType = UNSET
    evicts: tuple[str, ...] | UnsetType = UNSET


class ExplainsForm(Form):
    outcome: Outcome | UnsetType = UNSET
    refused: dict[str, tuple[str, ...]] | UnsetType = UNSET
    scores: tuple[dict[str, str | float], ...] | UnsetType = UNSET
    weights: dict[str, int] | UnsetType = UNSET
    helps: tuple[HelpForm, ...] | UnsetType = UNSET


class ExpectForm(Form):
    placed: dict[str, PlacedForm] = field(default_factory=dict)
    devices: dict[str, DevicesForm] = field(default_factory=dict)
    evicted: dict[str, EvictedForm] = field(default_factory=dict)
    waiting: dict[str, WaitingForm] = field(default_factory=dict)
    starts: dict[str, Amount | StartForm] | UnsetType = UNSET
    explains: dict[str, ExplainsForm] = field(default_factory=dict)
    faults: tuple[str, ...] = ()


class LaterForm(Form, kw_only=True):
    after: Amount = 0
    finish: tuple[str, ...] = ()
    submit: tuple[Any, ...] = ()
    announce: dict[str, Any] = field(default_factory=dict)
    expect: ExpectForm


class ScenarioForm(Form, kw_only=True):
    title: Annotated[str, Meta(min_length=1)]
    covers: Annotated[tuple[str, ...], Meta(min_length=1)]
    cluster: dict[str, Any] = field(default_factory=dict)
    jobs: tuple[Any, ...] = ()
    kubernetes: tuple[dict[str, Any], ...] = ()
    policy: dict[str, Any] | UnsetType = UNSET
    now: Amount = "2026-01-01T12:00:00Z"
    expect: ExpectForm
    then: tuple[LaterForm, ...] = ()
