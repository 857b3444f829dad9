"""The `limits` of a policy: as they are written, and as the model has them."""

from collections.abc import Mapping, Sequence
from typing import TypeVar

from msgspec import UNSET, UnsetType, field
from msgspec.structs import replace

from rota.intake.checking.fields import Amount, Field
from rota.intake.checking.names import read_name, read_step
from rota.intake.forms.blocks import AmountsForm, Count, Form, Positive, PriorityForm, read_priority
from rota.intake.parts.amounts import read_amounts
from rota.model.limits import ANYTHING, Limits, LimitsPolicy
from rota.model.quantities import format_duration, parse_bytes, parse_duration_ms

T = TypeVar("T")


class QueueLimitsForm(Form):
    """What can be said of jobs, wherever they come from."""

    priority: PriorityForm | UnsetType = UNSET
    unpreemptible: bool | UnsetType = UNSET
    exclusive: bool | UnsetType = UNSET
    namespaces: tuple[str, ...] | UnsetType = UNSET
    tolerations: tuple[str, ...] | UnsetType = UNSET
    node_labels: tuple[str, ...] | UnsetType = UNSET
    reservations: tuple[str, ...] | UnsetType = UNSET
    time_limit: Amount | UnsetType = UNSET
    default_time_limit: Amount | UnsetType = UNSET
    log_bytes: Amount | UnsetType = UNSET
    waiting_jobs: Count | UnsetType = UNSET
    running_jobs: Count | UnsetType = UNSET
    at_once: AmountsForm = field(default_factory=dict)


class LimitsForm(QueueLimitsForm):
    """And of whoever sends them."""

    queues: tuple[str, ...] | UnsetType = UNSET
    submissions_per_minute: Positive | UnsetType = UNSET


class UserLimitsForm(LimitsForm):
    """And of files, which are somebody's and no project's."""

    upload_bytes: Amount | UnsetType = UNSET


class LimitsPolicyForm(Form):
    default: UserLimitsForm = field(default_factory=UserLimitsForm)
    projects: dict[str, LimitsForm] = field(default_factory=dict)
    users: dict[str, UserLimitsForm] = field(default_factory=dict)
    queues: dict[str, QueueLimitsForm] = field(default_factory=dict)


def read_limits(form: LimitsPolicyForm, at: Field) -> LimitsPolicy:
    """Queues that it names are checked by whoever knows them all."""
    return LimitsPolicy(
        default=_limits(form.default, at.at("default")),
        projects=_entries(form.projects, at.at("projects")),
        users=_entries(form.users, at.at("users")),
        queues=tuple(
            (read_name(name, at.at("queues", name)), _limits(one, at.at("queues", name)))
            for name, one in sorted(form.queues.items())
        ),
    )


def _entries(forms: Mapping[str, LimitsForm], at: Field) -> tuple[tuple[str, Limits], ...]:
    return tuple(
        (read_step(name, at.at(name)), _limits(one, at.at(name))) for name, one in sorted(forms.items())
    )


def _limits(form: QueueLimitsForm, at: Field) -> Limits:
    longest_ms = _duration_ms(form.time_limit, at.at("time_limit"))
    default_ms = _duration_ms(form.default_time_limit, at.at("default_time_limit"))
    if longest_ms is not None and default_ms is not None and default_ms > longest_ms:
        raise at.at("default_time_limit").error(
            f"is longer than the longest, {format_duration(longest_ms)}", "give less, or raise time_limit"
        )
    limits = Limits(
        priority=None if form.priority is UNSET else read_priority(form.priority),
        unpreemptible=_or_none(form.unpreemptible),
        exclusive=_or_none(form.exclusive),
        namespaces=_names(form.namespaces, at.at("namespaces")),
        tolerations=_names(form.tolerations, at.at("tolerations")),
        node_labels=_names(form.node_labels, at.at("node_labels")),
        reservations=_names(form.reservations, at.at("reservations")),
        time_limit_ms=longest_ms,
        default_time_limit_ms=default_ms,
        log_bytes=_bytes(form.log_bytes, at.at("log_bytes")),
        waiting_jobs=_or_none(form.waiting_jobs),
        running_jobs=_or_none(form.running_jobs),
        at_once=tuple(sorted(read_amounts(form.at_once, at.at("at_once")).items())),
    )
    if not isinstance(form, LimitsForm):
        return limits
    return replace(
        limits,
        queues=_names(form.queues, at.at("queues")),
        submissions_per_minute=_or_none(form.submissions_per_minute),
        upload_bytes=(
            _bytes(form.upload_bytes, at.at("upload_bytes")) if isinstance(form, UserLimitsForm) else None
        ),
    )


def _or_none(value: T | UnsetType) -> T | None:
    return None if value is UNSET else value


def _names(names: Sequence[str] | UnsetType, at: Field) -> tuple[str, ...] | None:
    """In one order, so that equal lists are equal."""
    if names is UNSET:
        return None
    if ANYTHING in names and len(names) > 1:
        raise at.error('"*" allows everything: the other entries have no effect', "remove one or the other")
    return tuple(sorted({read_name(name, at.at(index)) for index, name in enumerate(names)}))


def _duration_ms(value: Amount | UnsetType, at: Field) -> int | None:
    if value is UNSET:
        return None
    duration_ms = at.read(parse_duration_ms, value)
    if duration_ms == 0:
        raise at.error("the duration is 0", "give more than 0, or leave it out")
    return duration_ms


def _bytes(value: Amount | UnsetType, at: Field) -> int | None:
    return None if value is UNSET else at.read(parse_bytes, value)
