"""Clusters as they are written."""

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType, field

from rota.intake.checking.fields import Amount
from rota.intake.forms.blocks import AmountsForm, Count, Form, Positive, TaintForm
from rota.intake.forms.jobs import JobForm
from rota.model.calendar import QueueMode


class GpusForm(Form):
    count: Count
    model: str = ""


class MachineForm(Form, kw_only=True):
    """What nodes and offers of nodes have in common."""

    name: str
    backend: str = "local"
    pool: str = "default"
    labels: dict[str, str] = field(default_factory=dict)
    resources: AmountsForm
    gpus: Count | GpusForm = 0
    taints: tuple[str | TaintForm, ...] = ()
    price_per_hour: Amount = 0


KIND_FIELDS = frozenset(MachineForm.__struct_fields__) - {"name"}
"""Those that machines of one kind have in common."""


class NodeForm(MachineForm):
    count: Positive | UnsetType = UNSET
    load: Annotated[float, Meta(ge=0, le=1)] = 0
    ready: bool = True
    cordoned: bool = False


class OfferForm(MachineForm, kw_only=True):
    limit: Positive
    startup: Amount = 0


class UsageForm(Form):
    tenant: str
    as_of: Amount
    cpu: Amount | UnsetType = UNSET
    memory: Amount | UnsetType = UNSET
    storage: Amount | UnsetType = UNSET
    gpu: Amount | UnsetType = UNSET


class PeriodForm(Form, kw_only=True):
    """What entries of the calendar have in common; the end is given as such, or by how long it lasts."""

    name: str
    start: Amount
    end: Amount | UnsetType = UNSET
    lasts: Amount | UnsetType = field(default=UNSET, name="for")


class MaintenanceForm(PeriodForm):
    nodes: tuple[str, ...] | UnsetType = UNSET


class ReservationForm(PeriodForm, kw_only=True):
    nodes: tuple[str, ...]
    tenants: tuple[str, ...]
    resources: AmountsForm | UnsetType = UNSET
    gpus: Count | UnsetType = UNSET


class QueueStateForm(Form):
    name: str
    state: QueueMode
    since: Amount = 0
    message: str = ""


class ClusterForm(Form):
    nodes: tuple[NodeForm, ...] = ()
    offers: tuple[OfferForm, ...] = ()
    usage: tuple[UsageForm, ...] = ()
    maintenance: tuple[MaintenanceForm, ...] = ()
    reservations: tuple[ReservationForm, ...] = ()
    queues: tuple[QueueStateForm, ...] = ()
    jobs: tuple[JobForm, ...] = ()
