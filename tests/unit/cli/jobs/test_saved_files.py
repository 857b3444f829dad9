"""Files below one folder, and never outside of it."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from rota.cli.jobs.saved_files import Folder, NotSaved


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "inside"
    made.mkdir()
    return made


def save(folder: Path, path: str, *, replace: bool = False) -> None:
    Folder(str(folder)).save(path, b"new", executable=False, replace=replace)


@pytest.mark.covers("first-1")
@pytest.mark.parametrize("path", ["../x", "a/../../x", "/tmp/x", "", ".", "a\0b"])
@pytest.mark.parametrize("replace", [False, True])
def test_paths_that_leave_are_refused(folder: Path, path: str, replace: bool) -> None:
    with pytest.raises(NotSaved):
        save(folder, path, replace=replace)
    with pytest.raises(NotSaved):
        Folder(str(folder)).has(path)
    assert [path.name for path in folder.parent.iterdir()] == ["inside"]


@pytest.mark.parametrize("replace", [False, True])
def test_links_are_not_followed(folder: Path, replace: bool) -> None:
    outside = folder.parent / "outside"
    outside.mkdir()
    (folder / "link").symlink_to(outside)
    with pytest.raises(NotSaved, match="is a link"):
        save(folder, "link/x", replace=replace)
    assert list(outside.iterdir()) == []


def test_a_link_is_replaced_and_what_it_leads_to_stays(folder: Path) -> None:
    target = folder.parent / "target"
    target.write_text("old")
    (folder / "x").symlink_to(target)
    assert Folder(str(folder)).has("x")
    with pytest.raises(NotSaved, match="exists"):
        save(folder, "x")
    save(folder, "x", replace=True)
    assert (target.read_text(), (folder / "x").read_text()) == ("old", "new")
    assert not (folder / "x").is_symlink()


def test_nothing_is_left_of_a_file_that_could_not_be_written(folder: Path) -> None:
    (folder / "x").mkdir()
    with pytest.raises(NotSaved, match="inside/x"):
        save(folder, "x", replace=True)
    assert [path.name for path in folder.iterdir()] == ["x"]


def test_file_systems_without_links(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def link(*_: object, **__: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", link)
    save(folder, "a/x")
    assert [path.name for path in (folder / "a").iterdir()] == ["x"]
    assert (folder / "a/x").read_text() == "new"


def test_a_folder_that_is_no_folder_yet(tmp_path: Path) -> None:
    assert not Folder(str(tmp_path / "a/b")).has("x")
    save(tmp_path / "a/b", "x")
    assert (tmp_path / "a/b/x").read_text() == "new"
