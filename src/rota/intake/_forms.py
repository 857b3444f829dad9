"""The blocks of Rota's files that clusters, jobs and policies are made of, as they are written."""

from typing import Annotated, Literal, TypeAlias

from msgspec import UNSET, Meta, Struct, UnsetType, field

from rota.intake._fields import Amount
from rota.model.job import Priority
from rota.model.selectors import Operator
from rota.model.taints import Effect


class Form(Struct, forbid_unknown_fields=True):
    """Fields and their kinds; what the values must be like is checked where they are read."""


Positive: TypeAlias = Annotated[int, Meta(ge=1, le=1_000_000)]
Count: TypeAlias = Annotated[int, Meta(ge=0, le=1_000_000)]
Weight: TypeAlias = Annotated[int, Meta(ge=1, le=100)]
LabelsForm: TypeAlias = dict[str, str]
AmountsForm: TypeAlias = dict[str, Amount]

PriorityName: TypeAlias = Literal["critical", "high", "medium", "low", "batch"]
PriorityForm: TypeAlias = PriorityName | Annotated[int, Meta(ge=-(2**31), lt=2**31)]


def read_priority(form: PriorityForm) -> int:
    return form if isinstance(form, int) else int(Priority[form.upper()])


class RequirementForm(Form):
    key: str
    operator: Operator
    values: tuple[str | int, ...] = ()


SelectorForm: TypeAlias = dict[str, str | tuple[str, ...]] | tuple[RequirementForm, ...]
"""`{app: db}`, `{app: [db, cache]}` or requirements with operators."""


class NodeTermForm(Form):
    labels: SelectorForm = field(default_factory=dict)
    names: tuple[str, ...] = ()
    not_names: tuple[str, ...] = ()


class PreferredNodeTermForm(NodeTermForm, kw_only=True):
    weight: Weight


class NodeAffinityForm(Form):
    required: tuple[NodeTermForm, ...] = ()
    preferred: tuple[PreferredNodeTermForm, ...] = ()


class JobAffinityForm(Form):
    to: SelectorForm
    within: str
    anti: bool = False
    weight: Weight | UnsetType = UNSET
    namespaces: tuple[str, ...] = ()


class SpreadForm(Form):
    over: str
    max_skew: Positive = 1
    of: SelectorForm | UnsetType = UNSET
    required: bool = True
    min_domains: Positive = 1


class TaintForm(Form):
    key: str
    effect: Effect
    value: str = ""
    added: Amount = 0


class TolerationForm(Form):
    key: str = ""
    operator: Literal["Equal", "Exists"] | UnsetType = UNSET
    value: str | UnsetType = UNSET
    effect: Effect | UnsetType = UNSET
    seconds: Annotated[int, Meta(ge=0, le=10**9)] | UnsetType = UNSET
