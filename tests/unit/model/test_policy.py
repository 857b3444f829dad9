"""What holds when an operator sets nothing."""

import pytest

from rota.model.policy import (
    Policy,
    Promotion,
    QueueStrategy,
    Recovery,
    SchedulerPolicy,
    Strategy,
    TenantKey,
    Weights,
    default_weights,
)
from rota.model.run import Retry


@pytest.mark.covers("decide-7")
def test_the_default_weights_are_40_30_20_10() -> None:
    assert default_weights(Strategy.LEAST_LOADED) == Weights(40, 30, 20, 10, cost=0)
    assert Weights() == default_weights(Strategy.BALANCED)


@pytest.mark.covers("decide-6")
@pytest.mark.parametrize("strategy", [Strategy.BIN_PACKING, Strategy.ROUND_ROBIN])
def test_packing_is_not_undone_by_a_weight_that_levels_the_load(strategy: Strategy) -> None:
    weights = default_weights(strategy)
    assert weights.load == 0
    assert sum((weights.utilisation, weights.affinity, weights.proximity)) == 100


@pytest.mark.parametrize("strategy", Strategy)
def test_default_weights_sum_to_a_hundred(strategy: Strategy) -> None:
    weights = default_weights(strategy)
    assert weights.utilisation + weights.load + weights.affinity + weights.proximity + weights.cost == 100


def test_without_a_policy_there_is_one_scheduler_that_takes_every_namespace() -> None:
    assert Policy().schedulers == (SchedulerPolicy(),)
    assert SchedulerPolicy().namespaces == ()


def test_without_a_policy_queues_go_by_priority_and_tenants_are_users_of_projects() -> None:
    [queue] = SchedulerPolicy().queues
    assert queue.name == "default"
    assert queue.strategy is QueueStrategy.PRIORITY
    assert queue.tenant_key is TenantKey.PROJECT_USER
    assert not queue.strict


@pytest.mark.covers("prio-6")
def test_without_a_policy_nobody_is_promoted() -> None:
    assert Promotion().every_ms is None
    assert Promotion().retry_budget is None


@pytest.mark.covers("time-10")
class TestRecovery:
    @pytest.mark.parametrize(
        ("own", "completed"),
        [
            (Retry(3), Retry(3, 30_000, 600_000)),
            (Retry(3, backoff_ms=0), Retry(3, 0, 600_000)),
            (Retry(3, max_backoff_ms=1000, exit_codes=(75,)), Retry(3, 30_000, 1000, (75,))),
            (Retry(3, 1, 2), Retry(3, 1, 2)),
        ],
    )
    def test_pauses_are_for_jobs_without_their_own(self, own: Retry, completed: Retry) -> None:
        assert Recovery(30_000, 600_000).completed(own) == completed
        assert Recovery().completed(own) == own

    @pytest.mark.parametrize(
        ("after", "retries", "drops"), [(None, 99, False), (2, 1, False), (2, 2, True), (0, 0, True)]
    )
    def test_wishes_are_dropped_after_so_many(self, after: int | None, retries: int, drops: bool) -> None:
        assert Recovery(drop_wishes_after=after).drops_wishes(retries) is drops
