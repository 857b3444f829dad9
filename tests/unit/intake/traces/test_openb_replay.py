"""openb's lists as a workload and a machine: what is read, and what is refused with its place."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from rota.intake.errors import InputError
from rota.intake.kubernetes import Note
from rota.intake.traces.files import read_machine, read_workload
from rota.model.cluster import ClusterRecords
from rota.model.node import Gpus
from rota.model.resources import GpuRequest
from rota.model.workload import RecordedEnd
from tests.unit.intake.traces.reading import by_id, left_out, read, refusal

DATA = Path(__file__).parents[3] / "data" / "openb"
NODES = "sn,cpu_milli,memory_mib,gpu,model\nn0,96000,393216,8,G2\nn1,8000,32768,0,\n"
HEADER = (
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,"
    "creation_time,deletion_time,scheduled_time\n"
)
PODS = (
    HEADER
    + """\
share,3152,1024,1,810,,LS,Running,100,400,160
whole,88000,2048,8,1000,G3|G2,BE,Succeeded,200,900,200
early,8000,100,0,0,,LS,Failed,50,60,50
gone,3152,1024,1,810,,LS,Pending,300,330,
stays,8000,100,0,0,,BE,Running,400,,410
"""
)


def ignore(note: Note) -> None:
    pass


def machine(folder: Path, text: str | bytes, name: str = "nodes.csv") -> ClusterRecords:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return read_machine(path, on_note=ignore)


class TestPods:
    def test_arrive_when_they_were_created_and_run_until_they_were_deleted(self, tmp_path: Path) -> None:
        jobs = by_id(read(tmp_path, PODS, "pods.csv"))
        share = jobs["share"]
        assert (share.arrival_ms, share.waited_ms, share.run_ms) == (100_000, 60_000, 240_000)
        assert share.job.submitted_ms == share.arrival_ms
        assert share.job.template.time_limit_ms is None

    def test_ask_for_shares_and_models(self, tmp_path: Path) -> None:
        jobs = by_id(read(tmp_path, PODS, "pods.csv"))
        specs = {name: one.job.template.groups[0].spec for name, one in jobs.items()}
        assert specs["share"].gpu == GpuRequest(1, 810)
        assert specs["whole"].gpu == GpuRequest(8, 1000, ("G3", "G2"))
        assert specs["early"].gpu == GpuRequest()
        assert specs["whole"].requests.cpu_milli == 88000
        assert specs["whole"].requests.memory_bytes == 2048 * 2**20

    def test_end_as_their_phase_says(self, tmp_path: Path) -> None:
        jobs = by_id(read(tmp_path, PODS, "pods.csv"))
        assert {name: one.outcome for name, one in jobs.items()} == {
            "early": RecordedEnd.FAILED,
            "share": RecordedEnd.UNKNOWN,
            "whole": RecordedEnd.COMPLETED,
            "gone": RecordedEnd.CANCELLED,
            "stays": RecordedEnd.UNKNOWN,
        }

    def test_that_were_never_scheduled_leave_when_they_did(self, tmp_path: Path) -> None:
        workload = read(tmp_path, PODS, "pods.csv")
        gone = by_id(workload)["gone"]
        assert gone.cancelled_waiting
        assert gone.waited_ms == 30_000
        assert (left_out(workload, "never scheduled").count, left_out(workload, "never").first_line) == (1, 5)

    def test_that_outlived_the_trace_end_with_it(self, tmp_path: Path) -> None:
        workload = read(tmp_path, PODS, "pods.csv")
        assert by_id(workload)["stays"].run_ms == (900 - 410) * 1000
        assert (left_out(workload, "outlived").count, left_out(workload, "outlived").first_line) == (1, 6)

    def test_that_neither_ran_nor_left_wait_until_the_end(self, tmp_path: Path) -> None:
        workload = read(tmp_path, PODS.replace("300,330,", "300,,"), "pods.csv")
        assert by_id(workload)["gone"].waited_ms == 600_000

    def test_are_sorted_by_arrival_and_that_is_told(self, tmp_path: Path) -> None:
        workload = read(tmp_path, PODS, "pods.csv")
        assert [one.job.id for one in workload.jobs] == ["early", "share", "whole", "gone", "stays"]
        note = left_out(workload, "sorted by creation_time")
        assert (note.count, note.first_line) == (1, 4)

    def test_alike_share_a_template(self, tmp_path: Path) -> None:
        jobs = by_id(read(tmp_path, PODS, "pods.csv"))
        assert jobs["share"].job.template is jobs["gone"].job.template
        assert jobs["early"].job.template != jobs["stays"].job.template
        assert jobs["early"].job.template.labels == (("qos", "LS"),)

    def test_without_phase_and_qos(self, tmp_path: Path) -> None:
        text = (
            "name,cpu_milli,memory_mib,num_gpu,gpu_milli,creation_time,deletion_time,scheduled_time\r\n"
            "a,1,1,0,0,5,9,6"
        )
        [one] = read(tmp_path, gzip.compress(text.encode()), "pods.csv.gz").jobs
        assert (one.run_ms, one.outcome, one.job.template.labels) == (3000, RecordedEnd.UNKNOWN, ())

    def test_an_excerpt_of_the_trace(self) -> None:
        workload = read_workload(DATA / "pods.csv")
        assert len(workload.jobs) == 204
        assert workload.name == "pods"


@pytest.mark.covers("ops-3")
class TestBadPods:
    @pytest.mark.parametrize(
        ("old", "new", "line", "column", "field", "words"),
        [
            ("410\n", "", 6, 37, "scheduled_time", "is missing, though the pod is Running"),
            (",400,,410\n", ",40", 6, 34, "deletion_time", "has 9 of 11 columns"),
            ("100,400,160", "-100,400,160", 2, 35, "creation_time", "not a whole number, 0 or more"),
            ("100,400,160", ",400,160", 2, 35, "creation_time", "not a whole number, 0 or more"),
            ("100,400,160", "100,soon,160", 2, 39, "deletion_time", "not a whole number, 0 or more"),
            ("100,400,160", "100,400,99", 2, 43, "scheduled_time", "99 is before creation_time, 100"),
            ("100,400,160", "100,150,160", 2, 39, "deletion_time", "150 is before scheduled_time, 160"),
            ("300,330,", "300,299,", 5, 38, "deletion_time", "299 is before creation_time, 300"),
            ("Succeeded", "Done", 3, 34, "pod_phase", '"Done" is not a phase'),
            ("early", "share", 4, 1, "name", "share is on line 2 already"),
            ("early", "", 4, 1, "name", "is empty"),
            ("1,810", "1,1810", 2, 19, "gpu_milli", "more than a whole GPU"),
            (",pod_phase", ",qos", 1, 54, "qos", "twice"),
        ],
    )
    def test_line_and_column(
        self, tmp_path: Path, old: str, new: str, line: int, column: int, field: str, words: str
    ) -> None:
        assert old in PODS
        error = refusal(tmp_path, PODS.replace(old, new, 1), "pods.csv")
        assert words in error.problem
        assert (error.line, error.column, error.field) == (line, column, field)

    def test_a_list_without_times(self, tmp_path: Path) -> None:
        error = refusal(tmp_path, "name,cpu_milli,memory_mib,num_gpu,gpu_milli\na,1,1,0,0\n", "pods.csv")
        assert (error.line, error.column, error.field) == (1, 44, "creation_time")
        assert "`rota sim openb`" in error.remedy

    def test_a_list_without_the_first_columns(self, tmp_path: Path) -> None:
        error = refusal(tmp_path, PODS.replace("memory_mib", "memory"), "pods.csv")
        assert (error.line, error.field) == (1, "memory_mib")

    def test_no_pods(self, tmp_path: Path) -> None:
        assert "no pods" in refusal(tmp_path, HEADER, "pods.csv").problem

    def test_nodes_instead(self, tmp_path: Path) -> None:
        error = refusal(tmp_path, NODES, "nodes.csv")
        assert "list of nodes" in error.problem
        assert "--cluster" in error.remedy


class TestAMachine:
    def test_of_openb_nodes(self, tmp_path: Path) -> None:
        first, second = machine(tmp_path, NODES).nodes
        assert (first.name, first.spec.gpus) == ("n0", Gpus(8, "G2"))
        assert first.spec.capacity.memory_bytes == 393216 * 2**20
        assert second.spec.gpus == Gpus()

    def test_packed(self, tmp_path: Path) -> None:
        assert len(machine(tmp_path, gzip.compress(NODES.encode()), "nodes.csv.gz").nodes) == 2

    def test_in_the_usual_form(self, tmp_path: Path) -> None:
        [node] = machine(tmp_path, "nodes: [{name: n, resources: {cpu: 4}}]", "cluster.yaml").nodes
        assert node.name == "n"

    @pytest.mark.covers("ops-3")
    @pytest.mark.parametrize(
        ("old", "new", "line", "column", "field"),
        [
            ("n1", "n0", 3, 1, "sn"),
            ("n1,8000,32768,0,\n", "n1,8000,32", 3, 11, "gpu"),
            (",model", "", 1, 28, "model"),
            ("96000", "-1", 2, 4, "cpu_milli"),
        ],
    )
    def test_bad_nodes(self, tmp_path: Path, old: str, new: str, line: int, column: int, field: str) -> None:
        with pytest.raises(InputError) as caught:
            machine(tmp_path, NODES.replace(old, new, 1))
        error = caught.value
        assert (error.line, error.column, error.field) == (line, column, field)
