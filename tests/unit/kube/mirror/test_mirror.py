"""What informers tell, as records to decide with."""

from __future__ import annotations

import pytest

from rota.kube.mirror.gang_members import GANG_SETTLES_S
from rota.kube.mirror.reasons import (
    AwaitsVictims,
    ClaimMissing,
    GangIncomplete,
    Unusable,
)
from rota.model.ids import JobId, NodeName, TaskName
from tests.unit.kube.pods import Told, node, pod
from tests.unit.kube.storage import claim, pod_with, storage_class, volume

P, Q = TaskName("default/p"), TaskName("default/q")
GANG = JobId("default/gang:g")
LATER_S = GANG_SETTLES_S + 1


@pytest.fixture
def told() -> Told:
    made = Told()
    made.mirror.node_changed(None, node("n"))
    made.times = 0
    return made


def waiting(told: Told, at_s: float = 0.0) -> int:
    told.mirror.settle(at_s)
    return told.mirror.state.waiting_count


@pytest.mark.covers("kube-1")
class TestPods:
    def test_ours_wait(self, told: Told) -> None:
        told.add(pod("p"), pod("q", scheduler="another"))
        assert waiting(told) == 1
        assert told.mirror.state.has_job(JobId(P))

    def test_all_that_run_count(self, told: Told) -> None:
        told.add(pod("p", node="n"), pod("q", node="n", scheduler="another"))
        assert waiting(told) == 0
        assert told.mirror.state.running_count == 2

    @pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
    def test_those_that_have_ended_dont(self, told: Told, phase: str) -> None:
        running = pod("p", node="n")
        told.add(running)
        waiting(told)
        told.mirror.pod_changed(running, pod("p", node="n", phase=phase))
        told.mirror.settle(0.0)
        assert told.mirror.state.running_count == 0

    def test_what_is_gone_is_forgotten(self, told: Told) -> None:
        one = pod("p")
        told.add(one)
        waiting(told)
        told.mirror.pod_changed(one, None)
        assert waiting(told) == 0
        assert told.mirror.pod(P) is None

    def test_a_new_condition_is_no_reason_to_look_again(self, told: Told) -> None:
        before = pod("p")
        told.add(before)
        told.times = 0
        told.mirror.pod_changed(before, pod("p", phase="Pending"))
        assert told.times == 0

    def test_what_cant_be_read_is_held_with_the_field(self, told: Told) -> None:
        told.add(pod("p", cpu="many"))
        assert waiting(told) == 0
        hold = told.mirror.holds[P]
        assert isinstance(hold, Unusable)
        assert "many" in hold.problem


class TestNodes:
    def test_equal_news_of_a_node_are_none(self, told: Told) -> None:
        told.mirror.node_changed(node("n"), node("n"))
        assert told.times == 0

    def test_what_a_taint_drives_out_is_left_to_others(self, told: Told) -> None:
        taint = {"key": "k", "effect": "NoExecute", "timeAdded": "2000-01-01T00:00:00Z"}
        told.mirror.node_changed(node("n"), node("n", taints=[taint]))
        (found,) = told.mirror.state.records().nodes
        assert found.spec.taints[0].added_ms > 2**60, "never due"


class TestAssumed:
    def test_counts_until_it_is_seen_there(self, told: Told) -> None:
        one = pod("p")
        told.add(one)
        waiting(told)
        told.mirror.assume({P: NodeName("n")})
        assert waiting(told) == 0
        assert told.mirror.state.running_count == 1
        told.times = 0
        told.mirror.pod_changed(one, pod("p", node="n"))
        told.mirror.settle(0.0)
        assert told.times == 0, "that was known"
        assert told.mirror.state.running_count == 1

    def test_waits_again_when_forgotten(self, told: Told) -> None:
        told.add(pod("p"))
        told.mirror.assume({P: NodeName("n")})
        waiting(told)
        told.mirror.forget([P])
        assert waiting(told) == 1

    def test_is_where_it_was_seen_when_it_is_elsewhere(self, told: Told) -> None:
        one = pod("p")
        told.add(one)
        told.mirror.assume({P: NodeName("n")})
        told.mirror.pod_changed(one, pod("p", node="other"))
        told.mirror.forget([P])
        told.mirror.settle(0.0)
        (placement,) = told.mirror.state.record(JobId(P)).placements
        assert placement.node == "other"


