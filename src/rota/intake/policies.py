"""Policies, as in POLICY.yaml. The form itself is described in docs/files.md."""

from collections.abc import Collection, Iterator, Mapping, Sequence

from msgspec import UNSET, UnsetType, structs

from rota.intake.checking.convert import convert
from rota.intake.checking.fields import Amount, Field, read_each
from rota.intake.checking.names import UniqueNames, read_name, read_step, unknown_name
from rota.intake.checking.wording import nearest, quoted
from rota.intake.documents.document import Document
from rota.intake.forms.blocks import read_priority
from rota.intake.forms.policies import (
    PlatformForm,
    PluginForm,
    PolicyForm,
    ProjectForm,
    PromotionForm,
    QueueForm,
    RecoveryForm,
    SchedulerForm,
    UserForm,
    WeightsForm,
)
from rota.intake.parts.amounts import check_within_limits, read_amounts, read_resources
from rota.intake.parts.limits import LimitsPolicyForm, read_limits
from rota.intake.parts.runs import read_pauses
from rota.intake.parts.tasks import read_choice
from rota.model.job import Priority
from rota.model.limits import ANYTHING, LimitsPolicy
from rota.model.policy import (
    DEFAULT_QUEUE,
    Backfill,
    Defaults,
    Durations,
    FairShare,
    PlatformDefaults,
    PluginConfig,
    Policy,
    Preemption,
    Promotion,
    QueuePolicy,
    QueueStrategy,
    Quota,
    Recovery,
    SchedulerPolicy,
    Selection,
    Strategy,
    TenantPolicy,
    Weights,
    default_weights,
)
from rota.model.quantities import parse_duration_ms


def policy_from(document: Document, known_plugins: Collection[str] | None = None) -> Policy:
    """The policy of a document. Without `known_plugins` a plugin may have any name."""
    form = convert(document, PolicyForm)
    at = Field(document)
    schedulers = _SchedulerReader(known_plugins).read_all(form, at)
    return Policy(
        schedulers=schedulers,
        fair_share=FairShare(
            half_life_ms=_duration_ms(form.fair_share.half_life, at.at("fair_share", "half_life")),
            tenants=tuple(sorted(_tenants(form.tenants, at.at("tenants")), key=lambda tenant: tenant.path)),
            reclaim=form.fair_share.reclaim,
        ),
        defaults=Defaults(
            platforms=tuple(
                (name, _platform(platform, at.at("platforms", name)))
                for name, platform in sorted(form.platforms.items())
            ),
            runtimes=tuple(
                (name, read_resources(overhead, at.at("runtimes", name)))
                for name, overhead in sorted(form.runtimes.items())
            ),
        ),
        limits=_limits(form.limits, schedulers, at.at("limits")),
    )


def _limits(form: LimitsPolicyForm, schedulers: Sequence[SchedulerPolicy], at: Field) -> LimitsPolicy:
    known = {DEFAULT_QUEUE, *(queue.name for scheduler in schedulers for queue in scheduler.queues)}
    limits = read_limits(form, at)
    remedy = "name it under `queues` of the policy"
    for name, _ in limits.queues:
        if name not in known:
            raise unknown_name("queue", name, known, at.at("queues", name), remedy)
    sections = (("projects", form.projects), ("users", form.users), ("", {"default": form.default}))
    for section, entries in sections:
        for owner, entry in entries.items():
            named = () if entry.queues is UNSET else entry.queues
            for index, name in enumerate(named):
                if name not in known and name != ANYTHING:
                    where = at.at(section, owner) if section else at.at(owner)
                    raise unknown_name("queue", name, known, where.at("queues", index), remedy)
    return limits


def _duration_ms(value: Amount, at: Field) -> int:
    duration_ms = at.read(parse_duration_ms, value)
    if duration_ms == 0:
        raise at.error("the duration is 0", "give more than 0")
    return duration_ms


