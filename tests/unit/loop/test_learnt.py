"""What was learnt, written down and read back; and records of past jobs in its place."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from rota.forecast.estimator import Estimator, EstimatorState, PlannedStarts
from rota.intake.errors import InputError
from rota.loop.learnt import VERSION, ensure_writable, read_history, write_learnt
from rota.model.ids import JobId
from rota.model.job import Job, JobTemplate, TaskGroup
from rota.model.plan import Plan
from rota.model.policy import Policy
from rota.model.resources import Resources
from rota.model.task import TaskSpec
from rota.snapshot import snapshot_of
from tests.builders import Cluster

pytestmark = pytest.mark.covers("time-1")

MINUTE = 60_000
TEMPLATE = JobTemplate((TaskGroup(TaskSpec(Resources(cpu_milli=1000))),), time_limit_ms=60 * MINUTE)
TRACES = Path(__file__).parents[2] / "data" / "traces"
WORKLOAD = "workload: [{name: a, runs: 10m, time_limit: 1h, resources: {cpu: 1}}]"


def learnt() -> EstimatorState:
    """From a job that ended, one that started late, and one that still waits."""
    estimator = Estimator(lambda *_: PlannedStarts(10 * MINUTE))
    snapshot = snapshot_of(Cluster().node("n", cpu=4).records)
    for name in ("late", "waits"):
        estimator.waits(snapshot, Policy(), 0, Job(JobId(name), TEMPLATE), Plan())
    estimator.started(Job(JobId("late"), TEMPLATE), 90 * MINUTE)
    estimator.ended(Job(JobId("late"), TEMPLATE), 5 * MINUTE, 95 * MINUTE, completed=True)
    return estimator.state


def problem(path: Path, **options: Any) -> str:
    with pytest.raises(InputError) as raised:
        read_history(str(path), **options)
    assert raised.value.file == str(path)
    return str(raised.value).removeprefix(f"{path}")


class TestWhatWasWritten:
    def test_comes_back_without_those_who_still_wait(self, tmp_path: Path) -> None:
        path = tmp_path / "learnt.json"
        state = learnt()
        write_learnt(str(path), state)
        again = read_history(str(path))
        assert again == state.for_others()
        assert again.run_times.classes
        assert again.starts.bound.terms
        assert [one.name for one in tmp_path.iterdir()] == ["learnt.json"]

    def test_takes_the_place_of_what_was_there(self, tmp_path: Path) -> None:
        path = tmp_path / "learnt.json"
        write_learnt(str(path), learnt())
        write_learnt(str(path), EstimatorState())
        assert read_history(str(path)) == EstimatorState()

    def test_of_another_version(self, tmp_path: Path) -> None:
        path = tmp_path / "learnt.json"
        path.write_text(f'{{"rota_learnt": {VERSION + 1}, "anything": "else"}}')
        assert problem(path) == (
            f": has version {VERSION + 1} of the format of what was learnt; this Rota knows {VERSION};"
            " write it again: rota sim run … --estimates --learnt FILE"
        )

    @pytest.mark.parametrize("end", [-2, -40, 20])
    def test_cut_off(self, tmp_path: Path, end: int) -> None:
        path = tmp_path / "learnt.json"
        write_learnt(str(path), learnt())
        path.write_bytes(path.read_bytes()[:end])
        assert problem(path).startswith(": is damaged: ")

    @pytest.mark.parametrize(
        "content",
        [
            '{"rota_learnt": "one"}',
            '{"rota_learnt": 1}',
            '{"rota_learnt": 1, "sha256": "", "state": }',
            '{"rota_learnt": 1, "sha256": ' + "[" * 100_000,
        ],
    )
    def test_damaged(self, tmp_path: Path, content: str) -> None:
        path = tmp_path / "learnt.json"
        path.write_text(content)
        assert problem(path).startswith(": is damaged: ")

    def test_changed_by_hand(self, tmp_path: Path) -> None:
        path = tmp_path / "learnt.json"
        write_learnt(str(path), learnt())
        document = json.loads(path.read_bytes())
        document["state"]["run_times"]["share_of_limit"]["runs"]["total"] = 0
        path.write_text(json.dumps(document, indent=2))
        assert problem(path).startswith(": was changed after it was written; write it again")

    def test_larger_than_allowed(self, tmp_path: Path) -> None:
        path = tmp_path / "learnt.json"
        write_learnt(str(path), learnt())
        assert "more than the limit of 100 bytes; raise the limit" in problem(path, max_bytes=100)


class TestWriting:
    def test_a_folder(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="is a directory"):
            ensure_writable(str(tmp_path))

    def test_a_folder_that_is_missing(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="there is no such folder"):
            ensure_writable(str(tmp_path / "none" / "learnt.json"))

    def test_no_file(self) -> None:
        with pytest.raises(InputError, match="is not a regular file"):
            write_learnt("/dev/null", EstimatorState())

    def test_what_may_not_be_written(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("os.access", lambda *_: False)
        with pytest.raises(InputError, match="may not be written"):
            ensure_writable(str(tmp_path / "learnt.json"))

    def test_a_disk_that_is_full(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        path = tmp_path / "learnt.json"
        write_learnt(str(path), EstimatorState())

        def full(*_: object) -> int:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(Path, "write_bytes", full)
        with pytest.raises(InputError, match="can't be written: No space left"):
            write_learnt(str(path), learnt())
        assert read_history(str(path)) == EstimatorState()


class TestTraces:
    def test_their_run_times_are_learnt_and_nothing_of_starts(self, tmp_path: Path) -> None:
        path = tmp_path / "workload.yaml"
        path.write_text(WORKLOAD)
        state = read_history(str(path))
        assert set(Estimator(None, state).run_times(TEMPLATE)) == {10 * MINUTE}
        assert state.starts == EstimatorState().starts

    def test_packed(self, tmp_path: Path) -> None:
        path = tmp_path / "workload.yaml.gz"
        path.write_bytes(gzip.compress(WORKLOAD.encode()))
        assert read_history(str(path)).run_times.classes

    def test_what_was_left_out_is_told(self) -> None:
        notes: list[str] = []
        assert read_history(str(TRACES / "sacct.txt"), on_note=notes.append).run_times.classes
        assert any(note.startswith("steps of jobs, left out") for note in notes)

    def test_one_in_which_nothing_ended(self, tmp_path: Path) -> None:
        path = tmp_path / "workload.yaml"
        path.write_text("workload: []")
        assert problem(path) == ": no job in it has ended, so nothing can be learnt; give a longer period"

    def test_no_such_file(self, tmp_path: Path) -> None:
        assert problem(tmp_path / "none") == ": there is no such file; check the path"

    def test_neither_of_both(self, tmp_path: Path) -> None:
        path = tmp_path / "notes.txt"
        path.write_text("hello")
        assert "is not a workload that this reader recognises" in problem(path)
