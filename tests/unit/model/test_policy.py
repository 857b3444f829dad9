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
        ("retries", "seconds"),
        [(0, 0), (1, 10), (2, 20), (3, 40), (6, 320), (7, 600), (8, 600), (10**9, 600)],
    )
    def test_the_pause_doubles_up_to_the_longest(self, retries: int, seconds: int) -> None:
        assert Recovery(10_000, 600_000).pause_ms(retries) == seconds * 1000

    def test_a_pause_of_nothing_stays_nothing(self) -> None:
        assert Recovery(0, 600_000).pause_ms(9) == Recovery(10_000, 0).pause_ms(9) == 0

    @pytest.mark.parametrize(
        ("after", "retries", "drops"), [(None, 99, False), (2, 1, False), (2, 2, True), (0, 0, True)]
    )
    def test_wishes_are_dropped_after_so_many(self, after: int | None, retries: int, drops: bool) -> None:
        assert Recovery(drop_wishes_after=after).drops_wishes(retries) is drops
