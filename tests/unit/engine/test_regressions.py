"""What the property tests found, each as small as it gets."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from rota.model.job import TopologyRule
from rota.model.plan import EvictionCause
from rota.model.policy import FairShare, Quota, Reclaim, TenantPolicy
from rota.model.reasons import GangLacksRoom
from rota.model.resources import HostPort
from rota.model.verdict import Kind
from tests.builders import Cluster, policy
from tests.words import apart, lie, near, spread, tasks

WEB = {"app": "web"}


@pytest.mark.covers("decide-4")
def test_near_its_own_kind_binds_only_the_tasks_that_ask_for_it() -> None:
    groups = [
        tasks(1, storage="60Gi", labels=WEB, affinity=[near("host", "app In web")]),
        tasks(1, memory="1Gi"),
    ]
    cluster = Cluster().node("n0", storage="100Gi").node("n1", memory="8Gi").job("gang", groups=groups)
    assert cluster.plan().places("gang") == ["n0", "n1"]


@pytest.mark.covers("decide-4", "gang-2")
def test_tasks_without_company_start_though_others_of_the_job_have_nowhere_to_go() -> None:
    groups = [tasks(1, cpu=1), tasks(2, cpu=1, labels=WEB, affinity=[near("zone", "app In web")])]
    cluster = Cluster().node("n0", cpu=4).job("gang", groups=groups, min_available=1)
    assert cluster.plan().places("gang") == ["n0"]


@pytest.mark.covers("why-1")
def test_nodes_without_the_label_are_no_room_for_a_spread_on_an_idle_cluster_either() -> None:
    cluster = (
        Cluster()
        .node("n0", storage="100Gi")
        .node("n1", storage="100Gi", zone="a", cordoned=True)
        .job("gang", tasks=2, storage="60Gi", labels=WEB, spread=[spread("zone", "app In web", 2)])
    )
    assert cluster.plan().waits("gang").kind is Kind.NEVER


@pytest.mark.covers("why-1")
def test_never_looks_at_every_domain_that_could_hold_the_gang() -> None:
    one_zone, other_hosts = lie("zone", "same"), lie("host", "different")
    cluster = (
        Cluster()
        .node("a1", cpu=16, zone="a")
        .node("b1", cpu=2, zone="b")
        .node("b2", cpu=4, zone="b", ready=False)
        .job("gang", tasks=3, min_available=2, cpu=1, topology=[one_zone, other_hosts])
    )
    assert cluster.plan().waits("gang").kind is Kind.NOT_NOW


@pytest.mark.covers("gang-1")
def test_who_fits_on_few_nodes_is_placed_before_who_fits_on_many() -> None:
    groups = [tasks(1, cpu=1), tasks(2, spec={"ports": (HostPort(80),)})]
    cluster = (
        Cluster()
        .nodes("n0 n1", memory="1Gi")
        .node("big", cpu=4)
        .job("gang", groups=groups, topology=[lie("host", "different")])
    )
    assert cluster.plan().places("gang")[0] == "big"


@pytest.mark.covers("prio-3")
def test_nobody_evicts_its_own_partner() -> None:
    cluster = (
        Cluster()
        .node("n1", cpu=2)
        .running("partner", on=["n1"], cpu=1, priority="low")
        .job("new", cpu=2, priority="high", template={"connect_to": "partner"})
    )
    plan = cluster.plan()
    assert plan.evicts() == []
    assert plan.places("new") == []


def test_a_partner_that_loses_a_spare_task_still_runs() -> None:
    cluster = (
        Cluster()
        .node("n1", cpu=3)
        .node("n2", cpu=1)
        .running("partner", on=["n1", "n1", "n1"], min_available=2, cpu=1, priority="low")
        .job("urgent", cpu=1, priority="critical", spec={"node_name": "n1"})
        .job("friend", cpu=1, template={"connect_to": "partner"})
    )
    plan = cluster.plan()
    assert plan.evicts("partner") == ["n1"]
    assert plan.places("friend") == ["n2"]


@pytest.mark.covers("prio-3")
def test_a_gang_that_can_spare_any_task_loses_only_the_one_in_the_way() -> None:
    cluster = (
        Cluster()
        .node("n1", memory="4Gi")
        .node("n2", memory="8Gi", taints=["mine:NoSchedule"])
        .running(
            "old", on=["n1", "n2", "n2"], min_available=2, memory="4Gi", priority="low", tolerates=["mine"]
        )
        .job("new", memory="1Gi", priority="high")
    )
    assert cluster.plan().evicts("old") == ["n1"]


@pytest.mark.covers("prio-5")
def test_quota_goes_to_those_tasks_of_a_gang_that_can_start() -> None:
    tenant = TenantPolicy("default", quota=Quota((("cpu", 3000),)))
    groups = [tasks(1, cpu=3, storage="60Gi"), tasks(1, cpu=3)]
    cluster = Cluster().nodes("n1 n2", cpu=4).job("gang", groups=groups, min_available=1)
    assert cluster.plan(policy(tenants=[tenant])).places("gang") == ["n1"]


@pytest.mark.covers("prio-5", "why-1")
def test_a_quota_that_allows_the_small_tasks_of_a_gang_is_not_beyond_reach() -> None:
    tenants = [TenantPolicy("default", quota=Quota((("cpu", 1000),)))]
    groups = [tasks(1, cpu=1), tasks(2, cpu=0.5)]
    cluster = Cluster().nodes("n1 n2", cpu=4).job("gang", groups=groups, min_available=2)
    assert cluster.plan(policy(tenants=tenants)).places("gang") == ["n1", "n2"]


@pytest.mark.covers("prio-5", "why-1")
def test_the_rest_of_a_gang_that_the_quota_keeps_back_says_so() -> None:
    tenant = TenantPolicy("default", quota=Quota((("cpu", 1000),)))
    groups = [tasks(1, spec={"pools": ("nowhere",)}), tasks(2, cpu=1)]
    cluster = Cluster().node("n1", cpu=4).job("gang", groups=groups, min_available=1)
    plan = cluster.plan(policy(tenants=[tenant]))
    assert plan.places("gang") == ["n1"]
    assert GangLacksRoom not in plan.reasons("gang")


@pytest.mark.covers("prio-3")
def test_the_spare_task_of_a_gang_stays_when_the_preemptor_has_several_kinds_of_tasks() -> None:
    cluster = (
        Cluster()
        .node("n4", extended={"licence": 1})
        .node("n5")
        .running(
            "old",
            on=["n4", "n5"],
            groups=[tasks(1, extended={"licence": 1}), tasks(1)],
            min_available=1,
            priority="low",
        )
        .job("new", groups=[tasks(1, extended={"licence": 1}), tasks(1, cpu=2)], min_available=1)
    )
    assert cluster.plan().evicts("old") == ["n4"]


@pytest.mark.covers("prio-1", "prio-5")
def test_who_evicts_by_its_class_preempts_and_does_not_take_back() -> None:
    tenant = TenantPolicy("p/ada", quota=Quota((("cpu", 3000),)))
    rules = replace(policy(tenants=[tenant]), fair_share=FairShare(tenants=(tenant,), reclaim=Reclaim.NEVER))
    cluster = (
        Cluster()
        .node("n4", cpu=4)
        .running("old", on=["n4", "n4"], cpu=2, template={"project": "p", "user": "ada"})
        .job("new", cpu=3, priority="critical")
    )
    assert {one.cause for one in cluster.plan(rules).plan.evictions} == {EvictionCause.PREEMPTED}


@pytest.mark.covers("why-1")
@pytest.mark.parametrize("rule", [lie("zone", "same"), lie("zone", "count", 2)])
def test_no_domain_is_never_also_for_several_kinds_of_tasks(rule: TopologyRule) -> None:
    groups = [tasks(1), tasks(2)]
    cluster = Cluster().node("n").node("m", ready=False).job("gang", groups=groups, topology=[rule])
    assert cluster.plan().waits("gang").kind is Kind.NEVER


@pytest.mark.covers("decide-4", "gang-2")
def test_tasks_that_find_company_in_others_of_the_same_gang_start_along() -> None:
    groups = [
        tasks(1, memory="1Gi", labels=WEB, affinity=[near("zone", "app In web")]),
        tasks(1, memory="1Gi", labels=WEB),
    ]
    cluster = (
        Cluster()
        .node("small", zone="a")
        .node("large", zone="b", memory="8Gi")
        .running("other", on=["small"], labels=WEB)
        .job("gang", groups=groups, min_available=1)
    )
    assert cluster.plan().places("gang") == ["large", "large"]


@pytest.mark.covers("decide-4", "gang-1")
def test_company_of_the_same_gang_is_sought_where_the_others_can_follow() -> None:
    groups = [tasks(1, affinity=[near("zone", "app In web")]), tasks(2, labels=WEB)]
    cluster = Cluster().node("nowhere").offer("cloud", limit=2, zone="b").job("gang", groups=groups)
    assert cluster.plan().places("gang")[0] in ("cloud#0", "cloud#1")


@pytest.mark.covers("prio-5", "why-1")
def test_a_quota_is_not_beyond_reach_while_other_tasks_of_the_gang_only_wait_for_room() -> None:
    tenant = TenantPolicy("q", quota=Quota((("gpu", 1000),)))
    groups = [tasks(1, storage="60Gi"), tasks(1, gpu=2)]
    cluster = (
        Cluster()
        .node("n", storage="100Gi", gpus=4)
        .running("other", on=["n"], storage="60Gi")
        .job("gang", groups=groups, min_available=1, template={"project": "q"})
    )
    assert cluster.plan(policy(tenants=[tenant])).waits("gang").kind is Kind.NOT_NOW


@pytest.mark.covers("prio-3")
def test_a_partner_of_a_job_that_just_started_is_not_evicted() -> None:
    cluster = (
        Cluster()
        .node("n", cpu=4)
        .running("partner", on=["n"], cpu=2, priority="low")
        .job("friend", cpu=2, priority="high", template={"connect_to": "partner"})
        .job("later", cpu=2)
    )
    plan = cluster.plan()
    assert plan.places("friend") == ["n"]
    assert plan.evicts() == []


@pytest.mark.covers("prio-3")
def test_who_was_chosen_first_stays_if_those_chosen_later_make_room_enough() -> None:
    cluster = (
        Cluster()
        .nodes("n0 n4", cpu=2)
        .node("n2", cpu=4, slots=2)
        .running("gang", on=["n4", "n0"], cpu=2, priority="low")
        .running("full", on=["n2"], cpu=2, template={"preemptible": False})
        .running("small", on=["n2"], priority="low", started=-60)
        .job("new", tasks=2, cpu=1, priority="high")
    )
    assert cluster.plan(policy("bin-packing")).evicts() == ["gang"]


@pytest.mark.covers("prio-1", "decide-4")
def test_who_lacks_company_and_room_is_asked_again_when_company_comes() -> None:
    cluster = (
        Cluster()
        .node("n", memory="8Gi")
        .running("old", on=["n"], memory="8Gi", priority="low")
        .job("urgent", memory="4Gi", priority="critical", affinity=[near("host", "app In web")])
        .job("company", labels=WEB)
    )
    plan = cluster.plan()
    assert plan.places("urgent") == ["n"]
    assert plan.evicts() == ["old"]


@pytest.mark.covers("prio-5")
def test_quota_is_given_to_the_tasks_that_ask_least_of_what_is_limited() -> None:
    tenant = TenantPolicy("default", quota=Quota((("cpu", 2000),)))
    groups = [tasks(1, cpu=1.5), tasks(2, cpu=1, memory="4Gi")]
    cluster = Cluster().node("n", cpu=3, memory="8Gi").job("gang", groups=groups, min_available=2)
    assert cluster.plan(policy(tenants=[tenant])).places("gang") == ["n", "n"]


@pytest.mark.covers("decide-4", "gang-1")
def test_a_gang_makes_its_own_company_on_a_node_that_would_not_be_the_first_choice() -> None:
    port = {"ports": (HostPort(80),)}
    groups = [tasks(1, labels=WEB, affinity=[near("host", "app In web")], spec=port), tasks(1, labels=WEB)]
    cluster = (
        Cluster()
        .node("n1")
        .offer("cloud", limit=1)
        .running("other", on=["n1"], labels=WEB, spec=port)
        .job("gang", groups=groups)
    )
    assert cluster.plan().places("gang") == ["cloud#0", "cloud#0"]


@pytest.mark.covers("prio-3", "prio-5")
def test_what_holds_nothing_of_a_quota_is_not_evicted_for_it() -> None:
    tenant = TenantPolicy("default", quota=Quota((("cpu", 2000),)))
    cluster = (
        Cluster()
        .node("n", cpu=4)
        .running("old", on=["n", "n"], groups=[tasks(1, cpu=1), tasks(1)], min_available=1, priority="low")
        .job("new", cpu=1.5)
    )
    plan = cluster.plan(policy(tenants=[tenant])).plan
    assert [(one.job, one.rank) for one in plan.evictions] == [("old", 0)]


@pytest.mark.covers("decide-4", "why-1")
def test_who_needs_company_on_another_node_of_the_zone_may_have_it_from_its_own_gang() -> None:
    terms = [near("zone", "app In web"), apart("host", "app In web")]
    groups = [tasks(1, affinity=terms), tasks(1, labels=WEB)]
    cluster = (
        Cluster()
        .node("b1", zone="b")
        .offer("cloud", limit=2, zone="a")
        .job("gang", groups=groups, topology=[lie("zone", "same")])
    )
    assert sorted(cluster.plan().places("gang")) == ["cloud#0", "cloud#1"]


@pytest.mark.covers("prio-2", "prio-5", "gang-1")
def test_a_gang_that_gives_way_to_a_quota_keeps_what_it_needs_or_nothing() -> None:
    tenant = TenantPolicy("default", quota=Quota((("memory", 16 << 30),)))
    cluster = (
        Cluster()
        .node("n1", memory="4Gi")
        .node("n3", memory="8Gi", taints=["mine:NoSchedule"])
        .node("n5", memory="2Gi")
        .running("full", on=["n3"] * 3, memory="2Gi", template={"preemptible": False})
        .running("old", on=["n1", "n1", "n3"], min_available=2, memory="2Gi", priority="low")
        .job("new", tasks=3, memory="2Gi", priority="high")
    )
    plan = cluster.plan(policy(tenants=[tenant]))
    assert len(plan.evicts("old")) in (0, 1, 3)


@pytest.mark.covers("prio-3", "decide-4")
def test_nobody_is_evicted_for_a_gang_that_fits_as_it_is() -> None:
    groups = [tasks(1, labels=WEB), tasks(2, memory="2Gi", labels=WEB, affinity=[near("host", "app In web")])]
    cluster = (
        Cluster()
        .node("n1", memory="4Gi")
        .offer("cloud", memory="4Gi")
        .running("old", on=["n1"], memory="1Gi", labels=WEB, priority="low")
        .job("gang", groups=groups, priority="high")
    )
    plan = cluster.plan()
    assert plan.evicts() == []
    assert len(plan.places("gang")) == 3


@pytest.mark.covers("prio-3", "prio-5")
def test_nobody_is_evicted_for_a_quota_that_evictions_for_room_make_anyway() -> None:
    tenants = [
        TenantPolicy("p", quota=Quota((("cpu", 2000),))),
        TenantPolicy("default", quota=Quota((("cpu", 4000),))),
    ]
    cluster = (
        Cluster()
        .node("n1", cpu=4)
        .node("n6", cpu=3, zone="b")
        .running("in-the-way", on=["n6"], cpu=3)
        .running("elsewhere", on=["n1"], cpu=2.5, priority="low")
        .job("new", tasks=2, min_available=1, cpu=2, priority="high", topology=[lie("zone", "same")])
    )
    assert cluster.plan(policy(tenants=tenants)).evicts() == ["in-the-way"]


@pytest.mark.covers("prio-5")
def test_what_a_tenant_does_not_lend_is_free_to_it_though_others_hold_too_much() -> None:
    own = TenantPolicy("q", quota=Quota((("cpu", 3000),), lendable=()))
    cluster = (
        Cluster()
        .node("n", cpu=8)
        .running("too-much", on=["n"] * 3, min_available=1, cpu=2)
        .job("new", cpu=0.5, template={"project": "q"})
    )
    plan = cluster.plan(policy(tenants=[own, TenantPolicy("default", quota=Quota((("cpu", 2000),)))]))
    assert plan.places("new") == ["n"]
    assert plan.evicts() == []


def test_a_domain_counts_as_room_also_where_only_the_job_itself_opens_its_nodes() -> None:
    cluster = (
        Cluster()
        .node("a1", zone="a", slots=2)
        .node("a2", zone="a", slots=1)
        .running("other", on=["a1"], labels=WEB)
        .job(
            "gang", tasks=2, labels=WEB, spread=[spread("host", "app In web")], topology=[lie("zone", "same")]
        )
    )
    assert sorted(cluster.plan().places("gang")) == ["a1", "a2"]


@pytest.mark.covers("prio-5", "gang-2")
def test_the_quota_that_evictions_leave_lets_more_of_the_gang_start() -> None:
    tenant = TenantPolicy("default", quota=Quota((("cpu", 2000),)))
    cluster = (
        Cluster()
        .node("n", cpu=4, memory="4Gi")
        .running("old", on=["n"], cpu=2, memory="4Gi", priority="low")
        .job("new", groups=[tasks(1, memory="2Gi"), tasks(1, cpu=1)], min_available=1)
    )
    assert cluster.plan(policy(tenants=[tenant])).places("new") == ["n", "n"]


@pytest.mark.covers("prio-3", "prio-5")
def test_a_gang_goes_on_without_its_large_task_if_its_small_ones_are_enough() -> None:
    tenant = TenantPolicy("default", quota=Quota((("cpu", 2000),)))
    cluster = (
        Cluster()
        .node("n", cpu=4)
        .running(
            "old", on=["n"] * 3, groups=[tasks(1, cpu=1), tasks(2, cpu=0.5)], min_available=2, priority="low"
        )
        .job("new", tasks=2, cpu=0.5)
    )
    plan = cluster.plan(policy(tenants=[tenant])).plan
    assert [(one.job, one.rank) for one in plan.evictions] == [("old", 0)]


@pytest.mark.covers("decide-4", "gang-2")
def test_tasks_start_along_where_others_of_the_same_gang_open_a_domain() -> None:
    terms = [near("zone", "app In web"), apart("host", "app In web")]
    groups = [tasks(1, cpu=2, labels=WEB, affinity=terms), tasks(1, cpu=1, labels=WEB)]
    rules = [lie("zone", "same"), lie("host", "different")]
    cluster = (
        Cluster()
        .node("full", slots=1, zone="b")
        .nodes("a1 a2", cpu=2, zone="a")
        .running("other", on=["full"], labels=WEB)
        .job("gang", groups=groups, min_available=1, topology=rules)
    )
    assert sorted(cluster.plan().places("gang")) == ["a1", "a2"]


@pytest.mark.covers("decide-4", "gang-2")
def test_tasks_start_along_where_others_of_the_same_gang_even_out_a_spread() -> None:
    groups = [
        tasks(1, cpu=2, spread=[spread("zone", "app In web")]),
        tasks(1, labels=WEB, selector={"zone": "b"}),
    ]
    cluster = (
        Cluster()
        .node("a", cpu=2, zone="a")
        .node("b", zone="b")
        .running("other", on=["a", "a"], labels=WEB)
        .job("gang", groups=groups, min_available=1)
    )
    assert cluster.plan().places("gang") == ["a", "b"]
