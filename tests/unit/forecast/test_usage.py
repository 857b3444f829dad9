"""Usage as fair share counts it."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from rota.forecast.usage import Ledger, counts_usage
from rota.model.cluster import TenantUsage
from rota.model.job import JobTemplate
from rota.model.policy import FairShare, TenantLabel
from tests.builders import policy
from tests.words import tasks

HOUR_MS = 3_600_000
SHARE = FairShare(half_life_ms=HOUR_MS)
GROUP = tasks(1, cpu=2, memory="1Ki", gpu=1)
TEMPLATE = JobTemplate((GROUP,), project="p", user="u")


def amounts(ledger: Ledger) -> dict[str, int]:
    [usage] = ledger.usage()
    return dict(usage.amounts)


def test_a_short_task_counts_in_full() -> None:
    ledger = Ledger(SHARE, ())
    ledger.stopped(TEMPLATE, GROUP.spec, 1000, 5000)
    assert ledger.usage()[0].path == "p/u"
    assert ledger.usage()[0].as_of_ms == 5000
    assert amounts(ledger) == {"cpu": 2000, "gpu": 1000, "memory": 1024}


@pytest.mark.covers("prio-5")
def test_what_a_long_task_used_first_has_faded() -> None:
    """After many half-lives it has used what fills the memory: amount × half-life / ln 2."""
    ledger = Ledger(SHARE, ())
    ledger.stopped(TEMPLATE, GROUP.spec, 100 * HOUR_MS, 100 * HOUR_MS)
    assert amounts(ledger)["cpu"] == pytest.approx(2000 * 3600 / 0.693147, rel=1e-5)


def test_what_was_used_before_fades_until_more_comes() -> None:
    ledger = Ledger(SHARE, (TenantUsage("p/u", 0, (("cpu", 8000), ("x.org/y", 4))),))
    ledger.stopped(TEMPLATE, GROUP.spec, 1000, 2 * HOUR_MS)
    assert amounts(ledger) == {"cpu": 2000 + 2000, "gpu": 1000, "memory": 1024, "x.org/y": 1}


def test_of_several_entries_for_a_tenant_the_latest_time_counts() -> None:
    before = (TenantUsage("p", HOUR_MS, (("cpu", 100),)), TenantUsage("p", 0, (("cpu", 100),)))
    ledger = Ledger(SHARE, before)
    assert ledger.usage() == (TenantUsage("p", HOUR_MS, (("cpu", 150),)),)


@pytest.mark.covers("kube-11")
def test_tenants_by_a_label_are_charged_besides() -> None:
    template = replace(TEMPLATE, labels=(("example.com/team", "red"),), namespace="n")
    ledger = Ledger(SHARE, (), (TenantLabel("example.com/team"), TenantLabel("namespace")))
    paths = ["p/u", "example.com/team red", "namespace n"]
    assert ledger.stopped(template, GROUP.spec, 1000, 5000) == paths
    assert [(one.path, dict(one.amounts)["cpu"]) for one in ledger.usage()] == [
        (path, 2000) for path in paths
    ]
    before = ledger.usage()
    again = Ledger(SHARE, before, (TenantLabel("namespace"),))
    assert again.usage() == before


def test_only_fair_queues_go_by_it() -> None:
    assert counts_usage(policy(queue="fair"))
    assert not counts_usage(policy(queue="priority"))
