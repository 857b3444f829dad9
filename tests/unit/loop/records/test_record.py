"""What is written of cycles, and what is said of a record that was damaged."""

from __future__ import annotations

import resource
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from msgspec.msgpack import Decoder, Encoder
from msgspec.structs import replace

from rota.intake.errors import InputError
from rota.loop.records import cycle_files
from rota.loop.records.cycle_entry import CycleEntry
from rota.loop.records.cycle_files import CycleWriter
from rota.loop.records.cycles import CycleFolder
from rota.loop.records.record import Recorder
from rota.model.ids import JobId
from rota.model.policy import Policy
from rota.model.vocabulary import read_coded
from tests.builders import Cluster
from tests.properties.carry_out import plan_for
from tests.unit.loop.recording import nothing_learnt, record_plans
from tests.words import NOW_MS

RECORDS = Cluster().node("n", cpu=2).job("a", cpu=1).job("b", cpu=1).job("c", cpu=1).records
POLICY = Policy()
TITLE = b"rota-cycles 2 0.7.0\n"


def record(folder: Path, count: int = 3) -> Path:
    """So many cycles; the file that they are in."""
    record_plans(folder, RECORDS, [POLICY] * count)
    return sorted(folder.iterdir())[-1]


def read(folder: Path) -> tuple[list[int], list[str]]:
    """Numbers of the cycles that can be read, and what is said of the rest."""
    cycles = CycleFolder(folder)
    numbers = [cycle.number for cycle in cycles.cycles()]
    return numbers, [str(error).removeprefix(f"{folder}/") for error in cycles.damage]


def entries(path: Path) -> list[int]:
    """Where they begin, and where the last one ends."""
    content, at = path.read_bytes(), path.read_bytes().index(b"\n") + 1
    found = [at]
    while at < len(content):
        at += 8 + int.from_bytes(content[at : at + 4], "big")
        found.append(at)
    return found


