"""Policies as they are written."""

from typing import Annotated, Literal, TypeAlias

from msgspec import UNSET, Meta, UnsetType, field

from rota.intake.checking.fields import Amount
from rota.intake.forms.blocks import AmountsForm, Count, Form, Positive, PriorityForm
from rota.intake.parts.limits import LimitsPolicyForm
from rota.model.policy import Backfill, Durations, QueueStrategy, Reclaim, Strategy, TenantKey


class WeightsForm(Form):
    utilisation: Count | UnsetType = UNSET
    load: Count | UnsetType = UNSET
    affinity: Count | UnsetType = UNSET
    proximity: Count | UnsetType = UNSET
    cost: Count | UnsetType = UNSET


class QueueForm(Form):
    name: str = "default"
    strategy: QueueStrategy | UnsetType = UNSET
    tenant_key: TenantKey = TenantKey.PROJECT_USER
    strict: bool = False
    order: Annotated[int, Meta(ge=-1_000_000, le=1_000_000)] = 0
    pools: tuple[str, ...] = ()
    interactive: bool = False
    backfill: Backfill | UnsetType = UNSET
    durations: Durations | UnsetType = UNSET
    depth: Positive | UnsetType = UNSET


class PreemptionForm(Form):
    enabled: bool = True
    min_run_time: Amount = 0


class PromotionForm(Form):
    every: Amount | UnsetType = UNSET
    retry_budget: Count | UnsetType = UNSET
    up_to: PriorityForm = "high"


class RecoveryForm(Form):
    backoff: Amount | UnsetType = UNSET
    max_backoff: Amount | UnsetType = UNSET
    drop_wishes_after: Positive | UnsetType = UNSET


class PluginForm(Form):
    name: str
    weight: Count = 0
    settings: dict[str, str | int | float | bool] = field(default_factory=dict)


class SchedulerForm(Form):
    name: str = "rota"
    namespaces: tuple[str, ...] = ()
    strategy: Strategy = Strategy.LEAST_LOADED
    plugin: str = ""
    weights: WeightsForm = field(default_factory=WeightsForm)
    queues: tuple[QueueForm, ...] | UnsetType = UNSET
    preemption: PreemptionForm = field(default_factory=PreemptionForm)
    promotion: PromotionForm | UnsetType = UNSET
    recovery: RecoveryForm = field(default_factory=RecoveryForm)
    plugins: tuple[PluginForm, ...] = ()


BorrowForm: TypeAlias = AmountsForm | Literal["none", "unlimited"]
LendForm: TypeAlias = AmountsForm | Literal["none", "all"]


class UserForm(Form):
    weight: Positive = 1
    quota: AmountsForm | UnsetType = UNSET
    borrow: BorrowForm | UnsetType = UNSET
    lend: LendForm | UnsetType = UNSET
    pools: tuple[str, ...] = ()


class ProjectForm(UserForm):
    users: dict[str, UserForm] = field(default_factory=dict)


class FairShareForm(Form):
    half_life: Amount = "7d"
    reclaim: Reclaim = Reclaim.ANY


class PlatformForm(Form):
    requests: AmountsForm = field(default_factory=dict)
    limits: AmountsForm = field(default_factory=dict)


class PolicyForm(SchedulerForm):
    """Either one scheduler's fields or `schedulers`, and what all schedulers have in common."""

    schedulers: tuple[SchedulerForm, ...] | UnsetType = UNSET
    tenants: dict[str, ProjectForm] = field(default_factory=dict)
    fair_share: FairShareForm = field(default_factory=FairShareForm)
    platforms: dict[str, PlatformForm] = field(default_factory=dict)
    runtimes: dict[str, AmountsForm] = field(default_factory=dict)
    limits: LimitsPolicyForm = field(default_factory=LimitsPolicyForm)