@pytest.mark.covers("kube-2")
class TestGangs:
    def test_a_number_is_waited_for(self, told: Told) -> None:
        told.add(pod("p", gang="g", least="2"))
        assert waiting(told) == 0
        assert told.mirror.holds == {P: GangIncomplete("g", 1, 2)}
        told.add(pod("q", gang="g", least="2"))
        assert waiting(told) == 1
        assert not told.mirror.holds
        assert told.mirror.state.record(GANG).job.task_names == (P, Q)

    def test_without_a_number_it_is_complete_once_nobody_comes(self, told: Told) -> None:
        told.add(pod("p", gang="g"))
        assert told.mirror.settle(0.0) == GANG_SETTLES_S
        assert told.mirror.state.waiting_count == 0
        told.add(pod("q", gang="g"))
        assert told.mirror.settle(GANG_SETTLES_S / 2) == GANG_SETTLES_S
        assert told.mirror.state.waiting_count == 0
        assert told.mirror.settle(LATER_S + GANG_SETTLES_S) is None
        assert told.mirror.state.record(GANG).job.template.min_count == 2

    def test_of_other_schedulers_are_no_gangs_of_ours(self, told: Told) -> None:
        told.add(pod("p", gang="g", node="n", scheduler="another"), pod("q", gang="g", least="1"))
        waiting(told)
        assert told.mirror.state.record(GANG).job.task_names == (Q,)

    def test_an_annotation_that_cant_be_used_holds_nobody_up(self, told: Told) -> None:
        told.add(pod("p", gang="g", least="abc"))
        waiting(told)
        assert waiting(told, LATER_S) == 1
        misread = told.mirror.misreads[P]
        assert "abc" in misread.problem
        assert misread.assumed == "all pods of the gang start together"

    def test_what_is_wrong_with_others_pods_is_not_ours_to_tell(self, told: Told) -> None:
        told.add(pod("p", gang="g", least="abc", node="n", scheduler="another"))
        told.add(pod("q", gang="g", least="abc", node="n"))
        waiting(told)
        assert told.mirror.misreads == {}

    def test_two_values_count_as_the_larger(self, told: Told) -> None:
        told.add(pod("p", gang="g", least="1"), pod("q", gang="g", least="3"))
        assert waiting(told) == 0
        assert told.mirror.holds[P] == GangIncomplete("g", 2, 3)
        assert told.mirror.misreads[Q].assumed == "3"

    def test_is_gone_with_its_last_pod(self, told: Told) -> None:
        one = pod("p", gang="g", least="1")
        told.add(one)
        waiting(told)
        told.mirror.pod_changed(one, None)
        assert waiting(told) == 0
        assert not told.mirror.state.has_job(GANG)

    def test_bound_in_part_is_torn(self, told: Told) -> None:
        told.add(pod("p", gang="g", least="2", node="n"), pod("q", gang="g", least="2"))
        told.mirror.settle(0.0)
        assert told.mirror.torn == {GANG: (P,)}
        told.mirror.assume({Q: NodeName("n")})
        told.mirror.settle(0.0)
        assert not told.mirror.torn


class TestHolds:
    def test_a_claim_that_isnt_there(self, told: Told) -> None:
        told.mirror.pod_context.volumes.volume(None, volume("pv"))
        told.add(pod_with("p", "data"))
        assert waiting(told) == 0
        assert told.mirror.holds == {P: ClaimMissing("data")}
        told.mirror.pod_context.volumes.claim(None, claim("data", volume="pv"))
        assert waiting(told) == 1

    def test_volumes_that_others_were_given_in_the_same_cycle(self, told: Told) -> None:
        """Who comes second isn't assumed, and is decided about anew."""
        volumes = told.mirror.pod_context.volumes
        told.mirror.node_changed(None, node("n", host="n"))
        volumes.storage_class(None, storage_class("local"))
        volumes.volume(None, volume("pv", storage_class="local", on="n"))
        for name in "pq":
            volumes.claim(None, claim(f"data-{name}", storage_class="local"))
            told.add(pod_with(name, f"data-{name}"))
        assert waiting(told) == 2
        assert told.mirror.assume({P: NodeName("n")})
        assert not told.mirror.assume({Q: NodeName("n")})
        assert waiting(told) == 1
        told.mirror.forget([P])
        assert waiting(told) == 2
        assert told.mirror.assume({Q: NodeName("n")})

    def test_room_that_is_being_made_is_waited_for(self, told: Told) -> None:
        victim = pod("q", node="n", is_ending=True, priority=0)
        told.add(victim)
        told.mirror.settle(0.0)
        told.add(pod("p", nominated="n", priority=100))
        assert waiting(told) == 0
        assert told.mirror.holds == {P: AwaitsVictims(NodeName("n"))}
        told.mirror.pod_changed(victim, None)
        assert waiting(told) == 1
