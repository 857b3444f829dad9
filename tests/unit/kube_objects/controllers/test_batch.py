"""Batch Jobs: what they would still create waits."""

import pytest

from tests.unit.kube_objects.controllers.objects import TEMPLATE, made_by, workload
from tests.unit.kube_objects.reading import jobs, pod, refusal


def batch_job(
    spec: str = "", *, status: str = "{}", metadata: str = "", labels: str = "", annotations: str = ""
) -> str:
    return f"""
        apiVersion: batch/v1
        kind: Job
        metadata: {{name: sweep, namespace: ml, {metadata}}}
        spec:
          backoffLimit: 3
          {spec}
          template:
            metadata: {{labels: {{{labels}}}, annotations: {{{annotations}}}}}
            spec:
              restartPolicy: Never
              containers:
              - name: main
                resources: {{requests: {{cpu: 2}}}}
        status: {status}
    """


def owned(name: str, *, job: str = "sweep", uid: str = "u1", phase: str = "Running", more: str = "") -> str:
    return pod(
        name,
        namespace="ml",
        metadata=f"ownerReferences: [{{apiVersion: batch/v1, kind: Job, name: {job}, uid: {uid}}}]\n{more}",
        status=f"phase: {phase}",
    )


@pytest.mark.parametrize(
    ("spec", "status", "waiting"),
    [
        ("", "{}", 1),
        ("parallelism: 4", "{}", 4),
        ("parallelism: 4", "{succeeded: 1}", 0),
        ("{parallelism: 4, completions: 10}", "{}", 4),
        ("{parallelism: 4, completions: 10}", "{succeeded: 8}", 2),
        ("completions: 10", "{}", 1),
        ("{parallelism: 4, completions: 2}", "{}", 2),
        ("{parallelism: 0, completions: 2}", "{}", 0),
        ("{parallelism: 4, suspend: true}", "{}", 0),
        ("parallelism: 4", '{conditions: [{type: Complete, status: "True"}]}', 0),
        ("parallelism: 4", '{conditions: [{type: Failed, status: "True"}]}', 0),
        ("parallelism: 4", '{conditions: [{type: Suspended, status: "False"}]}', 4),
    ],
)
def test_as_many_as_it_would_have_run(spec: str, status: str, waiting: int) -> None:
    fields = spec.strip("{}").replace(", ", "\n          ")
    record = jobs(batch_job(fields, status=status)).get("ml/sweep")
    assert (record.job.template.task_count if record else 0) == waiting


def test_its_tasks_start_one_by_one_and_have_names() -> None:
    record = jobs(batch_job("parallelism: 3"))["ml/sweep"]
    assert record.job.task_names == ("ml/sweep-0", "ml/sweep-1", "ml/sweep-2")
    assert record.job.template.min_count == 1
    [group] = record.job.template.groups
    assert (group.count, group.spec.requests.cpu_milli) == (3, 2000)


def test_its_pods_bear_its_name() -> None:
    [group] = jobs(batch_job(labels="app: sweep"))["ml/sweep"].job.template.groups
    assert dict(group.spec.labels) == {
        "app": "sweep",
        "job-name": "sweep",
        "batch.kubernetes.io/job-name": "sweep",
    }


def test_a_template_may_name_the_node() -> None:
    manifest = batch_job().replace("restartPolicy: Never", "nodeName: n1")
    record = jobs(manifest)["ml/sweep"]
    assert record.job.template.groups[0].spec.node_name == "n1"
    assert not record.placements


class TestPodsOfItsOwn:
    """Those that are there already are jobs of their own."""

    def test_count_while_they_are_active(self) -> None:
        found = jobs(
            batch_job("parallelism: 5", metadata="uid: u1"),
            owned("sweep-x", phase="Pending"),
            owned("sweep-y", phase="Failed"),
            owned("sweep-z", phase="Pending", more='deletionTimestamp: "2024-05-01T12:00:00Z"'),
            owned("sweep-old", uid="u0"),
            owned("other-x", job="other"),
        )
        assert found["ml/sweep"].job.template.task_count == 4
        assert "ml/sweep-x" in found

    def test_are_told_by_name_where_the_job_has_no_uid(self) -> None:
        found = jobs(batch_job("parallelism: 2"), owned("sweep-x"), owned("sweep-y"))
        assert "ml/sweep" not in found

    def test_keep_their_names(self) -> None:
        found = jobs(
            batch_job("parallelism: 2"), pod("sweep-0", namespace="ml"), pod("sweep", namespace="ml")
        )
        assert found["ml/job:sweep"].job.task_names == ("ml/sweep-1", "ml/sweep-2")
        assert found["ml/sweep"].job.task_names == ("ml/sweep",)


@pytest.mark.covers("kube-2")
class TestGangs:
    GANG = "batch.scheduling.k8s.io/gang: train"

    def test_a_job_with_the_label_is_one_and_keeps_its_name(self) -> None:
        job = jobs(batch_job("parallelism: 4", labels=self.GANG))["ml/sweep"].job
        assert job.template.min_count == 4
        assert not job.tasks_are_jobs

    def test_with_a_size_by_the_annotation(self) -> None:
        job = jobs(
            batch_job(
                "parallelism: 4",
                labels=self.GANG,
                annotations='batch.scheduling.k8s.io/min-available: "50%"',
            )
        )["ml/sweep"].job
        assert job.template.min_count == 2

    def test_what_a_job_has_created_and_what_it_has_not_are_one_gang(self) -> None:
        found = jobs(
            batch_job("parallelism: 3", labels=self.GANG),
            owned("sweep-x", phase="Pending", more=f"labels: {{{self.GANG}}}"),
        )
        assert list(found) == ["ml/gang:train"]
        job = found["ml/gang:train"].job
        assert set(job.task_names) == {"ml/sweep-0", "ml/sweep-1", "ml/sweep-x"}
        assert job.template.min_count == 3


