"""Pods that start together: by a label, with a size by an annotation."""

import pytest

from rota.intake.kubernetes import GangKeys
from rota.model.job import JobRecord
from tests.unit.kube_objects.reading import jobs, node, pod, read, refusal

LABEL = "batch.scheduling.k8s.io/gang"
ANNOTATION = "batch.scheduling.k8s.io/min-available"


def member(
    name: str,
    spec: str = "",
    *,
    gang: str = "train",
    min_available: str | None = None,
    phase: str = "Pending",
    namespace: str = "ml",
    metadata: str = "",
) -> str:
    lines = [f"labels: {{{LABEL}: {gang}}}"]
    if min_available is not None:
        lines.append(f"annotations: {{{ANNOTATION}: {min_available}}}")
    if metadata:
        lines.append(metadata)
    return pod(name, spec, namespace=namespace, metadata="\n".join(lines), status=f"phase: {phase}")


def gang(*manifests: str) -> JobRecord:
    return jobs(*manifests)["ml/gang:train"]


@pytest.mark.covers("kube-2")
class TestOneJob:
    def test_is_made_of_the_pods_with_the_label(self) -> None:
        found = jobs(member("b"), member("a"), pod("c", namespace="ml"))
        assert sorted(found) == ["ml/c", "ml/gang:train"]
        job = found["ml/gang:train"].job
        assert job.task_names == ("ml/a", "ml/b")
        assert job.tasks_are_jobs
        assert job.template.task_count == job.template.min_count == 2

    def test_of_each_namespace_and_value(self) -> None:
        found = jobs(
            member("a"), member("a", namespace="other"), member("b", gang="eval"), member("c", gang="''")
        )
        assert sorted(found) == ["ml/c", "ml/gang:eval", "ml/gang:train", "other/gang:train"]

    def test_by_any_label_and_annotation(self) -> None:
        manifest = pod("a", metadata='labels: {example.com/group: x}\nannotations: {example.com/least: "1"}')
        keys = GangKeys(label="example.com/group", annotation="example.com/least")
        [record] = read(manifest, gang_keys=keys).records.jobs
        assert record.job.id == "shop/gang:x"

    def test_pods_that_ask_for_the_same_are_one_group_and_stand_together(self) -> None:
        big = "containers:\n- {name: main, resources: {requests: {cpu: 4}}}"
        job = gang(member("a"), member("b", big), member("c"), member("d", big)).job
        assert job.task_names == ("ml/a", "ml/c", "ml/b", "ml/d")
        assert [(group.count, group.spec.requests.cpu_milli) for group in job.template.groups] == [
            (2, 0),
            (2, 4000),
        ]

    def test_has_the_highest_priority_of_its_pods(self) -> None:
        job = gang(
            member("a", "priority: 5"),
            member("b", "priority: 50\npreemptionPolicy: Never"),
        ).job
        assert (job.template.priority, job.template.may_preempt) == (50, False)

    def test_is_as_old_as_its_first_pod(self) -> None:
        job = gang(
            member("a", metadata='creationTimestamp: "1970-01-01T00:02:00Z"'),
            member("b", metadata='creationTimestamp: "1970-01-01T00:01:00Z"'),
        ).job
        assert job.submitted_ms == 60_000


