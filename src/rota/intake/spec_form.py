"""A job's spec given back in the form of a job file: what `rota show` prints can be submitted again."""

from collections.abc import Mapping
from typing import Any

from rota.intake._arrays import format_array
from rota.model.ids import Labels
from rota.model.job import AtMaintenance, JobTemplate, Percent, Priority, TaskGroup, TopologyMode
from rota.model.quantities import (
    format_bytes,
    format_cpu,
    format_duration,
    format_gpu,
    format_price,
    format_timestamp,
)
from rota.model.resources import GpuRequest, HostPort, Resources
from rota.model.run import After, Dependency, InputFile, JobSpec, OnTaskFailure, Retry, Run
from rota.model.selectors import NodeTerm, Operator, Selector
from rota.model.taints import Toleration
from rota.model.task import CostGoal, JobAffinity, Spread, TaskSpec

Plain = dict[str, Any]


def form_of(spec: JobSpec) -> Plain:
    """Reading it gives the spec again, but for what limits made of it; an element of an array comes back as
    the array of its index. What is as it would be anyway is left out, except whose it is."""
    template = spec.template
    own = {
        **_run(spec.run),
        "retry": _retry(spec.retry),
        "on_task_failure": _unless(spec.on_task_failure, OnTaskFailure.FAIL_JOB),
        "depends_on": [_dependency(one) for one in spec.depends_on],
        "hold": spec.held,
        "start_after": _timestamp(spec.start_after_ms or None),
        "start_before": _timestamp(spec.start_before_ms),
        "deadline": _timestamp(spec.deadline_ms),
        "array": None if spec.array_index is None else format_array([spec.array_index]),
    }
    whose = {"name": spec.name, "project": template.project, "user": template.user}
    return {**whose, **_kind(template), **_given(own)}


def _given(fields: Mapping[str, Any]) -> Plain:
    return {name: value for name, value in fields.items() if value not in (None, "", False, [], {})}


def _unless(value: Any, default: Any) -> Any:
    return None if value is default else value.value


def _timestamp(timestamp_ms: int | None) -> str | None:
    return None if timestamp_ms is None else format_timestamp(timestamp_ms)


def _duration(duration_ms: int | None) -> str | None:
    return None if duration_ms is None else format_duration(duration_ms)


# -- what it asks for


def _kind(template: JobTemplate) -> Plain:
    fields = _given(
        {
            "namespace": template.namespace if template.namespace != template.project else None,
            "queue": template.queue if template.queue != "default" else None,
            "scheduler": template.scheduler,
            "topology": [
                {"key": rule.key, "tasks": rule.count if rule.mode is TopologyMode.COUNT else rule.mode.value}
                for rule in template.topology
            ],
            "time_limit": _duration(template.time_limit_ms),
            "start_within": _duration(template.start_within_ms),
            "at_maintenance": _unless(template.at_maintenance, AtMaintenance.REQUEUE),
            "reservation": template.reservation,
            "connect_to": template.connect_to,
            "labels": dict(template.labels),
            **_tasks(template),
        }
    )
    if template.priority != Priority.MEDIUM:
        fields["priority"] = _priority(template.priority)
    if not template.preemptible:
        fields["preemptible"] = False
    if template.may_preempt is not None:
        fields["may_preempt"] = template.may_preempt
    if template.max_cost_micro is not None:
        fields.setdefault("cost", {})["max_total"] = format_price(template.max_cost_micro)
    match template.min_available:
        case Percent(value):
            fields["min_available"] = f"{value}%"
        case int(count):
            fields["min_available"] = count
    return fields


def _priority(priority: int) -> str | int:
    return next((one.name.lower() for one in Priority if one == priority), priority)


def _tasks(template: JobTemplate) -> Plain:
    [first, *others] = template.groups
    if not others and first.spec.labels == template.labels:
        return {"tasks": first.count if first.count > 1 else None, **_task(first.spec)}
    return {"groups": [_group(group, template.labels) for group in template.groups]}


def _group(group: TaskGroup, labels_of_job: Labels) -> Plain:
    fields = {"tasks": group.count, **_given(_task(group.spec))}
    if group.spec.labels != labels_of_job:
        fields["labels"] = dict(group.spec.labels)
    return fields


