"""What the quotas leave of a job's work."""

from typing import Any

import pytest

from rota.engine.tenants.books import Books
from rota.model.policy import FairShare, Quota, TenantPolicy
from rota.model.reasons import BeyondQuota, QuotaReached, TenantReason
from tests.builders import Cluster
from tests.unit.engine.workbench import Workbench
from tests.words import NOW_MS, tasks

pytestmark = pytest.mark.covers("prio-5")


class Account:
    """A job of a tenant that may have so many cores, and that holds some."""

    def __init__(self, own: int, used: int = 0, lent: int = 0, **words: Any) -> None:
        cluster = Cluster().node("n", cpu=99)
        if used:
            cluster = cluster.running("used", on=["n"] * used, cpu=1, template={"project": "a"})
        if lent:
            cluster = cluster.running("lent", on=["n"] * lent, cpu=1, template={"project": "b"})
        self.bench = Workbench(cluster.job("j", template={"project": "a"}, **words))
        tenants = (TenantPolicy("a", quota=_cores(own)), TenantPolicy("b", quota=_cores(0)))
        self.books = Books(self.bench.snapshot, FairShare(tenants=tenants), NOW_MS)
        self.template = self.bench.job("j").template
        self.work = self.bench.work("j")

    def allowed(self) -> tuple[int, ...] | None:
        work = self.books.allowed(self.template, self.work)
        return None if work is None else work.counts


def _cores(amount: int) -> Quota:
    return Quota((("cpu", amount * 1000),))


class TestAllowed:
    @pytest.mark.parametrize(
        ("own", "used", "words", "counts"),
        [
            (4, 0, {"cpu": 1, "tasks": 4}, (4,)),
            (4, 1, {"cpu": 1, "tasks": 4}, None),
            (4, 1, {"cpu": 1, "tasks": 4, "min_available": 2}, (3,)),
            (4, 3, {"cpu": 1, "tasks": 4, "min_available": 2}, None),
            (4, 0, {"cpu": 3, "tasks": 2, "min_available": 1}, (1,)),
            (4, 4, {"memory": "1Gi", "tasks": 2}, (2,)),
            (4, 0, {"groups": [tasks(2, cpu=1), tasks(1, cpu=2)]}, (2, 1)),
            (3, 0, {"groups": [tasks(2, cpu=1), tasks(1, cpu=2)]}, None),
            (3, 0, {"groups": [tasks(2, cpu=1), tasks(1, cpu=2)], "min_available": 2}, (2, 0)),
            (3, 0, {"groups": [tasks(1, cpu=2), tasks(2, cpu=1)], "min_available": 2}, (0, 2)),
            (
                2,
                0,
                {"groups": [tasks(2, cpu=1, selector={"no": "such"}), tasks(1, cpu=2)], "min_available": 1},
                (0, 1),
            ),
        ],
    )
    def test_the_work_is_cut_to_what_may_start_or_nothing_is_left(
        self, own: int, used: int, words: dict[str, Any], counts: tuple[int, ...] | None
    ) -> None:
        assert Account(own, used, **words).allowed() == counts

    def test_without_quotas_it_is_the_work_itself(self) -> None:
        account = Account(4, cpu=1)
        free = Books(account.bench.snapshot, FairShare(), NOW_MS)
        assert free.allowed(account.template, account.work) is account.work
        assert free.refusal(account.template, account.work) is None

    def test_what_is_charged_is_gone_and_comes_back(self) -> None:
        account = Account(4, cpu=1, tasks=3)
        take = account.work.signatures[0].demand.take
        account.books.charge(account.template, take, 2)
        assert account.allowed() is None
        assert account.books.shares.of(("a",)) > 0
        account.books.charge(account.template, take, -2)
        assert account.allowed() == (3,)
        assert account.books.shares.of(("a",)) == 0


class TestReclaim:
    @pytest.mark.parametrize(
        ("words", "may"),
        [
            ({"cpu": 1, "tasks": 4}, True),
            ({"cpu": 1, "tasks": 5}, False),
            ({"cpu": 1, "tasks": 5, "min_available": 4}, True),
            ({"groups": [tasks(2, cpu=1), tasks(1, cpu=2)]}, True),
            ({"groups": [tasks(2, cpu=1), tasks(1, cpu=3)]}, False),
        ],
    )
    def test_what_is_needed_must_lie_within_the_tenants_own(self, words: dict[str, Any], may: bool) -> None:
        account = Account(4, lent=4, **words)
        assert account.allowed() is None
        assert account.books.may_reclaim(account.template, account.work) is may


class TestRefusal:
    def test_none_where_it_is_not_the_quota(self) -> None:
        account = Account(4, cpu=1)
        assert account.books.refusal(account.template, account.work) is None

    @pytest.mark.parametrize(
        ("words", "kind", "asked"),
        [
            ({"cpu": 1, "tasks": 4}, QuotaReached, 4000),
            ({"cpu": 1, "tasks": 9, "min_available": 4}, QuotaReached, 4000),
            ({"cpu": 1, "tasks": 5}, BeyondQuota, 5000),
            ({"groups": [tasks(2, cpu=1), tasks(1, cpu=2)]}, QuotaReached, 4000),
            ({"groups": [tasks(2, cpu=1), tasks(1, cpu=9)]}, BeyondQuota, 11_000),
            ({"groups": [tasks(2, cpu=2), tasks(2, cpu=1)], "min_available": 3}, QuotaReached, 4000),
        ],
    )
    def test_it_is_about_all_that_must_start_together(
        self, words: dict[str, Any], kind: type[TenantReason], asked: int
    ) -> None:
        account = Account(4, used=1, **words)
        reason = account.books.refusal(account.template, account.work)
        assert isinstance(reason, QuotaReached | BeyondQuota)
        assert type(reason) is kind
        assert (reason.tenant, reason.resource, reason.asked) == (("a",), "cpu", asked)
