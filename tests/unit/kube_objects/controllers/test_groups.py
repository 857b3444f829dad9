"""Volcano's Jobs, Kueue's Workloads and LeaderWorkerSets: pods of them start together."""

import pytest

from rota.model.job import JobRecord
from tests.unit.kube_objects.controllers.objects import TEMPLATE, workload
from tests.unit.kube_objects.reading import jobs, pod, refusal

pytestmark = pytest.mark.covers("first-5")


def together(record: JobRecord) -> tuple[int, int]:
    """How many of how many."""
    return record.job.template.min_count, record.job.template.task_count


class TestVolcano:
    TASKS = f"tasks: [{{name: ps, template: {TEMPLATE}}}, {{replicas: 3, template: {TEMPLATE}}}]"

    def job(self, more: str = "", *others: str, status: str = "") -> dict[str, JobRecord]:
        manifest = workload("batch.volcano.sh/v1alpha1", "Job", f"{self.TASKS}\n{more}", status=status)
        return jobs(manifest, *others)

    def test_all_or_as_many_as_it_says(self) -> None:
        assert together(self.job()["ml/web"]) == (4, 4)
        record = self.job("minAvailable: 2")["ml/web"]
        assert together(record) == (2, 4)
        assert set(record.job.task_names) == {
            "ml/web-ps-0",
            "ml/web-default1-0",
            "ml/web-default1-1",
            "ml/web-default1-2",
        }

    def test_more_than_there_are_cannot_start_together(self) -> None:
        manifest = workload("batch.volcano.sh/v1alpha1", "Job", f"{self.TASKS}\nminAvailable: 5")
        assert "spec.minAvailable: 5 pods are to start together, and its tasks have 4" in str(
            refusal(manifest)
        )

    def test_two_tasks_of_one_name_would_make_pods_of_one_name(self) -> None:
        twice = f"tasks: [{{name: a, template: {TEMPLATE}}}, {{name: a, template: {TEMPLATE}}}]"
        said = str(refusal(workload("batch.volcano.sh/v1alpha1", "Job", twice)))
        assert "spec.tasks[1].name: another task is named a" in said

    def test_a_cron_job_makes_a_job_as_if_it_were_due(self) -> None:
        def cron(more: str = "") -> dict[str, JobRecord]:
            spec = f"schedule: '* * * * *'\n{more}\njobTemplate: {{spec: {{{self.TASKS}, minAvailable: 2}}}}"
            return jobs(workload("batch.volcano.sh/v1alpha1", "CronJob", spec))

        assert together(cron()["ml/web"]) == (2, 4)
        assert not cron("suspend: true")

    def test_pods_that_are_there_count(self) -> None:
        found = self.job("minAvailable: 3", pod("web-ps-0", "nodeName: n1", namespace="ml"))
        assert together(found["ml/web"]) == (2, 3)

    def test_its_priority_is_that_of_its_pods(self) -> None:
        urgent = "{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: urgent}, value: 7}"
        assert self.job("priorityClassName: urgent", urgent)["ml/web"].job.template.priority == 7

    def test_what_has_ended_makes_no_pods(self) -> None:
        assert self.job(status="{state: {phase: Completed}}") == {}
        assert self.job(status="{state: {phase: Pending}}") != {}

    def test_a_batch_job_of_the_same_name_is_another(self) -> None:
        batch = workload("batch/v1", "Job", f"template: {TEMPLATE}")
        assert sorted(self.job("", batch)) == ["ml/job:web", "ml/web"]

    def test_who_names_a_gang_by_the_label_means_that_one(self) -> None:
        labelled = TEMPLATE.replace("app: web", "batch.scheduling.k8s.io/gang: all")
        manifests = [
            workload("batch.volcano.sh/v1alpha1", "Job", f"tasks: [{{template: {labelled}}}]", name=name)
            for name in "ab"
        ]
        assert together(jobs(*manifests)["ml/gang:all"]) == (2, 2)


class TestWorkload:
    def workload(self, sets: str, more: str = "", status: str = "") -> dict[str, JobRecord]:
        return jobs(
            workload("kueue.x-k8s.io/v1beta1", "Workload", f"podSets: [{sets}]\n{more}", status=status)
        )

    def test_all_its_pods_start_together(self) -> None:
        sets = f"{{name: a, count: 2, template: {TEMPLATE}}}, {{name: b, count: 1, template: {TEMPLATE}}}"
        assert together(self.workload(sets)["ml/web"]) == (3, 3)
        assert together(self.workload(sets.replace("count: 2", "count: 2, minCount: 1"))["ml/web"]) == (2, 3)

    @pytest.mark.parametrize(
        ("more", "status"),
        [
            ("active: false", ""),
            ("", '{conditions: [{type: Admitted, status: "True"}]}'),
            ("", '{conditions: [{type: Finished, status: "True"}]}'),
        ],
    )
    def test_what_is_not_to_come(self, more: str, status: str) -> None:
        assert self.workload(f"{{count: 2, template: {TEMPLATE}}}", more, status) == {}


class TestLeaderWorkerSet:
    def test_each_replica_starts_as_one(self) -> None:
        leader = TEMPLATE.replace("cpu: 2", "cpu: 1")
        template = f"leaderWorkerTemplate: {{size: 3, leaderTemplate: {leader}, workerTemplate: {TEMPLATE}}}"
        found = jobs(workload("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", f"replicas: 2\n{template}"))
        assert sorted(found) == ["ml/web-0", "ml/web-1"]
        record = found["ml/web-1"]
        assert together(record) == (3, 3)
        assert set(record.job.task_names) == {"ml/web-1", "ml/web-1-1", "ml/web-1-2"}
        asked = sorted(group.spec.requests.cpu_milli for group in record.job.template.groups)
        assert set(asked) == {1000, 2000}
        labels = [dict(group.spec.labels) for group in record.job.template.groups]
        assert {one["leaderworkerset.sigs.k8s.io/worker-index"] for one in labels} == {"0", "1", "2"}
        assert {one["leaderworkerset.sigs.k8s.io/group-index"] for one in labels} == {"1"}

    def test_a_few_digits_do_not_make_a_million_million_pods(self) -> None:
        template = f"leaderWorkerTemplate: {{size: 1000000, workerTemplate: {TEMPLATE}}}"
        manifest = workload(
            "leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", f"replicas: 1000000\n{template}"
        )
        assert refusal(manifest).field == "spec.replicas"