def _task(spec: TaskSpec) -> Plain:
    """Without its labels, which are the job's unless a group has its own."""
    required = [_node_term(term) for term in spec.node_affinity]
    preferred = [{"weight": one.weight, **_node_term(one.term)} for one in spec.preferred_nodes]
    price_micro = spec.max_price_micro_per_hour
    return {
        "resources": _resources(spec.requests),
        "limits": _resources(spec.limits),
        "gpus": _gpus(spec.gpu),
        "ports": [_port(port) for port in spec.ports],
        "exclusive": spec.exclusive,
        "platform": spec.platform,
        "runtime": spec.runtime,
        "node_selector": dict(spec.node_selector),
        "node_affinity": _given({"required": required, "preferred": preferred}),
        "affinity": [_affinity(one) for one in spec.job_affinity],
        "spread": [_spread(one) for one in spec.spread],
        "tolerations": [_toleration(one) for one in spec.tolerations],
        "pools": list(spec.pools),
        "backends": list(spec.backends),
        "near": dict(spec.near),
        "cost": _given(
            {
                "goal": _unless(spec.cost_goal, CostGoal.NONE),
                "max_per_hour": None if price_micro is None else format_price(price_micro),
            }
        ),
    }


def _resources(resources: Resources) -> Plain:
    amounts = {
        "cpu": format_cpu(resources.cpu_milli),
        "memory": format_bytes(resources.memory_bytes),
        "storage": format_bytes(resources.storage_bytes),
        "slots": resources.slots,
    }
    return {
        **{name: amount for name, amount in amounts.items() if amount not in ("0", 0)},
        **dict(resources.extended),
    }


def _gpus(request: GpuRequest) -> Any:
    if not request.count:
        return None
    if not request.models:
        return format_gpu(request.total_milli) if request.is_fraction else request.count
    amount = {"share": format_gpu(request.share_milli)} if request.is_fraction else {"count": request.count}
    return {**amount, "models": list(request.models)}


def _port(port: HostPort) -> int | Plain:
    if port == HostPort(port.port):
        return port.port
    return _given({"port": port.port, "protocol": port.protocol, "address": port.address})


def _node_term(term: NodeTerm) -> Plain:
    names = {requirement.operator: list(requirement.values) for requirement in term.names}
    return _given(
        {
            "labels": _selector(term.labels),
            "names": names.get(Operator.IN),
            "not_names": names.get(Operator.NOT_IN),
        }
    )


def _selector(selector: Selector) -> list[Plain]:
    return [
        _given({"key": one.key, "operator": one.operator.value, "values": list(one.values)})
        for one in selector.requirements
    ]


def _affinity(affinity: JobAffinity) -> Plain:
    return _given(
        {
            "to": _selector(affinity.selector),
            "within": affinity.topology_key,
            "anti": affinity.anti,
            "weight": affinity.weight,
            "namespaces": list(affinity.namespaces),
        }
    )


def _spread(spread: Spread) -> Plain:
    fields: Plain = {
        "over": spread.topology_key,
        "max_skew": spread.max_skew,
        "of": _selector(spread.selector),
        "required": spread.required,
    }
    if spread.min_domains > 1:
        fields["min_domains"] = spread.min_domains
    return fields


def _toleration(toleration: Toleration) -> str | Plain:
    if toleration == Toleration(exists=True):
        return "*"
    fields = _given({"key": toleration.key, "effect": toleration.effect and toleration.effect.value})
    if toleration.exists:
        fields["operator"] = "Exists"
    else:
        fields["value"] = toleration.value
    if toleration.seconds is not None:
        fields["seconds"] = toleration.seconds
    return fields


# -- what it executes


def _run(run: Run) -> Plain:
    defaults = Run()
    what = {"script": run.script, "args": list(run.command)} if run.script else {"command": list(run.command)}
    warn = {"signal": run.warn_signal, "before": format_duration(run.warn_before_ms)}
    return {
        **what,
        "directory": run.directory,
        "environment": dict(run.environment),
        "secrets": dict(run.secrets),
        "files": [_file(file) for file in run.files],
        "outputs": list(run.outputs),
        "warn": warn if run.warn_before_ms else None,
        "grace": _duration(None if run.grace_ms == defaults.grace_ms else run.grace_ms),
        "slurm_names": run.slurm_names,
    }


def _file(file: InputFile) -> Plain:
    return {
        "path": file.path,
        "sha256": file.sha256,
        "size": file.size_bytes,
        **_given({"executable": file.executable, "unpack": file.unpack}),
    }


def _retry(retry: Retry) -> Any:
    if retry == Retry(retry.limit):
        return retry.limit or None
    return {
        "limit": retry.limit,
        **_given(
            {
                "backoff": _duration(retry.backoff_ms),
                "max_backoff": _duration(retry.max_backoff_ms),
                "exit_codes": list(retry.exit_codes),
            }
        ),
    }


def _dependency(dependency: Dependency) -> str | Plain:
    if dependency.after is After.SUCCESS:
        return dependency.job
    return {"job": dependency.job, "after": dependency.after.value}
