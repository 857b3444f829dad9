"""Which format a file has, and that traces may be packed."""

import gzip
import io
from datetime import UTC
from pathlib import Path

import pytest

from rota.intake.errors import InputError
from rota.intake.traces._text import unpacked
from rota.intake.traces.files import FORMATS, TraceOptions, read_workload
from tests.unit.intake.traces.reading import DATA, read, refusal

SWF_LINE = "1 0 -1 60 4 -1 -1 4 300 -1 1 1 -1 -1 1 -1 -1 -1\n"


@pytest.mark.parametrize(
    ("name", "options", "jobs"),
    [
        ("rota_synth_256.swf.gz", TraceOptions(), 10_000),
        ("kueue-baseline.yaml", TraceOptions(), 15_000),
        ("knavigator-gang.json", TraceOptions(), 53),
        ("knavigator-scaling-and-topology.json", TraceOptions(workload="single"), 700),
        ("scheduler-perf.json", TraceOptions(workload="gang-1000x9"), 9),
        ("sacct.txt", TraceOptions(), 6),
        ("../openb/pods.csv", TraceOptions(), 204),
    ],
)
class TestAFormat:
    def test_is_recognised(self, name: str, options: TraceOptions, jobs: int) -> None:
        assert len(read_workload(DATA / name, options=options).jobs) == jobs

    def test_is_recognised_by_content_alone(
        self, tmp_path: Path, name: str, options: TraceOptions, jobs: int
    ) -> None:
        content = unpacked((DATA / name).read_bytes(), name)
        assert len(read(tmp_path, content, "trace", options).jobs) == jobs

    @pytest.mark.slow
    def test_may_be_packed(self, tmp_path: Path, name: str, options: TraceOptions, jobs: int) -> None:
        content = gzip.compress(unpacked((DATA / name).read_bytes(), name))
        assert len(read(tmp_path, content, "trace.gz", options).jobs) == jobs


def test_a_workload_has_the_name_of_its_file(tmp_path: Path) -> None:
    assert read(tmp_path, SWF_LINE, "my.site.swf").name == "my.site"
    assert read(tmp_path, gzip.compress(SWF_LINE.encode()), "site.swf.gz").name == "site"


def test_lines_of_numbers_are_swf(tmp_path: Path) -> None:
    assert len(read(tmp_path, SWF_LINE, "jobs.log").jobs) == 1


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(SWF_LINE.encode())))
    assert len(read_workload("-").jobs) == 1


@pytest.mark.covers("ops-3")
class TestBadInput:
    @pytest.mark.parametrize(
        "name, text",
        [
            ("pods.csv", "name,cpu_milli,memory_mib\na,1,2\n"),
            ("notes.txt", "Dear diary: today: nothing\n"),
            ("bounds.json", '{"configs": {}}'),
            ("jobs.yaml", "jobs: []\n"),
            ("list.yaml", "[1, 2]\n"),
            ("sacct.txt", "JobName|State\nx|COMPLETED\n"),
        ],
    )
    def test_a_format_that_nobody_knows(self, tmp_path: Path, name: str, text: str) -> None:
        error = refusal(tmp_path, text, name)
        assert "recognises" in error.problem
        assert all(f'"{one}"' in error.remedy for one in FORMATS)

    def test_a_format_that_does_not_exist(self) -> None:
        with pytest.raises(InputError, match='did you mean "kueue"'):
            read_workload(DATA / "kueue-baseline.yaml", "keueu")

    def test_another_format_than_the_file_has(self) -> None:
        with pytest.raises(InputError, match=r"kueue-baseline.yaml:1"):
            read_workload(DATA / "kueue-baseline.yaml", "swf")

    def test_a_file_that_is_not_there_or_empty(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="no such file"):
            read_workload(tmp_path / "missing.swf")
        assert "is empty" in refusal(tmp_path, "", "empty").problem
        assert "has no jobs" in refusal(tmp_path, "", "empty.swf").problem

    def test_yaml_that_is_broken(self, tmp_path: Path) -> None:
        error = refusal(tmp_path, "workload:\n- name: [\n", "cut.yaml")
        assert "not valid YAML" in error.problem
        assert error.line == 2

    @pytest.mark.parametrize(
        "options, words",
        [
            (TraceOptions(workload="x"), "no option workload"),
            (TraceOptions(time_zone=UTC), "no option time_zone"),
            (TraceOptions(processors=0), "without processors"),
            (TraceOptions(processors_per_node=0), "without processors"),
        ],
    )
    def test_options_that_make_no_sense(self, tmp_path: Path, options: TraceOptions, words: str) -> None:
        assert words in refusal(tmp_path, SWF_LINE, "a.swf", options).problem

    def test_several_documents_where_there_is_one(self, tmp_path: Path) -> None:
        text = (DATA / "kueue-baseline.yaml").read_text()
        assert "one document" in refusal(tmp_path, f"{text}\n---\n{text}", "two.yaml").problem


class TestGzip:
    def test_of_several_members_and_padding(self) -> None:
        assert unpacked(gzip.compress(b"a") + gzip.compress(b"b") + b"\0\0", "x.gz") == b"ab"

    def test_that_is_cut_off_at_any_place(self) -> None:
        packed = gzip.compress(b"one\ntwo\nthree\n" * 1000, mtime=0)
        for end in range(3, len(packed)):
            with pytest.raises(InputError, match="cut off"):
                unpacked(packed[:end], "x.gz")

    def test_that_is_damaged(self) -> None:
        packed = bytearray(gzip.compress(b"one\ntwo\nthree\n" * 1000, mtime=0))
        packed[-6] ^= 1
        with pytest.raises(InputError, match="damaged") as caught:
            unpacked(bytes(packed), "x.gz")
        assert caught.value.line

    def test_that_unpacks_to_too_much(self) -> None:
        with pytest.raises(InputError, match="more than the limit of 1,000 bytes"):
            unpacked(gzip.compress(b"\n" * 10_000), "x.gz", max_bytes=1000)

    def test_followed_by_something_else(self) -> None:
        with pytest.raises(InputError, match="damaged"):
            unpacked(gzip.compress(b"a") + b"junk", "x.gz")
