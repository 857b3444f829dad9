"""Quotas: a tenant's own, what it may borrow, and what it may take back."""

from typing import Any

import pytest

from rota.engine.tenants.books import NO_LIMITS
from rota.engine.tenants.caps import Caps
from rota.engine.tenants.quota import QuotaAnswer, Quotas
from rota.model.job import JobTemplate
from rota.model.policy import FairShare, Quota, TenantPolicy
from rota.model.reasons import BeyondQuota, QuotaReached
from rota.snapshot import snapshot_of
from tests.builders import Cluster
from tests.words import tasks

pytestmark = pytest.mark.covers("prio-5")


def cores(amount: int | None) -> tuple[tuple[str, int], ...] | None:
    return None if amount is None else (("cpu", amount * 1000),)


def tenant(path: str, own: int, borrow: int | None = None, lend: int | None = None) -> TenantPolicy:
    return TenantPolicy(path, quota=Quota(cores(own) or (), cores(borrow), cores(lend)))


class Bank:
    """Quotas in cores, and what tenants hold of them."""

    def __init__(self, *tenants: TenantPolicy, **held: int) -> None:
        cluster = Cluster().node("n", cpu=99, gpus=8)
        for path, amount in held.items():
            project, _, user = path.partition("__")
            owner = {"project": project, "user": user or "u"}
            cluster = cluster.running(f"run-{path}", on=["n"] * amount, cpu=1, template=owner)
        self.snapshot = snapshot_of(cluster.records)
        self.quotas = Quotas(self.snapshot, FairShare(tenants=tenants), Caps(self.snapshot, NO_LIMITS))

    @staticmethod
    def template(path: str, **words: Any) -> JobTemplate:
        project, _, user = path.partition("/")
        return JobTemplate((tasks(1, **words),), project=project, user=user or "u")

    def ask(self, path: str, count: int = 99, **words: Any) -> QuotaAnswer:
        template = self.template(path, **words or {"cpu": 1})
        return self.quotas.ask(template, self.snapshot.demand(template.groups[0].spec).take, count)

    def allowed(self, path: str, count: int = 99, **words: Any) -> tuple[int, int]:
        """How many one-core tasks may start: at once, and with what is taken back."""
        answer = self.ask(path, count, **words)
        return answer.at_once, answer.with_reclaim


class TestOneTenant:
    def test_it_may_have_its_own_and_no_more(self) -> None:
        assert Bank(tenant("a", 10)).allowed("a") == (10, 10)
        assert Bank(tenant("a", 10), a=4).allowed("a") == (6, 6)
        assert Bank(tenant("a", 10), a=10).allowed("a") == (0, 0)
        assert Bank(tenant("a", 10), a=12).allowed("a") == (0, 0)

    def test_no_more_are_allowed_than_were_asked_about(self) -> None:
        assert Bank(tenant("a", 10)).allowed("a", 3) == (3, 3)

    def test_a_task_of_several_cores_counts_as_such(self) -> None:
        assert Bank(tenant("a", 10)).allowed("a", cpu=3) == (3, 3)

    @pytest.mark.parametrize("path", ["other", "other/a"])
    def test_who_has_no_quota_is_not_limited(self, path: str) -> None:
        answer = Bank(tenant("a", 10)).ask(path)
        assert answer == QuotaAnswer(99, 99, None)

    def test_a_resource_that_the_quota_does_not_name_is_not_limited(self) -> None:
        assert Bank(tenant("a", 10)).ask("a", memory="9Gi") == QuotaAnswer(99, 99, None)

    def test_of_several_resources_the_scarcest_counts(self) -> None:
        quota = Quota((("cpu", 10_000), ("gpu", 2_500)))
        bank = Bank(TenantPolicy("a", quota=quota))
        assert bank.allowed("a", cpu=1, gpu=1) == (2, 2)
        assert bank.allowed("a", cpu=6, gpu=1) == (1, 1)
        assert bank.allowed("a", cpu=1, gpu=0.5) == (5, 5)


class TestBorrowing:
    def test_what_others_leave_idle_may_be_borrowed(self) -> None:
        assert Bank(tenant("a", 4), tenant("b", 6)).allowed("a") == (10, 10)
        assert Bank(tenant("a", 4), tenant("b", 6), b=5).allowed("a") == (5, 5)

    @pytest.mark.parametrize(("borrow", "at_once"), [(0, 4), (1, 5), (6, 10), (99, 10), (None, 10)])
    def test_up_to_what_the_tenant_may_borrow(self, borrow: int | None, at_once: int) -> None:
        assert Bank(tenant("a", 4, borrow), tenant("b", 6)).ask("a").at_once == at_once

    @pytest.mark.parametrize(("lend", "at_once"), [(0, 4), (2, 6), (99, 10), (None, 10)])
    def test_up_to_what_the_others_will_lend(self, lend: int | None, at_once: int) -> None:
        assert Bank(tenant("a", 4), tenant("b", 6, lend=lend)).ask("a").at_once == at_once

    def test_what_has_been_borrowed_counts(self) -> None:
        assert Bank(tenant("a", 4), tenant("b", 6), a=7).allowed("a") == (3, 3)
        assert Bank(tenant("a", 4, borrow=4), tenant("b", 6), a=7).allowed("a") == (1, 1)
        assert Bank(tenant("a", 4), tenant("b", 6, lend=4), a=7).allowed("a") == (1, 1)

    def test_what_a_third_has_borrowed_is_gone(self) -> None:
        assert Bank(tenant("a", 4), tenant("b", 6), tenant("c", 0), c=3).allowed("a") == (7, 7)

    def test_all_together_never_have_more_than_there_is(self) -> None:
        bank = Bank(tenant("a", 4), tenant("b", 6), tenant("c", 2), a=1, b=2, c=7)
        assert [bank.ask(path).at_once for path in "abc"] == [2, 2, 2]

    def test_what_is_not_named_may_be_neither_borrowed_nor_lent(self) -> None:
        amounts = (("cpu", 4000), ("gpu", 1000))
        only_cpu = (("cpu", 4000),)
        shy = TenantPolicy("a", quota=Quota(amounts, borrowable=only_cpu, lendable=only_cpu))
        other = TenantPolicy("b", quota=Quota(amounts))
        assert Bank(shy, other).allowed("a", gpu=1) == (1, 1)
        assert Bank(shy, other).allowed("b", gpu=1) == (1, 1)
        assert Bank(shy, other).allowed("a", cpu=1) == (8, 8)