@pytest.mark.covers("kube-2", "gang-2")
class TestMinAvailable:
    @pytest.mark.parametrize(
        ("written", "min_count"),
        [('"1"', 1), ('"3"', 3), ("2", 2), ('"50%"', 2), ('"51%"', 3), ('"100%"', 4), ('"1%"', 1)],
    )
    def test_is_a_number_or_a_percentage_of_four_pods(self, written: str, min_count: int) -> None:
        assert (
            gang(*(member(name, min_available=written) for name in "abcd")).job.template.min_count
            == min_count
        )

    def test_one_pod_may_say_it_for_all(self) -> None:
        assert gang(member("a", min_available='"2"'), member("b"), member("c")).job.template.min_count == 2

    @pytest.mark.parametrize(
        "written", ['"0"', '"0%"', '"101%"', '"-1"', "some", '"1.5"', '""', "null", "[2]", "true", '"50 %x"']
    )
    def test_garbage_is_refused(self, written: str) -> None:
        error = refusal(member("a", min_available=written))
        assert error.field == f'metadata.annotations["{ANNOTATION}"]'
        assert error.line == 7
        assert error.remedy

    def test_more_than_the_gang_has_is_refused_with_a_remedy(self) -> None:
        error = refusal(member("a", min_available='"3"'), member("b", min_available='"3"'))
        assert error.problem == "3 pods are to start together, but the gang has 2"
        assert error.remedy == "give at most 2, or add the gang's other pods"
        assert error.field == f'metadata.annotations["{ANNOTATION}"]'

    def test_pods_that_disagree_are_both_named(self) -> None:
        error = refusal(member("a", min_available='"1"'), member("b", min_available='"50%"'))
        assert error.problem == "ml/b says 50%, but ml/a of the same gang says 1"

    def test_means_nothing_on_a_pod_of_no_gang(self) -> None:
        assert list(jobs(pod("a", metadata=f"annotations: {{{ANNOTATION}: nonsense}}"))) == ["shop/a"]


@pytest.mark.covers("kube-2", "gang-1")
class TestPartsOfAGang:
    def test_some_run_and_the_rest_wait(self) -> None:
        record = gang(node("n1"), member("a"), member("b", "nodeName: n1"), member("c", "nodeName: n1"))
        names = record.job.task_names
        assert [names[placement.rank] for placement in record.placements] == ["ml/b", "ml/c"]
        assert [names[rank] for rank in record.waiting_ranks()] == ["ml/a"]

    def test_pods_that_succeeded_count_as_started(self) -> None:
        record = gang(member("a", phase="Succeeded", min_available='"2"'), member("b", min_available='"2"'))
        assert [record.job.task_names[rank] for rank in record.done] == ["ml/a"]
        assert record.job.template.min_count == 2

    def test_pods_that_run_out_of_sight_count_as_started(self) -> None:
        record = gang(member("a", "nodeName: elsewhere"), member("b"))
        assert [record.job.task_names[rank] for rank in record.done] == ["ml/a"]

    def test_pods_that_failed_or_were_deleted_are_no_part_of_it(self) -> None:
        record = gang(
            member("a", phase="Failed"),
            member("b", metadata='deletionTimestamp: "2024-05-01T12:00:00Z"'),
            member("c"),
        )
        assert record.job.task_names == ("ml/c",)

    def test_a_gang_that_is_over_is_left_out(self) -> None:
        assert not jobs(member("a", phase="Succeeded"), member("b", phase="Failed"))

    def test_a_gated_pod_holds_the_gang_back(self) -> None:
        reading = read(
            node("n1"), member("a"), member("b", "schedulingGates: [{name: x}]"), member("c", "nodeName: n1")
        )
        [record] = reading.records.jobs
        assert record.job.task_names == ("ml/c",)
        assert {note.subjects for note in reading.notes} == {("ml/a",), ("ml/b",)}

    def test_unless_enough_of_the_others_can_start(self) -> None:
        record = gang(
            member("a", min_available='"2"'), member("b"), member("c", "schedulingGates: [{name: x}]")
        )
        assert record.job.task_names == ("ml/a", "ml/b")
        assert record.job.template.min_count == 2

    def test_a_gang_whose_failed_pod_is_not_yet_replaced_waits_without_error(self) -> None:
        three = '"3"'
        reading = read(
            node("n1"),
            member("a", "nodeName: n1", min_available=three, phase="Running"),
            member("b", min_available=three),
            member("c", min_available=three, phase="Failed"),
        )
        [record] = reading.records.jobs
        assert record.job.task_names == ("ml/a",)
        assert [note.subjects for note in reading.notes] == [("ml/b",)]
