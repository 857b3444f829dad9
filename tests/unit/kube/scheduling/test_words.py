"""Reasons in the words of kube-scheduler."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from rota.kube.mirror.reasons import ClaimMissing, ClaimsUnbound, GangIncomplete
from rota.kube.scheduling.words import held_text, refused_text, unschedulable_text
from rota.kube_objects.pods import PodTask
from rota.model.ids import TaskName
from rota.model.reasons import Insufficient, NobodyToEvict, NoNodes, VolumeOutOfReach
from rota.model.task import VolumeTrouble
from rota.model.verdict import Kind, Reason, Refusal, Verdict
from rota.plugins.taints import UntoleratedTaint
from tests.reasons import EXAMPLES
from tests.unit.kube.pods import Told, pod

pytestmark = pytest.mark.covers("kube-7")


def read(policy: str | None = None) -> PodTask:
    told = Told()
    told.add(pod("p", preemptionPolicy=policy))
    told.mirror.settle(0.0)
    task = told.mirror.task(TaskName("default/p"))
    assert task is not None
    return task


def said(
    *refusals: tuple[int, Reason],
    nodes: int = 5,
    policy: str | None = None,
    still: Sequence[tuple[int, Reason]] = (),
) -> str:
    verdict, then = (tuple(Refusal(reason, count) for count, reason in some) for some in (refusals, still))
    return unschedulable_text(Verdict(Kind.NOT_NOW, verdict), read(policy), nodes, then)


def test_nodes_are_counted_by_reason_in_the_order_of_text() -> None:
    assert said((3, UntoleratedTaint("k", "v")), (2, Insufficient("cpu", 1))) == (
        "0/5 nodes are available: 2 Insufficient cpu, 3 node(s) had untolerated taint {k: v}. "
        "preemption: 0/5 nodes are available: 2 No preemption victims found for incoming pod, "
        "3 Preemption is not helpful for scheduling."
    )


def test_a_node_that_lacks_several_things_counts_for_each_and_once_for_preemption() -> None:
    text = said((5, Insufficient("cpu", 1, also=("memory", "slots", "storage"))))
    assert text == (
        "0/5 nodes are available: 5 Insufficient cpu, 5 Insufficient ephemeral-storage, "
        "5 Insufficient memory, 5 Too many pods. "
        "preemption: 0/5 nodes are available: 5 No preemption victims found for incoming pod."
    )


def test_what_would_still_be_in_the_way_without_others_is_told_of_preemption() -> None:
    lacking = Insufficient("cpu", 1)
    text = said((5, lacking), still=[(2, NobodyToEvict()), (1, Insufficient("cpu", 1, also=("memory",)))])
    assert text == (
        "0/5 nodes are available: 5 Insufficient cpu. preemption: 0/5 nodes are available: "
        "1 Insufficient cpu, 1 Insufficient memory, 2 No preemption victims found for incoming pod, "
        "2 Preemption is not helpful for scheduling."
    )


def test_who_has_room_made_for_it_is_told_why_it_had_to_be() -> None:
    verdict = Verdict(Kind.NOT_NOW, (Refusal(Insufficient("cpu", 1), 5),))
    assert refused_text(verdict, read(), 5) == "0/5 nodes are available: 5 Insufficient cpu."


def test_who_may_not_preempt_is_told_so() -> None:
    text = said((5, Insufficient("cpu", 1)), policy="Never")
    assert text.endswith("preemption: not eligible due to preemptionPolicy=Never.")


def test_no_nodes() -> None:
    assert said((0, NoNodes()), nodes=0) == "no nodes available to schedule pods"


def test_volumes_out_of_reach_and_none_for_others_are_both_named() -> None:
    text = said((5, VolumeOutOfReach((VolumeTrouble.UNBOUND,))))
    assert text.startswith(
        "0/5 nodes are available: 5 node(s) didn't find available persistent volumes to bind, "
        "5 node(s) didn't match PersistentVolume's node affinity. "
    )


@pytest.mark.parametrize("reason", EXAMPLES, ids=lambda reason: reason.code)
def test_every_reason_has_words(reason: Reason) -> None:
    if not isinstance(reason, NoNodes):
        assert said((5, reason)).startswith("0/5 nodes are available: 5 ")


def test_what_keeps_a_pod_from_being_decided_about() -> None:
    assert held_text(GangIncomplete("g", 2, 3), 5) == "gang g: 2 of 3 pods present; they start together"
    assert held_text(ClaimMissing("c"), 5) == (
        '0/5 nodes are available: persistentvolumeclaim "c" not found. '
        "preemption: 0/5 nodes are available: 5 Preemption is not helpful for scheduling."
    )
    assert held_text(ClaimMissing("c"), 5, may_preempt=False).endswith("preemptionPolicy=Never.")
    assert "unbound immediate PersistentVolumeClaims" in held_text(ClaimsUnbound(), 5)