class TestTakingBack:
    def test_ones_own_can_be_taken_back_when_others_hold_it(self) -> None:
        assert Bank(tenant("a", 4), tenant("b", 6), b=10).allowed("a") == (0, 4)
        assert Bank(tenant("a", 4), tenant("b", 6), a=1, b=8).allowed("a") == (1, 3)

    def test_what_would_be_borrowed_cannot(self) -> None:
        assert Bank(tenant("a", 4), tenant("b", 6), a=4, b=6).allowed("a") == (0, 0)

    @pytest.mark.parametrize(("path", "borrows"), [("b", True), ("a", False), ("c", False)])
    def test_who_holds_more_than_its_own_borrows(self, path: str, borrows: bool) -> None:
        bank = Bank(tenant("a", 4), tenant("b", 6), a=2, b=8, c=9)
        template = bank.template(path, cpu=1)
        assert bank.quotas.borrows(template, bank.snapshot.demand(template.groups[0].spec).take) is borrows

    def test_a_task_that_holds_nothing_of_what_is_borrowed_is_no_borrower(self) -> None:
        bank = Bank(tenant("a", 4), tenant("b", 6), b=8)
        template = bank.template("b", memory="1Gi")
        assert not bank.quotas.borrows(template, bank.snapshot.demand(template.groups[0].spec).take)


class TestUsersOfAProject:
    def test_a_user_has_its_own_within_the_project(self) -> None:
        bank = Bank(tenant("a/ada", 3, borrow=0), tenant("a/bob", 2))
        assert bank.allowed("a/ada") == (3, 3)
        assert bank.allowed("a/bob") == (5, 5)
        assert bank.ask("a/eve") == QuotaAnswer(99, 99, None)
        assert bank.ask("b/ada") == QuotaAnswer(99, 99, None)

    def test_the_quota_of_the_project_limits_as_well(self) -> None:
        bank = Bank(tenant("a", 4), tenant("a/ada", 9), a__ada=1, a__bob=2)
        assert bank.allowed("a/ada") == (1, 1)

    def test_users_borrow_from_users_of_the_same_project(self) -> None:
        bank = Bank(tenant("a/ada", 3), tenant("a/bob", 2), tenant("b/eve", 9))
        assert bank.allowed("a/ada") == (5, 5)


class TestCharging:
    def test_what_is_given_and_given_back_counts(self) -> None:
        bank = Bank(tenant("a", 10))
        template = bank.template("a", cpu=2)
        take = bank.snapshot.demand(template.groups[0].spec).take
        bank.quotas.charge(template, take, 3)
        assert bank.ask("a").at_once == 4
        bank.quotas.charge(template, take, -2)
        assert bank.ask("a").at_once == 8

    def test_without_quotas_there_are_none(self) -> None:
        assert not Bank(TenantPolicy("a", weight=3)).quotas.any
        assert Bank(tenant("a", 1)).quotas.any


class TestReasons:
    def test_none_where_nothing_limits(self) -> None:
        assert Bank(tenant("a", 10)).ask("a", 10).reason is None

    def test_it_names_the_tenant_and_the_resource_and_what_is_left(self) -> None:
        reason = Bank(tenant("a", 10), a=8).ask("a", 3).reason
        assert reason == QuotaReached(("a",), "cpu", 1000, 2000)

    def test_what_is_left_is_what_could_be_had_now(self) -> None:
        reason = Bank(tenant("a", 4), tenant("b", 6), a=1, b=7).ask("a", 3).reason
        assert reason == QuotaReached(("a",), "cpu", 1000, 2000)

    def test_what_is_more_than_the_quota_and_all_loans_can_never_be(self) -> None:
        bank = Bank(tenant("a", 4, borrow=2), tenant("b", 9))
        fits, never = bank.ask("a", 2, cpu=6).reason, bank.ask("a", 1, cpu=7).reason
        assert fits is not None
        assert isinstance(fits, QuotaReached)
        assert never == BeyondQuota(("a",), "cpu", 7000, 6000)

    def test_what_others_will_not_lend_can_never_be(self) -> None:
        bank = Bank(tenant("a", 4, borrow=9), tenant("b", 6, lend=1))
        reason = bank.ask("a", 1, cpu=6).reason
        assert reason is not None
        assert isinstance(reason, BeyondQuota)

    def test_of_a_user_it_is_about_the_user_or_the_project_whichever_is_short(self) -> None:
        bank = Bank(tenant("a", 4), tenant("a/ada", 9), a__bob=4)
        reason = bank.ask("a/ada").reason
        assert isinstance(reason, QuotaReached)
        assert (reason.tenant, reason.resource) == (("a",), "cpu")
