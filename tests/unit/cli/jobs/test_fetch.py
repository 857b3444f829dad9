"""`rota fetch`: what a job has kept, written below one folder."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from rota.api.jobs import MissingOutput
from rota.lifecycle.state import Phase
from tests.unit.cli.calling import rota
from tests.unit.cli.documents import detail, over, running
from tests.unit.cli.fake_server import FakeServer

pytestmark = pytest.mark.covers("first-1")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def job(server: FakeServer) -> FakeServer:
    server.has(over(Phase.SUCCEEDED, name="sweep"))
    server.kept["17"] = {(0, "out/a.csv"): b"1,2\n", (0, "out/bin/go"): b"#!", (0, "notes.txt"): b"hm"}
    return server


def files_in(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


class TestFetch:
    @pytest.mark.parametrize("name", ["17", "sweep"])
    def test_all_here(self, job: FakeServer, here: Path, name: str) -> None:
        result = rota("fetch", name)
        assert (result.code, result.out) == (0, "")
        assert result.err == "rota: fetched 3 files, 8 bytes, into .\n"
        assert files_in(here) == {"out/a.csv": b"1,2\n", "out/bin/go": b"#!", "notes.txt": b"hm"}
        assert os.access(here / "out/bin/go", os.X_OK)
        assert not (here / "notes.txt").stat().st_mode & stat.S_IXUSR

    @pytest.mark.parametrize(
        ("path", "found"),
        [
            ("out", {"out/a.csv", "out/bin/go"}),
            ("./out/", {"out/a.csv", "out/bin/go"}),
            ("**/*.csv", {"out/a.csv"}),
            ("notes.txt", {"notes.txt"}),
        ],
    )
    def test_a_part_to_another_folder(self, job: FakeServer, here: Path, path: str, found: set[str]) -> None:
        assert rota("fetch", "17", path, "--to", "new/folder").code == 0
        assert set(files_in(here / "new/folder")) == found

    def test_a_path_that_means_none(self, job: FakeServer, here: Path) -> None:
        job.details["17"] = [detail(over(Phase.SUCCEEDED), spec={"outputs": ["out"]})]
        result = rota("fetch", "17", "nothing")
        assert (result.code, files_in(here)) == (3, {})
        assert 'job 17 left no file that "nothing" means' in result.err

    def test_what_is_there_stays(self, job: FakeServer, here: Path) -> None:
        (here / "notes.txt").write_text("mine")
        result = rota("fetch", "17")
        assert (result.code, files_in(here)) == (1, {"notes.txt": b"mine"})
        assert result.err == "rota: ./notes.txt is already there; --force replaces files\n"
        assert rota("fetch", "17", "--force").code == 0
        assert files_in(here)["notes.txt"] == b"hm"

    def test_what_is_missing_is_told(self, job: FakeServer, here: Path) -> None:
        job.missing["17"] = [MissingOutput(rank=0, path="logs/*.txt")]
        result = rota("fetch", "17")
        assert result.code == 3
        assert "logs/*.txt is missing: task 0 of job 17 didn't leave it" in result.err
        assert len(files_in(here)) == 3
        assert rota("fetch", "17", "--to", "one", "notes.txt").code == 0


class TestSeveral:
    def test_tasks_with_the_same_path_have_folders(self, job: FakeServer, here: Path) -> None:
        job.kept["17"] = {(0, "a"): b"0", (1, "a"): b"1", (1, "b"): b"b"}
        assert rota("fetch", "17").code == 0
        assert files_in(here) == {"0/a": b"0", "1/a": b"1", "1/b": b"b"}

    def test_a_file_where_another_has_a_folder_too(self, job: FakeServer, here: Path) -> None:
        job.kept["17"] = {(0, "a"): b"0", (1, "a/b"): b"1"}
        assert rota("fetch", "17").code == 0
        assert files_in(here) == {"0/a": b"0", "1/a/b": b"1"}

    def test_tasks_with_their_own_paths_have_none(self, job: FakeServer, here: Path) -> None:
        job.kept["17"] = {(0, "out/0"): b"0", (1, "out/1"): b"1"}
        assert rota("fetch", "17").code == 0
        assert files_in(here) == {"out/0": b"0", "out/1": b"1"}

    def test_arrays_and_their_elements(self, server: FakeServer, here: Path) -> None:
        for index in (10, 2):
            server.has(over(Phase.SUCCEEDED, f"24.{index}", array="24"))
            server.kept[f"24.{index}"] = {(0, "a"): str(index).encode()}
        assert rota("fetch", "24_2", "--to", "one").code == 0
        assert files_in(here / "one") == {"a": b"2"}
        assert rota("fetch", "24", "--to", "all").code == 0
        assert files_in(here / "all") == {"24.2/a": b"2", "24.10/a": b"10"}
        assert rota("fetch", "24", "--list", "-o", "name").lines == ["24.2/a", "24.10/a"]
        assert set(rota("fetch", "24", "--list", "-o", "json").data) == {"24.2", "24.10"}

    @pytest.mark.parametrize("odd", ["24", "24.x", "24.", "٢٤.١", "../24.1"])
    def test_an_array_with_ids_that_no_server_should_give(
        self, server: FakeServer, here: Path, odd: str
    ) -> None:
        """Whatever comes of it, it is no bug of ours, and nothing is written elsewhere."""
        server.has(over(Phase.SUCCEEDED, "24.2", array="24"), over(Phase.SUCCEEDED, odd, array="24"))
        server.kept["24.2"] = server.kept[odd] = {(0, "a"): b"2"}
        for command in (("fetch", "24", "--to", "all"), ("logs", "24")):
            assert "bug in Rota" not in rota(*command).err
        assert list(here.parent.glob("*.1")) == []


class TestNothing:
    def test_declared(self, server: FakeServer, here: Path) -> None:
        server.has(detail(over(Phase.SUCCEEDED), spec={"command": ["true"]}))
        result = rota("fetch", "17")
        assert result.code == 3
        assert "job 17 declares no outputs; name them with --keep" in result.err

    def test_yet(self, server: FakeServer, here: Path) -> None:
        server.has(detail(running(), spec={"outputs": ["out"]}))
        result = rota("fetch", "17")
        assert result.code == 2
        assert "its outputs are kept when its tasks have ended" in result.err


class TestList:
    def test_table(self, job: FakeServer, here: Path) -> None:
        job.missing["17"] = [MissingOutput(rank=0, path="x.log")]
        result = rota("fetch", "17", "--list")
        assert (result.code, files_in(here)) == (0, {})
        assert [line.split() for line in result.lines] == [
            ["TASK", "SIZE", "PATH"],
            ["0", "4", "out/a.csv"],
            ["0", "2", "out/bin/go"],
            ["0", "2", "notes.txt"],
            ["0", "missing", "x.log"],
        ]

    def test_data(self, job: FakeServer) -> None:
        data = rota("fetch", "17", "out/a.csv", "--list", "-o", "json").data
        assert data["items"] == [{"rank": 0, "path": "out/a.csv", "size_bytes": 4, "executable": False}]

    @pytest.mark.parametrize("options", [("--list", "--force"), ("-o", "json")])
    def test_options_that_say_nothing(self, job: FakeServer, here: Path, options: tuple[str, ...]) -> None:
        assert rota("fetch", "17", *options).code == 1
        assert files_in(here) == {}
