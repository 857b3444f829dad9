"""The entry for callers: files in either form, together; and the examples of the manual."""

import io
import re
from pathlib import Path

import pytest

from rota.intake.errors import InputError
from rota.intake.files import read_policy, read_records
from rota.intake.forms.blocks import Form
from rota.intake.forms.clusters import (
    ClusterForm,
    MaintenanceForm,
    NodeForm,
    OfferForm,
    QueueStateForm,
    ReservationForm,
    UsageForm,
)
from rota.intake.forms.jobs import (
    DependencyForm,
    GroupForm,
    InputFileForm,
    JobForm,
    PromiseForm,
    RetryForm,
    SubmittedForm,
    WarnForm,
)
from rota.intake.forms.policies import PolicyForm, QueueForm, RecoveryForm
from rota.intake.job_files import read_submission_file
from rota.intake.kubernetes import Note
from rota.model.cluster import ClusterRecords
from rota.model.policy import Policy, Strategy

MANUAL = Path(__file__).parents[3] / "docs" / "files.md"
NATIVE_CLUSTER = "nodes: [{name: n1, resources: {cpu: 8}}]"
NATIVE_JOBS = "jobs: [{name: j, resources: {cpu: 1}}]"
KUBE_NODES = """
apiVersion: v1
kind: Node
metadata: {name: k1}
status: {allocatable: {cpu: "8", pods: "10"}}
"""
KUBE_POD = """
apiVersion: v1
kind: Pod
metadata: {name: waits}
spec: {containers: [{name: c}]}
"""
KUBE_PODS = """
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Pod
  metadata: {name: waits}
  spec: {containers: [{name: c}]}
- apiVersion: v1
  kind: Pod
  metadata: {name: runs}
  spec: {nodeName: k1, containers: [{name: c}]}
  status: {phase: Running}
"""


class Files:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def write(self, name: str, text: str) -> Path:
        path = self._folder / name
        path.write_text(text)
        return path

    def read(self, cluster: str, jobs: str) -> ClusterRecords:
        return read_records(self.write("cluster.yaml", cluster), self.write("jobs.yaml", jobs))


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


def names(records: ClusterRecords) -> tuple[list[str], list[str]]:
    return [node.name for node in records.nodes], [record.job.id for record in records.jobs]


@pytest.mark.parametrize(
    ("cluster", "jobs", "wanted"),
    [
        (NATIVE_CLUSTER, NATIVE_JOBS, (["n1"], ["j"])),
        (KUBE_NODES, NATIVE_JOBS, (["k1"], ["j"])),
        (NATIVE_CLUSTER, KUBE_POD, (["n1"], ["default/waits"])),
        (KUBE_NODES, KUBE_PODS, (["k1"], ["default/waits", "default/runs"])),
        (f"{KUBE_NODES}---\n{KUBE_PODS}", NATIVE_JOBS, (["k1"], ["default/waits", "default/runs", "j"])),
        (f"{KUBE_NODES}---\n{NATIVE_CLUSTER}", NATIVE_JOBS, (["k1", "n1"], ["j"])),
        (NATIVE_CLUSTER, f"{NATIVE_JOBS}\n---\njobs: [{{name: k}}]", (["n1"], ["j", "k"])),
    ],
)
def test_each_file_may_be_of_either_form(
    files: Files, cluster: str, jobs: str, wanted: tuple[list[str], list[str]]
) -> None:
    assert names(files.read(cluster, jobs)) == wanted


def test_a_job_may_run_on_a_node_of_the_other_form(files: Files) -> None:
    records = files.read(
        KUBE_NODES, "jobs: [{name: j, running_on: k1, connect_to: default/runs}]\n---" + KUBE_PODS
    )
    placements = {record.job.id: record.placements for record in records.jobs}
    assert [placement.node for placement in placements["j"]] == ["k1"]  # type: ignore[index]


def test_one_file_for_both_is_read_once(files: Files) -> None:
    path = files.write("all.yaml", f"{KUBE_NODES}---\n{KUBE_PODS}")
    link = path.with_name("link.yaml")
    link.symlink_to(path)
    assert read_records(path, link) == read_records(path, path) == read_records(path)
    assert names(read_records(path)) == (["k1"], ["default/waits", "default/runs"])


def test_one_file_of_ours_for_both(files: Files) -> None:
    path = files.write("all.yaml", f"{NATIVE_CLUSTER}\n{NATIVE_JOBS}")
    assert names(read_records(path, path)) == (["n1"], ["j"])


