"""A plan in the words of the expectation, so that the two can be compared and read side by side.

Each function gives (expected, actual) as plain data: what the expectation leaves open is left out
of the actual, too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import yaml
from msgspec import UNSET

from rota.model.calendar import PlannedStart
from rota.model.changes import (
    AskForLess,
    DropTopology,
    PayMore,
    RaisePriority,
    ShortenTimeLimit,
    StartWithFewer,
)
from rota.model.cluster import ClusterRecords
from rota.model.explanation import Change, Explanation, Remedy
from rota.model.ids import JobId
from rota.model.job import Job, Priority
from rota.model.plan import Binding, Eviction, EvictionCause, Plan
from rota.model.quantities import (
    parse_bytes,
    parse_cpu_milli,
    parse_duration_ms,
    parse_gpu_milli,
    parse_price_micro,
)
from rota.model.verdict import Verdict
from rota.plugins.gpu_model import AllowGpuModel
from rota.plugins.node_selector import DropNodeSelector, LabelNode
from rota.plugins.pool import AllowPool
from rota.plugins.taints import Tolerate
from rota.views.wording import reason_text, remedy_text
from tests.scenarios.form import (
    DevicesForm,
    EvictedForm,
    ExpectForm,
    ExplainsForm,
    HelpForm,
    PlacedForm,
    StartForm,
    WaitingForm,
)

Plain = Any
"""What YAML is made of."""


@dataclass(frozen=True)
class Difference:
    section: str
    expected: Plain
    actual: Plain

    def __str__(self) -> str:
        return (
            f"{self.section}, expected:\n{_indented(self.expected)}\n"
            f"{self.section}, actual:\n{_indented(self.actual)}"
        )


class Made:
    """A plan and the records it was made for, under the names that users know."""

    def __init__(self, records: ClusterRecords, plan: Plan, now_ms: int) -> None:
        self.plan = plan
        self.now_ms = now_ms
        self._jobs: dict[JobId, Job] = {record.job.id: record.job for record in records.jobs}
        self._records = {record.job.id: record for record in records.jobs}
        self.bindings: dict[str, list[Binding]] = {}
        self.evictions: dict[str, list[Eviction]] = {}
        self.waiting: dict[str, Verdict] = {}
        for binding in sorted(plan.bindings, key=lambda one: (one.job, one.rank)):
            self.bindings.setdefault(self.name(binding.job, binding.rank), []).append(binding)
        for eviction in sorted(plan.evictions, key=lambda one: (one.job, one.rank)):
            self.evictions.setdefault(self.name(eviction.job, eviction.rank), []).append(eviction)
        for entry in plan.waiting:
            for job in entry.jobs:
                for name in self._waiting_names(job):
                    self.waiting[name] = entry.verdict

    def name(self, job_id: JobId, rank: int) -> str:
        """A pod of a gang is known by its own name."""
        job = self._jobs[job_id]
        return job.task_name(rank) if job.tasks_are_jobs else job_id

    def job_id(self, name: str) -> JobId:
        if name in self._jobs:
            return JobId(name)
        for job in self._jobs.values():
            if name in job.task_names:
                return job.id
        raise AssertionError(f"explains: there is no job {name}")

    def runs(self, name: str) -> list[int]:
        """Ranks that ran before the plan."""
        job_id = self.job_id(name)
        ranks = [placement.rank for placement in self._records[job_id].placements]
        return [rank for rank in ranks if self.name(job_id, rank) == name]

    def _waiting_names(self, job_id: JobId) -> list[str]:
        job = self._jobs[job_id]
        if not job.tasks_are_jobs:
            return [job_id]
        busy = {one.rank for one in self.plan.bindings if one.job == job_id}
        ranks = [rank for rank in self._records[job_id].waiting_ranks() if rank not in busy]
        return [self.name(job_id, rank) for rank in ranks]

    def as_yaml(self) -> str:
        """All of the plan, for people."""
        plain: dict[str, Plain] = {
            "placed": {name: [one.node for one in found] for name, found in self.bindings.items()},
            "evicted": {name: _eviction(found) for name, found in self.evictions.items()},
            "waiting": {
                name: {"verdict": verdict.kind.value, "because": _reasons(verdict)}
                for name, verdict in sorted(self.waiting.items())
            },
            "starts": {start.job: _start(start, self.now_ms) for start in self.plan.starts},
            "faults": [f"{fault.plugin}: {fault.error}" for fault in self.plan.faults],
        }
        return _indented({section: found for section, found in plain.items() if found} or "nothing happens")


def differences(
    expect: ExpectForm, made: Made, explain: Callable[[JobId], Explanation]
) -> Iterator[Difference]:
    sections = {
        "placed": _placed(expect, made),
        "devices": _devices(expect, made),
        "evicted": _evicted(expect, made),
        "waiting": _waiting(expect, made),
        "starts": _starts(expect, made),
        "faults": _faults(expect, made),
    }
    for name, wanted in expect.explains.items():
        sections[f"explains {name}"] = _explained(wanted, explain(made.job_id(name)))
    for section, (expected, actual) in sections.items():
        if expected != actual:
            yield Difference(section, expected, actual)


# -- the plan


def _placed(expect: ExpectForm, made: Made) -> tuple[Plain, Plain]:
    expected = {name: _plain(form) for name, form in sorted(expect.placed.items())}
    actual = {
        name: _placed_as(expect.placed.get(name), [one.node for one in found])
        for name, found in sorted(made.bindings.items())
    }
    return expected, actual


def _placed_as(form: PlacedForm | None, nodes: list[Any]) -> Plain:
    match form:
        case int():
            return len(nodes)
        case dict():
            return dict(sorted(Counter(nodes).items()))
        case str() if len(nodes) == 1:
            return nodes[0]
        case _:
            return nodes


def _devices(expect: ExpectForm, made: Made) -> tuple[Plain, Plain]:
    expected = {name: _plain(form) for name, form in expect.devices.items()}
    actual = {
        name: _devices_as(form, [list(one.gpu_devices) for one in made.bindings.get(name, [])])
        for name, form in expect.devices.items()
    }
    return expected, actual


def _devices_as(form: DevicesForm, devices: list[list[int]]) -> Plain:
    by_rank = any(isinstance(entry, tuple) for entry in form)
    return devices[0] if len(devices) == 1 and not by_rank else devices


def _evicted(expect: ExpectForm, made: Made) -> tuple[Plain, Plain]:
    expected = {name: _wanted_eviction(name, form, made) for name, form in sorted(expect.evicted.items())}
    actual = {name: _eviction(found) for name, found in sorted(made.evictions.items())}
    return expected, actual


def _wanted_eviction(name: str, form: EvictedForm, made: Made) -> Plain:
    cause = EvictionCause.PREEMPTED if form.cause is UNSET else form.cause
    ranks = made.runs(name) if form.ranks is UNSET else list(form.ranks)
    ends = {"ends": True} if form.ends else {}
    return {"by": form.by or None, "cause": cause.value, "ranks": ranks, **ends}


def _eviction(found: list[Eviction]) -> Plain:
    by = sorted({one.preemptor for one in found})
    causes = sorted({one.cause.value for one in found})
    ends = {"ends": True} if any(one.ends_job for one in found) else {}
    return {
        "by": " and ".join(by) or None,
        "cause": " and ".join(causes),
        "ranks": [one.rank for one in found],
        **ends,
    }


def _waiting(expect: ExpectForm, made: Made) -> tuple[Plain, Plain]:
    expected = {name: _wanted_verdict(form) for name, form in sorted(expect.waiting.items())}
    actual = {
        name: _verdict_as(expect.waiting.get(name), verdict)
        for name, verdict in sorted(made.waiting.items())
        # That who is evicted waits goes without saying.
        if name in expect.waiting or name not in made.evictions
    }
    return expected, actual


def _wanted_verdict(form: WaitingForm) -> Plain:
    wanted: dict[str, Plain] = {"verdict": form.verdict.value, "because": sorted(form.because)}
    if form.says:
        wanted["says"] = [form.says] if isinstance(form.says, str) else list(form.says)
    if form.nodes is not UNSET:
        wanted["nodes"] = dict(sorted(form.nodes.items()))
    return wanted


def _verdict_as(form: WaitingForm | None, verdict: Verdict) -> Plain:
    because = sorted({refusal.reason.plugin for refusal in verdict.refusals})
    actual: dict[str, Plain] = {"verdict": verdict.kind.value, "because": because}
    if form is None:
        return actual
    if form.says:
        texts = [reason_text(refusal.reason) for refusal in verdict.refusals]
        wanted = [form.says] if isinstance(form.says, str) else list(form.says)
        met = all(any(part in text for text in texts) for part in wanted)
        actual["says"] = wanted if met else texts
    if form.nodes is not UNSET:
        counts: Counter[str] = Counter()
        for refusal in verdict.refusals:
            counts[refusal.reason.plugin] += refusal.nodes
        actual["nodes"] = dict(sorted((+counts).items()))
    return actual


def _starts(expect: ExpectForm, made: Made) -> tuple[Plain, Plain]:
    if expect.starts is UNSET:
        return {}, {}
    forms = {
        name: form if isinstance(form, StartForm) else StartForm(form)
        for name, form in sorted(expect.starts.items())
    }
    expected = {name: _wanted_start(form) for name, form in forms.items()}
    actual = {str(start.job): _start(start, made.now_ms) for start in made.plan.starts}
    for name, form in forms.items():
        if form.on is UNSET and name in actual:
            del actual[name]["on"]
    return expected, dict(sorted(actual.items()))


def _wanted_start(form: StartForm) -> Plain:
    wanted: dict[str, Plain] = {"seconds": parse_duration_ms(form.after) / 1000}
    if form.on is not UNSET:
        wanted["on"] = [form.on] if isinstance(form.on, str) else list(form.on)
    return wanted | ({"promised": True} if form.promised else {})


def _start(start: PlannedStart, now_ms: int) -> dict[str, Plain]:
    nodes = [str(one.node) for one in sorted(start.placements, key=lambda one: one.rank)]
    found = {"seconds": (start.start_ms - now_ms) / 1000, "on": nodes}
    return found | ({"promised": True} if start.promised else {})


def _reasons(verdict: Verdict) -> list[str]:
    return [
        f"{one.reason.plugin}: {reason_text(one.reason)}" + (f" ({one.nodes} nodes)" if one.nodes else "")
        for one in verdict.refusals
    ]


def _faults(expect: ExpectForm, made: Made) -> tuple[Plain, Plain]:
    return sorted(expect.faults), sorted({fault.plugin for fault in made.plan.faults})


# -- explanations


def _explained(wanted: ExplainsForm, explanation: Explanation) -> tuple[Plain, Plain]:
    expected: dict[str, Plain] = {}
    actual: dict[str, Plain] = {}
    if wanted.outcome is not UNSET:
        expected["outcome"], actual["outcome"] = wanted.outcome.value, explanation.outcome.value
    if wanted.refused is not UNSET:
        expected["refused"] = {plugin: sorted(nodes) for plugin, nodes in sorted(wanted.refused.items())}
        actual["refused"] = _refused(explanation)
    if wanted.weights is not UNSET:
        expected["weights"], actual["weights"] = dict(wanted.weights), dict(explanation.weights)
    if wanted.scores is not UNSET:
        expected["scores"] = list(wanted.scores)
        actual["scores"] = _scores_as(wanted.scores, explanation)
    if wanted.helps is not UNSET:
        expected["helps"], actual["helps"] = _helps(wanted.helps, explanation)
    return expected, actual


def _refused(explanation: Explanation) -> Plain:
    by_plugin: dict[str, list[str]] = {}
    for refusal in explanation.refusals:
        if refusal.nodes:
            by_plugin.setdefault(refusal.reason.plugin, []).extend(refusal.nodes)
    return {plugin: sorted(nodes) for plugin, nodes in sorted(by_plugin.items())}


def _scores_as(wanted: tuple[dict[str, str | float], ...], explanation: Explanation) -> Plain:
    """As many nodes as are wanted, and of each the criteria that are."""
    actual = []
    for index, one in enumerate(explanation.scores[: len(wanted)]):
        known: dict[str, str | float] = {"node": one.node, "total": one.total, **dict(one.criteria)}
        actual.append({name: known.get(name, "no such criterion") for name in wanted[index]})
    return actual


def _helps(wanted: tuple[HelpForm, ...], explanation: Explanation) -> tuple[Plain, Plain]:
    """The smallest changes, as many as are wanted; none wanted: there must be none."""
    found = explanation.remedies[: len(wanted)] if wanted else explanation.remedies
    expected: list[Plain] = []
    actual: list[Plain] = []
    for form, remedy in zip(wanted, found, strict=False):
        one, other = _help(form, remedy)
        expected.append(one)
        actual.append(other)
    expected += [form.change for form in wanted[len(found) :]]
    actual += [remedy_text(remedy) for remedy in found[len(wanted) :]]
    return expected, actual


def _help(form: HelpForm, remedy: Remedy) -> tuple[Plain, Plain]:
    expected: dict[str, Plain] = {"change": form.change}
    actual: dict[str, Plain] = {"change": remedy.change.code}
    told = _told(remedy.change)
    for name in ("subject", "node"):
        if getattr(form, name) is not UNSET:
            expected[name], actual[name] = getattr(form, name), told.get(name)
    for name in ("starts_on", "evicts"):
        if getattr(form, name) is not UNSET:
            expected[name], actual[name] = list(getattr(form, name)), list(getattr(remedy, name))
    if form.amount is not UNSET:
        same = _base_amount(form, form.amount) == told.get("amount")
        expected["amount"], actual["amount"] = form.amount, form.amount if same else remedy_text(remedy)
    if expected != actual:
        actual["says"] = remedy_text(remedy)
    return expected, actual


def _told(change: Change) -> dict[str, Plain]:
    """What scenarios say of changes, by their fields there."""
    match change:
        case AskForLess():
            return {"subject": change.resource, "amount": change.most}
        case StartWithFewer():
            return {"amount": change.count}
        case ShortenTimeLimit():
            return {"amount": change.most_ms}
        case RaisePriority():
            return {"amount": change.priority}
        case PayMore():
            return {"amount": change.price_micro}
        case Tolerate(taints):
            return {"subject": ", ".join(taint.notation for taint in taints)}
        case DropNodeSelector(key, value):
            return {"subject": f"{key}={value}"}
        case LabelNode(node, key, value):
            return {"subject": f"{key}={value}", "node": node}
        case AllowPool(name) | AllowGpuModel(name) | DropTopology(name):
            return {"subject": name}
        case _:
            return {}


def _base_amount(form: HelpForm, amount: int | float | str) -> int:
    match form.change, form.subject:
        case "priority", _:
            return int(Priority[str(amount).upper()])
        case "price", _:
            return parse_price_micro(amount)
        case "resource", "cpu":
            return parse_cpu_milli(amount)
        case "resource", "memory" | "storage":
            return parse_bytes(amount)
        case "resource", "gpu":
            return parse_gpu_milli(amount)
        case _:
            return int(amount)


# -- text


def _plain(form: object) -> Plain:
    """Tuples are lists to YAML, and a mapping has no order."""
    if isinstance(form, tuple):
        return [_plain(entry) for entry in form]
    return dict(sorted(form.items())) if isinstance(form, dict) else form


def _indented(plain: Plain) -> str:
    if plain in ({}, []):
        return "  nothing"
    text = yaml.safe_dump(plain, sort_keys=False, allow_unicode=True, default_flow_style=None, width=100)
    return "\n".join(f"  {line}" for line in text.removesuffix("...\n").rstrip().splitlines())