class _SchedulerReader:
    def __init__(self, known_plugins: Collection[str] | None) -> None:
        self._known_plugins = known_plugins
        self._names = UniqueNames("scheduler")

    def read_all(self, form: PolicyForm, at: Field) -> tuple[SchedulerPolicy, ...]:
        if form.schedulers is UNSET:
            return (self._read(form, at),)
        data = at.data
        assert isinstance(data, Mapping)
        for name in data:
            if name in SchedulerForm.__struct_fields__:
                raise at.at(name).error("a policy with schedulers has no such field", "move it into them")
        if not form.schedulers:
            raise at.at("schedulers").error("no scheduler", "give at least one, or remove the field")
        return tuple(read_each(form.schedulers, self._read, at.at("schedulers")))

    def _read(self, form: SchedulerForm, at: Field) -> SchedulerPolicy:
        self._names.claim(read_name(form.name, at.at("name")), at.at("name"))
        return SchedulerPolicy(
            name=form.name,
            namespaces=read_choice(form.namespaces, at.at("namespaces")),
            selection=self._selection(form, at),
            weights=_weights(form.weights, default_weights(form.strategy)),
            queues=_queues(form.queues, at.at("queues")),
            preemption=Preemption(
                form.preemption.enabled,
                at.at("preemption", "min_run_time").read(parse_duration_ms, form.preemption.min_run_time),
            ),
            promotion=_promotion(form.promotion, at.at("promotion")),
            recovery=_recovery(form.recovery, at.at("recovery")),
            plugins=self._plugins(form.plugins, at.at("plugins")),
        )

    def _selection(self, form: SchedulerForm, at: Field) -> Selection:
        if form.strategy is not Strategy.CUSTOM:
            if form.plugin:
                raise at.at("plugin").error("only the strategy custom has a plugin", "set strategy: custom")
            return Selection(form.strategy)
        if not form.plugin:
            raise at.at("plugin").error("the strategy custom needs a plugin", "name it")
        self._check_known(form.plugin, at.at("plugin"))
        return Selection(form.strategy, form.plugin)

    def _plugins(self, forms: Sequence[PluginForm], at: Field) -> tuple[PluginConfig, ...]:
        names = UniqueNames("plugin")

        def read(form: PluginForm, plugin_at: Field) -> PluginConfig:
            name_at = plugin_at.at("name")
            names.claim(read_name(form.name, name_at), name_at)
            self._check_known(form.name, name_at)
            settings = tuple((key, _setting(value)) for key, value in sorted(form.settings.items()))
            return PluginConfig(form.name, form.weight, settings)

        return tuple(read_each(forms, read, at))

    def _check_known(self, name: str, at: Field) -> None:
        if self._known_plugins is None or name in self._known_plugins:
            return
        meant = nearest(name, self._known_plugins)
        known = ", ".join(sorted(self._known_plugins)) or "none"
        raise at.error(
            f"unknown plugin {quoted(name)}",
            f"did you mean {quoted(meant)}?" if meant else f"install its package; known plugins: {known}",
        )