def test_standard_input_for_both(monkeypatch: pytest.MonkeyPatch) -> None:
    text = f"{NATIVE_CLUSTER}\n{NATIVE_JOBS}".encode()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))
    assert names(read_records("-", "-")) == (["n1"], ["j"])


def test_a_name_that_kubernetes_has_already(files: Files) -> None:
    with pytest.raises(InputError, match='node named "k1" is in the Kubernetes manifests already'):
        files.read(f"{KUBE_NODES}---\nnodes: [{{name: k1, resources: {{}}}}]", NATIVE_JOBS)


def test_what_kubernetes_manifests_leave_out_is_told(files: Files) -> None:
    told: list[Note] = []
    service = "apiVersion: v1\nkind: Service\nmetadata: {name: web}"
    read_records(files.write("cluster.yaml", f"{KUBE_NODES}---\n{service}"), on_note=told.append)
    assert ["web" in str(note) for note in told] == [True]


def test_a_file_that_is_too_large(files: Files) -> None:
    path = files.write("cluster.yaml", NATIVE_CLUSTER)
    with pytest.raises(InputError, match="limit"):
        read_records(path, max_bytes=10)
    with pytest.raises(InputError, match="limit"):
        read_policy(path, max_bytes=10)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_records(tmp_path / "none.yaml", tmp_path / "nothing.yaml")


class TestPolicy:
    def test_without_a_file(self) -> None:
        assert read_policy(None) == Policy()

    def test_of_a_file(self, files: Files) -> None:
        [scheduler] = read_policy(files.write("policy.yaml", "strategy: bin-packing")).schedulers
        assert scheduler.selection.strategy is Strategy.BIN_PACKING

    def test_of_two_documents(self, files: Files) -> None:
        with pytest.raises(InputError, match=r"policy\.yaml:3: a policy is one document"):
            read_policy(files.write("policy.yaml", "strategy: bin-packing\n---\nname: x"))

    def test_of_an_unknown_plugin(self, files: Files) -> None:
        with pytest.raises(InputError, match=r"policy\.yaml:1: plugins\[0\]\.name: unknown plugin"):
            read_policy(files.write("policy.yaml", "plugins: [{name: x}]"), known_plugins=())


class TestManual:
    """docs/files.md is complete, and its examples can be read; a comment names the file each one is."""

    def test_its_examples(self, files: Files) -> None:
        marked = re.compile(r"```yaml\n# (\S+)\n(.*?)```", re.DOTALL)
        paths = {name: files.write(name, text) for name, text in marked.findall(MANUAL.read_text())}
        records = read_records(paths["cluster.yaml"], paths["jobs.yaml"])
        assert (len(records.nodes), len(records.offers), len(records.usage), len(records.jobs)) == (
            21,
            1,
            1,
            6,
        )
        calendar = records.calendar
        assert (len(calendar.maintenance), len(calendar.reservations), len(calendar.queues)) == (2, 2, 1)
        assert [record.job.id for record in records.jobs if record.promise] == ["review"]
        assert len(read_policy(paths["policy.yaml"]).fair_share.tenants) == 3

    def test_its_example_of_jobs_that_run(self, files: Files) -> None:
        [text] = re.findall(r"```yaml\n# submit.yaml\n(.*?)```", MANUAL.read_text(), re.DOTALL)
        path = files.write("submit.yaml", text)
        source = path.with_name("src") / "prepare.py"
        source.parent.mkdir()
        source.touch()
        job_file = read_submission_file(path)
        assert job_file.submission.job_count == 11
        assert [upload.path for upload in job_file.uploads] == [str(source)]

    @pytest.mark.parametrize(
        "form",
        [
            ClusterForm,
            NodeForm,
            OfferForm,
            UsageForm,
            MaintenanceForm,
            ReservationForm,
            QueueStateForm,
            JobForm,
            PromiseForm,
            GroupForm,
            SubmittedForm,
            InputFileForm,
            WarnForm,
            RetryForm,
            DependencyForm,
            PolicyForm,
            QueueForm,
            RecoveryForm,
        ],
    )
    def test_it_names_every_field(self, form: type[Form]) -> None:
        manual = MANUAL.read_text()
        assert [name for name in form.__struct_encode_fields__ if f"`{name}" not in manual] == []
