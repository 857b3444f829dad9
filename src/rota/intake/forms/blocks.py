"""The blocks of Rota's files that clusters, jobs and policies are made of, as they are written."""

from typing import Annotated, Literal, TypeAlias

from msgspec import UNSET, Meta, Struct, UnsetType, field

from rota.intake.checking.fields import Amount
from rota.model.job import Priority
from rota.model.selectors import Operator
from rota.model.taints import Effect


class Form(Struct, forbid_unknown_fields=True):
    """Fields and their kinds; what the values must be like is checked where they are read."""


Positive: TypeAlias = Annotated[int, Meta(ge=1, le=1_000_000)]
Count: TypeAlias = Annotated[int, Meta(ge=0, le=1_000_000)]
Weight: TypeAlias = Annotated[int, Meta(ge=1, le=100)]

# How many of a thing one job may hold: far more than anybody writes by hand, and few enough that no single
# job is a burden to all others. docs/files.md lists them.
MOST_GROUPS = 64
MOST_LABELS = 64
MOST_TERMS = 32
"""Of affinity, to nodes or to jobs, and of spreads."""
MOST_TOLERATIONS = 64
MOST_VALUES = 256
"""That one condition on a label names."""
MOST_NAMES = 1000
"""Of nodes, pools and the like that one list holds."""
MOST_RULES = 8
"""Of topology."""
MOST_ENTRIES = 1000
"""Of an environment, of files, of outputs, of dependencies."""
MOST_ARGUMENTS = 10_000

LabelsForm: TypeAlias = Annotated[dict[str, str], Meta(max_length=MOST_LABELS)]
AmountsForm: TypeAlias = Annotated[dict[str, Amount], Meta(max_length=MOST_LABELS)]
NamesForm: TypeAlias = Annotated[tuple[str, ...], Meta(max_length=MOST_NAMES)]

PriorityName: TypeAlias = Literal["critical", "high", "medium", "low", "batch"]
PriorityForm: TypeAlias = PriorityName | Annotated[int, Meta(ge=-(2**31), lt=2**31)]


def read_priority(form: PriorityForm) -> int:
    return form if isinstance(form, int) else int(Priority[form.upper()])


class RequirementForm(Form):
    key: str
    operator: Operator
    values: Annotated[tuple[str | int, ...], Meta(max_length=MOST_VALUES)] = ()


SelectorForm: TypeAlias = (
    Annotated[
        dict[str, str | Annotated[tuple[str, ...], Meta(max_length=MOST_VALUES)]],
        Meta(max_length=MOST_LABELS),
    ]
    | Annotated[tuple[RequirementForm, ...], Meta(max_length=MOST_LABELS)]
)
"""`{app: db}`, `{app: [db, cache]}` or requirements with operators."""


class NodeTermForm(Form):
    labels: SelectorForm = field(default_factory=dict)
    names: NamesForm = ()
    not_names: NamesForm = ()


class PreferredNodeTermForm(NodeTermForm, kw_only=True):
    weight: Weight


class NodeAffinityForm(Form):
    required: Annotated[tuple[NodeTermForm, ...], Meta(max_length=MOST_TERMS)] = ()
    preferred: Annotated[tuple[PreferredNodeTermForm, ...], Meta(max_length=MOST_TERMS)] = ()


class JobAffinityForm(Form):
    to: SelectorForm
    within: str
    anti: bool = False
    weight: Weight | UnsetType = UNSET
    namespaces: NamesForm = ()


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
