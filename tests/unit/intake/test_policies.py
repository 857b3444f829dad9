"""Policies become records of the model."""

import pytest

from rota.intake.documents.document import parse_documents
from rota.intake.errors import InputError
from rota.intake.policies import policy_from
from rota.model.job import Priority
from rota.model.limits import Limits, LimitsPolicy
from rota.model.policy import (
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
    Reclaim,
    Recovery,
    SchedulerPolicy,
    Selection,
    Strategy,
    TenantKey,
    TenantPolicy,
    Weights,
)
from rota.model.resources import Resources

GIB = 2**30


def read(text: str) -> Policy:
    [document] = parse_documents(text.encode(), "policy.yaml")
    return policy_from(document)


def scheduler(text: str) -> SchedulerPolicy:
    [one] = read(text).schedulers
    return one


def test_an_empty_policy_is_the_default() -> None:
    assert read("{}") == Policy()


def test_scheduler_with_every_field() -> None:
    found = scheduler("""
        name: nightly
        namespaces: [prod, dev]
        strategy: custom
        plugin: thermal
        weights: {utilisation: 1, load: 2, affinity: 3, proximity: 4, cost: 5}
        queues:
        - {name: a, strategy: fair, tenant_key: project, strict: true, order: -1, pools: [y, x]}
        - {name: b, strategy: fifo, backfill: easy}
        - {name: c, strategy: smallest, durations: learnt, depth: 7}
        preemption: {enabled: false, min_run_time: 10m}
        promotion: {every: 1h, retry_budget: 0, up_to: critical}
        recovery: {backoff: 1m, max_backoff: 2h, drop_wishes_after: 3}
        plugins:
        - {name: thermal, weight: 5, settings: {limit: 80, strict: true, unit: C}}
    """)
    assert found == SchedulerPolicy(
        name="nightly",
        namespaces=("dev", "prod"),
        selection=Selection(Strategy.CUSTOM, "thermal"),
        weights=Weights(1, 2, 3, 4, 5),
        queues=(
            QueuePolicy("a", QueueStrategy.FAIR, TenantKey.PROJECT, strict=True, order=-1, pools=("x", "y")),
            QueuePolicy("b", QueueStrategy.FIFO, backfill=Backfill.EASY),
            QueuePolicy("c", QueueStrategy.SMALLEST, durations=Durations.LEARNT, depth=7),
        ),
        preemption=Preemption(enabled=False, min_run_ms=600_000),
        promotion=Promotion(every_ms=3_600_000, retry_budget=0, up_to=Priority.CRITICAL),
        recovery=Recovery(60_000, 7_200_000, 3),
        plugins=(PluginConfig("thermal", 5, (("limit", "80"), ("strict", "true"), ("unit", "C"))),),
    )


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("{}", Weights()),
        ("weights: {cost: 15}", Weights(cost=15)),
        ("strategy: bin-packing", Weights(utilisation=70, load=0)),
        ("{strategy: bin-packing, weights: {load: 5}}", Weights(utilisation=70, load=5)),
    ],
)
@pytest.mark.covers("decide-7")
def test_weights_that_are_not_given_are_those_of_the_strategy(text: str, wanted: Weights) -> None:
    assert scheduler(text).weights == wanted


@pytest.mark.covers("time-2")
@pytest.mark.parametrize(
    "fields", ["", ", strategy: fifo", ", backfill: conservative, durations: limits, strict: false"]
)
def test_an_interactive_queue_is_first_come_first_served(fields: str) -> None:
    [queue] = scheduler(f"queues: [{{name: desk, interactive: true{fields}}}]").queues
    assert queue == QueuePolicy("desk", QueueStrategy.FIFO, interactive=True)


@pytest.mark.covers("time-3")
@pytest.mark.parametrize(
    ("written", "wanted"),
    [
        ("{}", QueuePolicy()),
        ("{backfill: none}", QueuePolicy(backfill=Backfill.NONE)),
        ("{backfill: conservative, depth: 1}", QueuePolicy(depth=1)),
        ("{interactive: false, strategy: fair}", QueuePolicy(strategy=QueueStrategy.FAIR)),
    ],
)
def test_how_a_batch_queue_is_planned(written: str, wanted: QueuePolicy) -> None:
    assert scheduler(f"queues: [{written}]").queues == (wanted,)


@pytest.mark.covers("time-10")
@pytest.mark.parametrize(
    ("written", "wanted"),
    [
        ("{}", Recovery()),
        ("{backoff: 0}", Recovery(backoff_ms=0)),
        ("{backoff: 1h}", Recovery(backoff_ms=3_600_000)),
        ("{max_backoff: 10s}", Recovery(max_backoff_ms=10_000)),
        ("{drop_wishes_after: 1}", Recovery(drop_wishes_after=1)),
    ],
)
def test_recovery(written: str, wanted: Recovery) -> None:
    assert scheduler(f"recovery: {written}").recovery == wanted


@pytest.mark.covers("decide-11")
def test_several_schedulers() -> None:
    found = read("schedulers: [{name: a, namespaces: [x]}, {name: b, strategy: round-robin}]").schedulers
    assert [one.name for one in found] == ["a", "b"]
    assert found[0].namespaces == ("x",)
    assert found[1].selection == Selection(Strategy.ROUND_ROBIN)


