"""Clusters in Rota's own form, as in CLUSTER.yaml. The form itself is described in docs/files.md."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from msgspec import UNSET

from rota.intake.checking.convert import convert
from rota.intake.checking.fields import Field, read_each
from rota.intake.checking.names import UniqueNames, read_labels, read_name, read_tenant
from rota.intake.checking.wording import quoted
from rota.intake.documents.document import Document
from rota.intake.forms.clusters import (
    KIND_FIELDS,
    ClusterForm,
    GpusForm,
    MachineForm,
    NodeForm,
    OfferForm,
    UsageForm,
)
from rota.intake.parts.amounts import Totals, read_amounts, read_resources
from rota.intake.parts.taints import read_taints
from rota.intake.parts.tasks import MAX_DEVICES
from rota.model.cluster import TenantUsage
from rota.model.ids import NodeName
from rota.model.interning import Interned, fingerprint
from rota.model.node import Gpus, Node, NodeSpec, Offer
from rota.model.quantities import parse_duration_ms, parse_price_micro, parse_timestamp_ms

MAX_NODES = 1_000_000
HOST = "host"
"""The topology key that every node has by itself: its name."""


@dataclass(frozen=True, eq=False)
class ClusterFile:
    """One document. Its jobs and its calendar are still forms: they can be read only when all nodes are
    known."""

    nodes: Sequence[Node]
    offers: Sequence[Offer]
    usage: Sequence[TenantUsage]
    form: ClusterForm
    at: Field


class ClusterReader:
    """Reads the clusters of any number of documents as one: names are unique."""

    def __init__(self, others: Iterable[Node] = ()) -> None:
        """`others`: nodes that were read elsewhere, from Kubernetes manifests."""
        self._node_names = UniqueNames("node")
        self._offer_names = UniqueNames("offer")
        self._tenants = UniqueNames("tenant")
        self._specs: dict[bytes, NodeSpec] = {}
        self._intern = Interned[NodeSpec]()
        self._totals = Totals("nodes")
        self._node_count = 0
        for node in others:
            self._node_names.claim(node.name, None)

    def read_document(self, document: Document) -> ClusterFile:
        form = convert(document, ClusterForm)
        at = Field(document)
        return ClusterFile(
            nodes=list(chain.from_iterable(read_each(form.nodes, self._nodes, at.at("nodes")))),
            offers=read_each(form.offers, self._offer, at.at("offers")),
            usage=read_each(form.usage, self._usage, at.at("usage")),
            form=form,
            at=at,
        )

    def _nodes(self, form: NodeForm, at: Field) -> list[Node]:
        spec = self._spec(form, at)
        count = 1 if form.count is UNSET else form.count
        self._count(spec, count, at)
        name_at = at.at("name")
        name = read_machine_name(form.name, name_at)
        names = [name] if form.count is UNSET else [f"{name}-{number}" for number in range(form.count)]
        nodes = []
        for name in names:
            self._node_names.claim(name, name_at)
            nodes.append(Node(NodeName(name), spec, form.ready, form.cordoned, round(form.load * 1000)))
        return nodes

    def _offer(self, form: OfferForm, at: Field) -> Offer:
        spec = self._spec(form, at)
        self._count(spec, form.limit, at)
        name = read_machine_name(form.name, at.at("name"))
        self._offer_names.claim(name, at.at("name"))
        return Offer(name, spec, form.limit, at.at("startup").read(parse_duration_ms, form.startup))

    def _usage(self, form: UsageForm, at: Field) -> TenantUsage:
        tenant_at = at.at("tenant")
        path = read_tenant(form.tenant, tenant_at)
        self._tenants.claim(path, tenant_at)
        given = {
            name: amount
            for name in ("cpu", "memory", "storage", "gpu")
            if (amount := getattr(form, name)) is not UNSET
        }
        return TenantUsage(
            path=path,
            as_of_ms=at.at("as_of").read(parse_timestamp_ms, form.as_of),
            amounts=tuple(sorted(read_amounts(given, at).items())),
        )

    def _count(self, spec: NodeSpec, count: int, at: Field) -> None:
        self._node_count += count
        if self._node_count > MAX_NODES:
            raise at.error(f"with this there are more than {MAX_NODES:,} nodes", "lower the count or limit")
        self._totals.add(spec.capacity, count, at.at("resources"))

    # -- what machines of a kind have in common

    def _spec(self, form: MachineForm, at: Field) -> NodeSpec:
        kind = fingerprint(at.data, KIND_FIELDS)
        spec = self._specs.get(kind)
        if spec is None:
            spec = self._specs[kind] = self._intern(_read_spec(form, at))
        return spec


def read_machine_name(text: str, at: Field) -> str:
    if "#" in text:
        # The engine names the nodes that an offer could start like that.
        raise at.error(f"{quoted(text)} contains #, which marks nodes of an offer", "choose another name")
    return read_name(text, at)


def _read_spec(form: MachineForm, at: Field) -> NodeSpec:
    capacity = read_resources(form.resources, at.at("resources"))
    if "slots" in form.resources and not capacity.slots:
        raise at.at("resources", "slots").error(
            "a node without slots runs nothing", "set cordoned: true instead"
        )
    return NodeSpec(
        capacity=capacity,
        gpus=_gpus(form.gpus, at.at("gpus")),
        backend=read_name(form.backend, at.at("backend")),
        pool=read_name(form.pool, at.at("pool")),
        labels=_labels(form.labels, at.at("labels")),
        taints=read_taints(form.taints, at.at("taints")),
        price_micro_per_hour=at.at("price_per_hour").read(parse_price_micro, form.price_per_hour),
    )


def _labels(form: Mapping[str, str], at: Field) -> tuple[tuple[str, str], ...]:
    if HOST in form:
        raise at.at(HOST).error("every node's host is its name", "remove this label or call it otherwise")
    return read_labels(form, at)


def _gpus(form: int | GpusForm, at: Field) -> Gpus:
    gpus = Gpus(form) if isinstance(form, int) else Gpus(form.count, form.model)
    if gpus.count > MAX_DEVICES:
        raise at.error(f"{gpus.count} GPUs in one node", f"give at most {MAX_DEVICES}")
    return gpus