class TestWriting:
    def test_a_cycle_without_changes_takes_hardly_any_room(self, tmp_path: Path) -> None:
        nodes = Cluster().nodes(" ".join(f"n{at}" for at in range(200)), cpu=2)
        with Recorder(tmp_path) as recorder:
            for at in range(3):
                plan = plan_for(nodes.records, POLICY, NOW_MS)
                recorder.decided(nodes.records, nothing_learnt, POLICY, NOW_MS + at, plan)
        first, second, third, end = entries(tmp_path / "cycles-000000001.log")
        assert second - first > 500
        assert end - third < 150

    def test_the_same_cycles_give_the_same_files(self, tmp_path: Path) -> None:
        one, other = record(tmp_path / "one"), record(tmp_path / "other")
        assert one.read_bytes() == other.read_bytes()

    def test_a_file_is_begun_anew_when_as_much_again_was_written(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(cycle_files, "_LEAST_BEFORE_NEXT_BYTES", 0)
        record(tmp_path, 40)
        files = sorted(path.name for path in tmp_path.iterdir())
        assert 3 < len(files) < 20
        assert read(tmp_path) == (list(range(1, 41)), [])

    def test_what_is_there_already_stays(self, tmp_path: Path) -> None:
        before = record(tmp_path).read_bytes()
        record(tmp_path)
        assert sorted(path.name for path in tmp_path.iterdir()) == [
            "cycles-000000001.log",
            "cycles-000000004.log",
        ]
        assert (tmp_path / "cycles-000000001.log").read_bytes() == before
        assert read(tmp_path) == ([1, 2, 3, 4, 5, 6], [])

    def test_two_do_not_write_into_one_folder(self, tmp_path: Path) -> None:
        one, other = CycleWriter(tmp_path), CycleWriter(tmp_path)
        one.begin_file()
        with pytest.raises(InputError, match="another process records into this folder"):
            other.begin_file()
        one.close()

    def test_after_a_full_disk_it_goes_on_in_a_new_file(self, tmp_path: Path) -> None:
        plan = plan_for(RECORDS, POLICY, NOW_MS)
        fewer = replace(RECORDS, jobs=RECORDS.jobs[:1])
        path = tmp_path / "cycles-000000001.log"
        with Recorder(tmp_path) as recorder:
            recorder.decided(RECORDS, nothing_learnt, POLICY, NOW_MS, plan)
            whole_bytes = path.stat().st_size
            with no_file_larger_than(whole_bytes + 11), pytest.raises(OSError, match="too large"):
                recorder.decided(fewer, nothing_learnt, POLICY, NOW_MS, plan)
            recorder.decided(fewer, nothing_learnt, POLICY, NOW_MS, plan)
        assert read(tmp_path) == (
            [1, 3],
            [f"{path.name}: byte {whole_bytes:,}: the entry is cut off; cycle 2 can't be replayed"],
        )


@contextmanager
def no_file_larger_than(size_bytes: int) -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


class TestDamage:
    @pytest.mark.slow
    def test_an_entry_cut_off_anywhere_leaves_those_before(self, tmp_path: Path) -> None:
        path = record(tmp_path)
        content, (first, *_, end) = path.read_bytes(), entries(path)
        for length in range(first, end):
            path.write_bytes(content[:length])
            starts = [at for at in entries(path) if at <= length]
            numbers, damage = read(tmp_path)
            assert numbers == list(range(1, len(starts)))
            if length == starts[-1]:
                assert damage == []
            else:
                lost = f"cycle {len(starts)} and whatever followed it can't be replayed"
                assert damage == [f"{path.name}: byte {starts[-1]:,}: the entry is cut off; {lost}"]

    @pytest.mark.slow
    def test_no_changed_byte_goes_unnoticed(self, tmp_path: Path) -> None:
        path = record(tmp_path)
        content, last = path.read_bytes(), entries(path)[-2]
        for at in range(last, len(content)):
            path.write_bytes(content[:at] + bytes([content[at] ^ 0x10]) + content[at + 1 :])
            numbers, (damage,) = read(tmp_path)
            assert numbers == [1, 2]
            assert damage.startswith(f"{path.name}: byte {last:,}: the entry is ")
            assert damage.endswith("cycle 3 and whatever followed it can't be replayed")

    def test_the_next_file_is_read_all_the_same(self, tmp_path: Path) -> None:
        path = record(tmp_path)
        record(tmp_path)
        at = entries(path)[1]
        content = path.read_bytes()
        path.write_bytes(content[: at + 20] + b"!" + content[at + 21 :])
        numbers, (damage,) = read(tmp_path)
        assert numbers == [1, 4, 5, 6]
        problem = "the entry is damaged: its checksum is wrong; cycles 2 to 3 can't be replayed"
        assert damage == f"{path.name}: byte {at:,}: {problem}"

    def test_a_file_that_is_gone_is_missed(self, tmp_path: Path) -> None:
        for _ in range(3):
            record(tmp_path)
        (tmp_path / "cycles-000000004.log").unlink()
        numbers, (damage,) = read(tmp_path)
        assert numbers == [1, 2, 3, 7, 8, 9]
        assert damage.endswith("cycles 4 to 6 can't be replayed: a file is missing, or ends early")

    def test_old_files_may_be_deleted(self, tmp_path: Path) -> None:
        oldest = record(tmp_path)
        record(tmp_path)
        oldest.unlink()
        assert read(tmp_path) == ([4, 5, 6], [])

    def test_a_process_that_died_is_followed_by_the_next(self, tmp_path: Path) -> None:
        path = record(tmp_path)
        path.write_bytes(path.read_bytes()[:-1])
        record(tmp_path)
        numbers, (damage,) = read(tmp_path)
        assert numbers == [1, 2, 4, 5, 6]
        assert damage.endswith("the entry is cut off; cycle 3 can't be replayed")

    @pytest.mark.parametrize(
        "title, problem",
        [
            (b"", "byte 0: the file is cut off before its first cycle"),
            (b"rota-cyc", "byte 0: the file is cut off before its first cycle"),
            (b"nodes:\n- name: a\n", "byte 0: this is no record of cycles"),
            (b"\x89PNG\r\n\x1a\n", "byte 0: this is no record of cycles"),
            (
                b"rota-cycles 3 1.7.0\n",
                "byte 0: format 3, written by rota 1.7.0; this one, 0.7.0, reads up to format 2",
            ),
        ],
    )
    def test_of_what_is_no_record(self, tmp_path: Path, title: bytes, problem: str) -> None:
        (tmp_path / "cycles-000000001.log").write_bytes(title)
        numbers, (damage,) = read(tmp_path)
        assert numbers == []
        assert damage.startswith(f"cycles-000000001.log: {problem}")

    @pytest.mark.parametrize(
        "payload, problem",
        [
            (b"\xc1", "the entry can't be understood: MessagePack data is malformed"),
            (
                Encoder().encode({"number": 1, "colour": "red"}),
                "the entry can't be understood: Object contains",
            ),
            (Encoder().encode({"number": "one"}), "the entry can't be understood: Expected `int`"),
        ],
    )
    def test_of_an_entry_that_means_nothing(self, tmp_path: Path, payload: bytes, problem: str) -> None:
        writer = CycleWriter(tmp_path)
        writer.begin_file()
        writer.append(payload)
        writer.close()
        numbers, (damage,) = read(tmp_path)
        assert numbers == []
        assert damage.startswith(f"cycles-000000001.log: byte {len(TITLE)}: {problem}")

    def test_of_inputs_with_another_hash(self, tmp_path: Path) -> None:
        path = record(tmp_path)
        entry = _decoded(path, 0)
        for changed, problem in (
            (replace(entry, now_ms=NOW_MS + 1), "what was read hasn't the hash that was recorded with it"),
            (replace(entry, number=7), "cycle 7 where cycle 1 should be"),
            (replace(entry, policy=None), "the file begins without a policy"),
            (
                replace(entry, changes=replace(entry.changes, templates=())),
                "the entry can't be understood: list index out of range",
            ),
            (
                replace(entry, changes=replace(entry.changes, jobs_gone=(JobId("who"),))),
                "the entry can't be understood: 'who'",
            ),
            (
                replace(entry, plan=replace(entry.plan, waiting=((5, 9),))),
                "the entry can't be understood: fewer jobs wait than have verdicts",
            ),
            (
                replace(entry, plan=replace(entry.plan, waiting=(*entry.plan.waiting, JobId("who")))),
                "the entry can't be understood: more jobs wait than have verdicts",
            ),
        ):
            path.write_bytes(TITLE + _framed(Encoder().encode(changed)))
            numbers, (damage,) = read(tmp_path)
            assert numbers == []
            assert damage.startswith(f"{path.name}: byte {len(TITLE)}: {problem}")

    def test_another_version_is_named_where_that_may_be_the_cause(self, tmp_path: Path) -> None:
        path = record(tmp_path)
        changed = replace(_decoded(path, 0), now_ms=0)
        path.write_bytes(b"rota-cycles 2 0.0.9\n" + _framed(Encoder().encode(changed)))
        _, (damage,) = read(tmp_path)
        assert damage.endswith("it was recorded by rota 0.0.9, this is 0.7.0: try that version")

    @pytest.mark.parametrize("kind", ["missing", "file", "empty"])
    def test_of_what_is_no_folder_of_cycles(self, tmp_path: Path, kind: str) -> None:
        folder = tmp_path / "record"
        if kind == "file":
            folder.write_text("")
        elif kind == "empty":
            folder.mkdir()
        problems = {
            "missing": "there is no such folder",
            "file": "this is a file",
            "empty": "no cycles are recorded here",
        }
        with pytest.raises(InputError, match=problems[kind]):
            CycleFolder(folder)


def _decoded(path: Path, at: int) -> CycleEntry:
    start, end = entries(path)[at : at + 2]
    return Decoder(CycleEntry, dec_hook=read_coded).decode(
        zlib.decompress(path.read_bytes()[start + 8 : end])
    )


def _framed(payload: bytes) -> bytes:
    body = zlib.compress(payload)
    length = len(body).to_bytes(4, "big")
    return length + zlib.crc32(length + body).to_bytes(4, "big") + body