def _setting(value: str | int | float | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _weights(form: WeightsForm, defaults: Weights) -> Weights:
    given = structs.asdict(form)
    return structs.replace(defaults, **{name: value for name, value in given.items() if value is not UNSET})


def _queues(forms: Sequence[QueueForm] | UnsetType, at: Field) -> tuple[QueuePolicy, ...]:
    if forms is UNSET:
        return (QueuePolicy(),)
    if not forms:
        raise at.error("no queue", "give at least one, or remove the field")
    names = UniqueNames("queue")

    def read(form: QueueForm, queue_at: Field) -> QueuePolicy:
        names.claim(read_name(form.name, queue_at.at("name")), queue_at.at("name"))
        return _queue(form, queue_at)

    return tuple(read_each(forms, read, at))


_OF_INTERACTIVE: tuple[tuple[str, tuple[object, ...], str], ...] = (
    ("strategy", (UNSET, QueueStrategy.FIFO), "serves first come, first served"),
    ("strict", (False,), "promises every job a start: none is held up by the first"),
    ("backfill", (UNSET, Backfill.CONSERVATIVE), "gives every job a place in the calendar"),
    ("durations", (UNSET, Durations.LIMITS), "promises by time limits, which no job exceeds"),
    ("depth", (UNSET,), "gives every job a place in the calendar"),
)
"""What may be said of an interactive queue, and why nothing else: its promises couldn't be kept."""


def _queue(form: QueueForm, at: Field) -> QueuePolicy:
    queue = QueuePolicy(
        name=form.name,
        tenant_key=form.tenant_key,
        strict=form.strict,
        order=form.order,
        pools=read_choice(form.pools, at.at("pools")),
        interactive=form.interactive,
        **{
            name: value
            for name in ("strategy", "backfill", "durations", "depth")
            if (value := getattr(form, name)) is not UNSET
        },
    )
    if form.interactive:
        for name, allowed, reason in _OF_INTERACTIVE:
            if getattr(form, name) not in allowed:
                raise at.at(name).error(f"an interactive queue {reason}", f"remove {name}, or interactive")
        return structs.replace(queue, strategy=QueueStrategy.FIFO)
    if form.depth is not UNSET and queue.backfill is not Backfill.CONSERVATIVE:
        raise at.at("depth").error(
            f"depth is for conservative backfill, and here it is {queue.backfill.value}", "remove one of them"
        )
    return queue


def _recovery(form: RecoveryForm, at: Field) -> Recovery:
    pauses_ms = read_pauses(form.backoff, form.max_backoff, at)
    return Recovery(*pauses_ms, None if form.drop_wishes_after is UNSET else form.drop_wishes_after)


def _promotion(form: PromotionForm | UnsetType, at: Field) -> Promotion:
    if form is UNSET:
        return Promotion()
    if form.every is UNSET and form.retry_budget is UNSET:
        raise at.error("nothing says when a job is promoted", "give every or retry_budget")
    up_to = read_priority(form.up_to)
    if up_to > Priority.CRITICAL:
        raise at.at("up_to").error(f"{up_to} is above critical", f"give at most {int(Priority.CRITICAL)}")
    return Promotion(
        every_ms=None if form.every is UNSET else _duration_ms(form.every, at.at("every")),
        retry_budget=None if form.retry_budget is UNSET else form.retry_budget,
        up_to=up_to,
    )


def _tenants(forms: Mapping[str, ProjectForm], at: Field) -> Iterator[TenantPolicy]:
    for project, form in forms.items():
        project_at = at.at(project)
        if "/" in project:
            raise project_at.error(
                f"{quoted(project)} names a user", "put users under `users` of their project"
            )
        yield _tenant(read_step(project, project_at), form, project_at)
        for user, user_form in form.users.items():
            user_at = project_at.at("users", user)
            yield _tenant(f"{project}/{read_step(user, user_at)}", user_form, user_at)


def _tenant(path: str, form: UserForm, at: Field) -> TenantPolicy:
    return TenantPolicy(path, form.weight, _quota(form, at), read_choice(form.pools, at.at("pools")))


def _quota(form: UserForm, at: Field) -> Quota | None:
    if form.quota is UNSET:
        for name in ("borrow", "lend"):
            if getattr(form, name) is not UNSET:
                raise at.at(name).error("there is no quota to begin with", "add quota")
        return None
    nominal = read_amounts(form.quota, at.at("quota"))
    lendable = _part(form.lend, nominal, at.at("lend"))
    for name, amount in lendable or ():
        if amount > nominal[name]:
            raise at.at("lend", name).error("more than the quota itself", "lend at most that")
    return Quota(tuple(sorted(nominal.items())), _part(form.borrow, nominal, at.at("borrow")), lendable)


def _part(
    form: Mapping[str, Amount] | str | UnsetType, nominal: Mapping[str, int], at: Field
) -> tuple[tuple[str, int], ...] | None:
    """What may be borrowed or lent of the resources under quota; None: all."""
    if form is UNSET or form in ("unlimited", "all"):
        return None
    if isinstance(form, str):
        return ()
    for name in form:
        if name not in nominal:
            raise at.at(name).error("the quota doesn't limit this", "add it to the quota, or remove it here")
    return tuple(sorted(read_amounts(form, at).items()))


def _platform(form: PlatformForm, at: Field) -> PlatformDefaults:
    requests = read_resources(form.requests, at.at("requests"))
    limits = read_resources(form.limits, at.at("limits"))
    check_within_limits(requests, limits, at.at("requests"))
    return PlatformDefaults(requests, limits)