def test_tenants_and_fair_share() -> None:
    found = read("""
        tenants:
          vision:
            weight: 2
            quota: {cpu: 100, gpu: 8, memory: 1Gi}
            borrow: {gpu: 0.5}
            lend: all
            pools: [gpu]
            users:
              bob: {}
              ada: {weight: 3, quota: {example.com/fpga: 2}, borrow: none, lend: {example.com/fpga: 1}}
          audio: {quota: {cpu: 1}, borrow: unlimited, lend: none}
        fair_share: {half_life: 1d, reclaim: lower-priority}
    """).fair_share
    assert found == FairShare(
        half_life_ms=86_400_000,
        tenants=(
            TenantPolicy("audio", quota=Quota((("cpu", 1000),), None, ())),
            TenantPolicy(
                "vision",
                2,
                Quota((("cpu", 100_000), ("gpu", 8000), ("memory", GIB)), (("gpu", 500),), None),
                ("gpu",),
            ),
            TenantPolicy(
                "vision/ada",
                3,
                Quota((("example.com/fpga", 2),), (), (("example.com/fpga", 1),)),
            ),
            TenantPolicy("vision/bob"),
        ),
        reclaim=Reclaim.LOWER_PRIORITY,
    )


def test_defaults_of_platforms_and_runtimes() -> None:
    found = read("""
        platforms:
          ubuntu-latest: {requests: {cpu: 250m, memory: 512Mi}, limits: {cpu: 1, memory: 2Gi}}
        runtimes:
          kata: {cpu: 250m, memory: 160Mi}
    """).defaults
    assert found == Defaults(
        platforms=(("ubuntu-latest", PlatformDefaults(Resources(250, GIB // 2), Resources(1000, 2 * GIB))),),
        runtimes=(("kata", Resources(250, 160 * 2**20)),),
    )


def test_plugins_need_not_be_known_when_nobody_says_which_are() -> None:
    [document] = parse_documents(b"plugins: [{name: mine}]", "policy.yaml")
    assert policy_from(document) == policy_from(document, known_plugins=["mine"])


@pytest.mark.covers("trust-4")
class TestLimits:
    def test_every_field(self) -> None:
        found = read("""
            queues: [{name: long}]
            limits:
              default: {priority: high, waiting_jobs: 10, running_jobs: 5, submissions_per_minute: 60}
              projects:
                vision:
                  queues: [long, default]
                  tolerations: [gpu, dedicated=ml]
                  namespaces: ["*"]
                  node_labels: [zone]
                  reservations: []
                  at_once: {gpu: 2, cpu: 64, memory: 1Gi}
              users:
                ada: {unpreemptible: true, exclusive: false, upload_bytes: 1Gi}
              queues:
                long: {time_limit: 2h, default_time_limit: 1h, log_bytes: 10Mi}
        """).limits
        assert found == LimitsPolicy(
            Limits(priority=Priority.HIGH, waiting_jobs=10, running_jobs=5, submissions_per_minute=60),
            (
                (
                    "vision",
                    Limits(
                        queues=("default", "long"),
                        tolerations=("dedicated=ml", "gpu"),
                        namespaces=("*",),
                        node_labels=("zone",),
                        reservations=(),
                        at_once=(("cpu", 64_000), ("gpu", 2000), ("memory", GIB)),
                    ),
                ),
            ),
            (("ada", Limits(unpreemptible=True, exclusive=False, upload_bytes=GIB)),),
            (("long", Limits(time_limit_ms=7_200_000, default_time_limit_ms=3_600_000, log_bytes=10 << 20)),),
        )

    @pytest.mark.parametrize(
        ("limits", "message"),
        [
            ("{queues: {lnog: {}}}", 'limits.queues.lnog: there is no queue named "lnog"'),
            ("{default: {queues: [shrot]}}", 'limits.default.queues[0]: there is no queue named "shrot"'),
            ("{users: {ada: {queues: [x]}}}", 'limits.users.ada.queues[0]: there is no queue named "x"'),
            ("{users: {a/b: {}}}", "contains a slash"),
            ("{default: {time_limit: 0}}", "the duration is 0"),
            ("{default: {time_limit: 1h, default_time_limit: 2h}}", "is longer than the longest, 1h"),
            ("{default: {log_bytes: much}}", "limits.default.log_bytes"),
            ('{default: {tolerations: ["*", gpu]}}', "allows everything"),
            ("{default: {at_once: {cpus: 1}}}", 'unknown resource "cpus"'),
            ("{default: {submissions_per_minute: 0}}", "submissions_per_minute"),
            ("{queues: {default: {upload_bytes: 1}}}", "upload_bytes"),
            ("{projects: {vision: {upload_bytes: 1}}}", "upload_bytes"),
        ],
    )
    def test_mistakes_are_refused(self, limits: str, message: str) -> None:
        with pytest.raises(InputError) as error:
            read(f"limits: {limits}")
        assert message in str(error.value)
