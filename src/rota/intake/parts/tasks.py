"""What a job's tasks ask for, as the model has it."""

from collections.abc import Sequence
from ipaddress import ip_address
from typing import Any

from msgspec import UNSET

from rota.intake.checking.fields import Amount, Field
from rota.intake.checking.names import read_labels, read_name
from rota.intake.checking.wording import quoted
from rota.intake.forms.jobs import GpuRequestForm, PortForm, TaskForm
from rota.intake.parts.amounts import check_within_limits, read_resources, resources_form
from rota.intake.parts.selectors import (
    affinity_form,
    node_term_form,
    read_job_affinity,
    read_node_term,
    read_preferred_node_term,
    read_spreads,
    spread_form,
)
from rota.intake.parts.taints import read_toleration, toleration_form
from rota.intake.parts.writing import Plain, given, unless
from rota.model.quantities import format_gpu, format_price, parse_gpu_milli, parse_price_micro
from rota.model.resources import WHOLE_GPU_MILLI, GpuRequest, HostPort
from rota.model.task import CostGoal, TaskSpec

MAX_DEVICES = 1024
"""Of one node: more GPUs than that is a slip of the pen."""

_ANY_ADDRESS = ("0.0.0.0", "::")


def read_task(form: TaskForm, at: Field) -> TaskSpec:
    requests = read_resources(form.resources, at.at("resources"))
    limits = read_resources(form.limits, at.at("limits"))
    check_within_limits(requests, limits, at.at("resources"))
    labels = read_labels(form.labels, at.at("labels"))
    cost_at = at.at("cost", "max_per_hour")
    return TaskSpec(
        requests=requests,
        limits=limits,
        gpu=_gpu_request(form.gpus, at.at("gpus")),
        ports=_ports(form.ports, at.at("ports")),
        exclusive=form.exclusive,
        labels=labels,
        node_selector=read_labels(form.node_selector, at.at("node_selector")),
        node_affinity=tuple(
            read_node_term(term, at.at("node_affinity", "required", index))
            for index, term in enumerate(form.node_affinity.required)
        ),
        preferred_nodes=tuple(
            read_preferred_node_term(term, at.at("node_affinity", "preferred", index))
            for index, term in enumerate(form.node_affinity.preferred)
        ),
        job_affinity=tuple(
            read_job_affinity(one, at.at("affinity", index)) for index, one in enumerate(form.affinity)
        ),
        spread=read_spreads(form.spread, labels, at.at("spread")),
        tolerations=tuple(
            read_toleration(one, at.at("tolerations", index)) for index, one in enumerate(form.tolerations)
        ),
        pools=read_choice(form.pools, at.at("pools")),
        backends=read_choice(form.backends, at.at("backends")),
        near=read_labels(form.near, at.at("near")),
        platform=form.platform,
        runtime=form.runtime,
        cost_goal=form.cost.goal,
        max_price_micro_per_hour=(
            None
            if form.cost.max_per_hour is UNSET
            else cost_at.read(parse_price_micro, form.cost.max_per_hour)
        ),
    )


def read_choice(names: Sequence[str], at: Field) -> tuple[str, ...]:
    """Names of which any will do, in one order, so that equal choices are equal."""
    return tuple(sorted({read_name(name, at.at(index)) for index, name in enumerate(names)}))


def _gpu_request(form: Amount | GpuRequestForm, at: Field) -> GpuRequest:
    if not isinstance(form, GpuRequestForm):
        return _gpus_of_milli(at.read(parse_gpu_milli, form), (), at)
    models = read_choice(form.models, at.at("models"))
    if form.share is UNSET:
        if form.count is UNSET:
            raise at.error("the number of GPUs is missing", "give count or share")
        return _gpus_of_milli(form.count * WHOLE_GPU_MILLI, models, at.at("count"))
    share_milli = at.at("share").read(parse_gpu_milli, form.share)
    if not 0 < share_milli <= WHOLE_GPU_MILLI:
        raise at.at("share").error(
            f"{form.share} is not a share of one GPU", "give more than 0 and at most 1"
        )
    if form.count is not UNSET and form.count > 1:
        raise at.at("count").error("a share is of one device, not of several", "remove count or share")
    return _gpus_of_milli(share_milli, models, at.at("share"))


def _gpus_of_milli(gpu_milli: int, models: tuple[str, ...], at: Field) -> GpuRequest:
    if gpu_milli > MAX_DEVICES * WHOLE_GPU_MILLI:
        raise at.error(
            f"{gpu_milli // WHOLE_GPU_MILLI} GPUs are more than a node can have",
            f"give at most {MAX_DEVICES}",
        )
    if gpu_milli == 0:
        return GpuRequest()
    if gpu_milli < WHOLE_GPU_MILLI:
        return GpuRequest(1, gpu_milli, models)
    return GpuRequest(gpu_milli // WHOLE_GPU_MILLI, models=models)


def _ports(forms: Sequence[int | PortForm], at: Field) -> tuple[HostPort, ...]:
    ports: dict[HostPort, None] = {}
    for index, form in enumerate(forms):
        port = HostPort(form) if isinstance(form, int) else _port(form, at.at(index))
        if port in ports:
            raise at.at(index).error(f"the port {port.port} is there already", "remove one")
        ports[port] = None
    return tuple(ports)


def _port(form: PortForm, at: Field) -> HostPort:
    if not form.address or form.address in _ANY_ADDRESS:
        return HostPort(form.port, form.protocol)
    try:
        address = str(ip_address(form.address))
    except ValueError:
        raise at.at("address").error(
            f"{quoted(form.address)} is not an IP address", "write it like 10.0.0.1, or leave it out for all"
        ) from None
    return HostPort(form.port, form.protocol, address)


def task_form(spec: TaskSpec) -> Plain:
    """Without its labels, which are the job's unless a group has its own."""
    required = [node_term_form(term) for term in spec.node_affinity]
    preferred = [{"weight": one.weight, **node_term_form(one.term)} for one in spec.preferred_nodes]
    price_micro = spec.max_price_micro_per_hour
    return {
        "resources": resources_form(spec.requests),
        "limits": resources_form(spec.limits),
        "gpus": _gpus_form(spec.gpu),
        "ports": [_port_form(port) for port in spec.ports],
        "exclusive": spec.exclusive,
        "platform": spec.platform,
        "runtime": spec.runtime,
        "node_selector": dict(spec.node_selector),
        "node_affinity": given({"required": required, "preferred": preferred}),
        "affinity": [affinity_form(one) for one in spec.job_affinity],
        "spread": [spread_form(one) for one in spec.spread],
        "tolerations": [toleration_form(one) for one in spec.tolerations],
        "pools": list(spec.pools),
        "backends": list(spec.backends),
        "near": dict(spec.near),
        "cost": given(
            {
                "goal": unless(spec.cost_goal, CostGoal.NONE),
                "max_per_hour": None if price_micro is None else format_price(price_micro),
            }
        ),
    }


def _gpus_form(request: GpuRequest) -> Any:
    if not request.count:
        return None
    if not request.models:
        return format_gpu(request.total_milli) if request.is_fraction else request.count
    amount = {"share": format_gpu(request.share_milli)} if request.is_fraction else {"count": request.count}
    return {**amount, "models": list(request.models)}


def _port_form(port: HostPort) -> int | Plain:
    if port == HostPort(port.port):
        return port.port
    return given({"port": port.port, "protocol": port.protocol, "address": port.address})