@pytest.mark.slow
def test_all_jobs_together_are_bounded() -> None:
    error = refusal(
        batch_job("parallelism: 600000"),
        batch_job("parallelism: 600000").replace("name: sweep", "name: again"),
    )
    assert error.field == "spec.parallelism"


@pytest.mark.parametrize(
    ("manifest", "field"),
    [
        (batch_job("parallelism: -1"), "spec.parallelism"),
        (batch_job("parallelism: 99999999999"), "spec.parallelism"),
        (batch_job("completions: all"), "spec.completions"),
        (batch_job().replace("cpu: 2", "cpu: -2"), "spec.template.spec.containers[0].resources.requests.cpu"),
        (
            batch_job(
                labels="batch.scheduling.k8s.io/gang: a",
                annotations="batch.scheduling.k8s.io/min-available: 0",
            ),
            'spec.template.metadata.annotations["batch.scheduling.k8s.io/min-available"]',
        ),
        (
            batch_job(
                labels="batch.scheduling.k8s.io/gang: a",
                annotations="batch.scheduling.k8s.io/min-available: 9",
            ),
            'spec.template.metadata.annotations["batch.scheduling.k8s.io/min-available"]',
        ),
        pytest.param(
            batch_job("parallelism: 1000000").replace("cpu: 2", "cpu: 1P"),
            "spec.template.spec",
            marks=pytest.mark.slow,
        ),
        ("{apiVersion: batch/v1, kind: Job, metadata: {name: a}, spec: {}}", "spec.template"),
    ],
)
def test_errors_name_the_field(manifest: str, field: str) -> None:
    assert refusal(manifest).field == field


@pytest.mark.covers("first-5")
def test_pods_of_an_indexed_job_know_their_index() -> None:
    found = jobs(batch_job("completionMode: Indexed\n          parallelism: 2\n          completions: 2"))
    labels = [dict(found[f"ml/sweep-{index}"].job.template.groups[0].spec.labels) for index in range(2)]
    assert [one["batch.kubernetes.io/job-completion-index"] for one in labels] == ["0", "1"]


@pytest.mark.covers("first-5")
class TestCronJob:
    def cron_job(self, more: str = "") -> str:
        job = f"{{spec: {{parallelism: 2, template: {TEMPLATE}}}}}"
        return workload("batch/v1", "CronJob", f'schedule: "0 0 * * *"\njobTemplate: {job}\n{more}')

    def test_is_read_as_if_it_were_due(self) -> None:
        assert jobs(self.cron_job())["ml/web"].job.template.task_count == 2

    def test_unless_it_is_suspended(self) -> None:
        assert jobs(self.cron_job("suspend: true")) == {}

    def test_what_it_made_before_is_another(self) -> None:
        earlier = workload("batch/v1", "Job", f"template: {TEMPLATE}", name="web-17", owner="CronJob web")
        assert sorted(jobs(self.cron_job(), earlier)) == ["ml/web", "ml/web-17"]


@pytest.mark.covers("first-5")
class TestJobSet:
    def job_set(self, more: str = "", status: str = "") -> str:
        job = f"{{spec: {{parallelism: 2, completions: 2, template: {TEMPLATE}}}}}"
        jobs_ = (
            f"replicatedJobs: [{{name: main, template: {job}}}, {{name: more, replicas: 2, template: {job}}}]"
        )
        return workload("jobset.x-k8s.io/v1alpha2", "JobSet", f"{jobs_}\n{more}", status=status)

    def test_all_its_jobs_start_together(self) -> None:
        template = jobs(self.job_set())["ml/web"].job.template
        assert (template.task_count, template.min_count) == (6, 6)
        names = {
            (dict(group.spec.labels)["jobset.sigs.k8s.io/replicatedjob-name"]) for group in template.groups
        }
        assert names == {"main", "more"}

    @pytest.mark.parametrize(
        ("more", "status"),
        [("suspend: true", ""), ("", '{conditions: [{type: Completed, status: "True"}]}')],
    )
    def test_what_is_not_to_come(self, more: str, status: str) -> None:
        assert jobs(self.job_set(more, status)) == {}

    def test_its_jobs_are_not_counted_twice(self) -> None:
        job = workload("batch/v1", "Job", f"template: {TEMPLATE}", name="web-main-0", owner="JobSet web")
        assert list(jobs(self.job_set(), job)) == ["ml/web"]

    def test_one_that_has_begun_is_left_to_itself(self) -> None:
        job = workload("batch/v1", "Job", f"template: {TEMPLATE}", name="web-main-0", owner="JobSet web")
        begun = made_by("Job web-main-0", "web-main-0-x")
        assert list(jobs(self.job_set(), job, begun)) == ["ml/web-main-0-x"]
