"""Folders and checkouts as archives."""

from __future__ import annotations

import os
import subprocess
import tarfile
from pathlib import Path

import pytest
import typer

from rota.cli import archives

pytestmark = pytest.mark.covers("first-1")


def members(archive: str) -> dict[str, tarfile.TarInfo]:
    with tarfile.open(archive) as opened:
        return {one.name: one for one in opened if one.type != tarfile.XGLTYPE}


def git(folder: Path, *words: str) -> None:
    settings = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "protocol.file.allow=always")
    subprocess.run(["git", "-C", str(folder), *settings, *words], check=True, capture_output=True)


@pytest.fixture(autouse=True)
def no_settings_of_git(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", os.devnull)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "src"
    (made / "bin").mkdir(parents=True)
    (made / "empty").mkdir()
    (made / "bin/go").write_text("#!/bin/sh\n")
    (made / "bin/go").chmod(0o755)
    (made / "a.txt").write_text("a")
    (made / "bin/up").symlink_to("../a.txt")
    return made


class TestFolder:
    def test_all_that_is_in_it(self, folder: Path) -> None:
        found = members(archives.of_folder(str(folder)))
        assert list(found) == ["a.txt", "bin", "empty", "bin/go", "bin/up"]
        assert (found["bin/go"].mode, found["a.txt"].mode) == (0o755, 0o644)
        assert found["empty"].isdir()
        assert found["bin/up"].linkname == "../a.txt"

    def test_times_make_no_difference(self, folder: Path) -> None:
        first = Path(archives.of_folder(str(folder))).read_bytes()
        os.utime(folder / "a.txt", (1, 1))
        assert Path(archives.of_folder(str(folder))).read_bytes() == first

    @pytest.mark.parametrize("target", ["/etc/passwd", "../../x", "bin/../../x"])
    def test_links_out_of_it_are_refused(self, folder: Path, target: str) -> None:
        (folder / "bin/out").symlink_to(target)
        with pytest.raises(typer.BadParameter, match=r"bin/out is a link to .* outside of what is copied"):
            archives.of_folder(str(folder))

    def test_pipes_are_refused(self, folder: Path) -> None:
        os.mkfifo(folder / "pipe")
        with pytest.raises(typer.BadParameter, match="pipe is a pipe"):
            archives.of_folder(str(folder))


@pytest.fixture
def checkout(folder: Path) -> Path:
    git(folder, "init", "-q", "-b", "main")
    (folder / ".gitignore").write_text("*.o\n")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "first")
    return folder


class TestCheckout:
    def test_as_it_lies_there(self, checkout: Path) -> None:
        (checkout / "a.txt").write_text("changed")
        (checkout / "new").write_text("new")
        (checkout / "x.o").write_text("ignored")
        (checkout / "bin/up").unlink()
        archive = archives.of_checkout(str(checkout))
        assert list(members(archive)) == [".gitignore", "a.txt", "bin/go", "new"]
        with tarfile.open(archive) as opened:
            content = opened.extractfile("a.txt")
            assert content is not None
            assert content.read() == b"changed"

    def test_from_below_its_top(self, checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert "a.txt" in members(archives.of_checkout(str(checkout / "bin")))
        assert f"the job runs at the top of the checkout {checkout}" in capsys.readouterr().err

    def test_with_its_submodules_and_without_other_checkouts(self, checkout: Path, tmp_path: Path) -> None:
        for name in ("lib", "src/other"):
            (tmp_path / name).mkdir()
            git(tmp_path / name, "init", "-q")
            (tmp_path / name / "code").write_text("code")
            git(tmp_path / name, "add", ".")
            git(tmp_path / name, "commit", "-qm", "first")
        git(checkout, "submodule", "add", str(tmp_path / "lib"), "lib")
        found = members(archives.of_checkout(str(checkout)))
        assert "lib/code" in found
        assert not any(name.startswith("other") for name in found)

    def test_no_checkout(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
        (tmp_path / "plain").mkdir()
        with pytest.raises(typer.BadParameter, match="in no Git checkout"):
            archives.of_checkout(str(tmp_path / "plain"))

    def test_without_git(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PATH", str(tmp_path))
        with pytest.raises(typer.BadParameter, match="needs Git"):
            archives.of_checkout(str(tmp_path))


class TestCommit:
    def test_as_it_was(self, checkout: Path) -> None:
        git(checkout, "rm", "-q", "a.txt")
        (checkout / "new").write_text("new")
        found = members(archives.of_commit(str(checkout), "main"))
        assert {name for name, one in found.items() if not one.isdir()} == {
            ".gitignore",
            "a.txt",
            "bin/go",
            "bin/up",
        }
        assert found["bin/go"].mode & 0o100

    @pytest.mark.parametrize("ref", ["nope", "--output=x", ""])
    def test_no_commit(self, checkout: Path, ref: str) -> None:
        with pytest.raises(typer.BadParameter, match="is no commit, branch or tag"):
            archives.of_commit(str(checkout), ref)
        assert not (checkout / "x").exists()
