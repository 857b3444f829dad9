"""The folder that replicas share is the same one for all, or they don't start."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rota.server.leading.shared_files import FilesError, check_shared


class Database:
    """Keeps what it was first told."""

    def __init__(self) -> None:
        self.marker: bytes | None = None

    def known(self, make: Callable[[], bytes]) -> bytes:
        if self.marker is None:
            self.marker = make()
        return self.marker


def test_the_first_names_the_folder_and_others_find_it(tmp_path: Path) -> None:
    database = Database()
    for _ in range(3):
        check_shared(tmp_path / "files", database.known)
    assert database.marker
    assert [path.name for path in (tmp_path / "files").iterdir()] == ["cluster"]


def test_another_folder_is_refused_with_both_ways_out(tmp_path: Path) -> None:
    database = Database()
    check_shared(tmp_path / "files", database.known)
    with pytest.raises(FilesError, match=r"mount that one, and set server\.files to it on all") as told:
        check_shared(tmp_path / "empty", database.known)
    marker, _, path = str(told.value).rpartition("echo ")[2].partition(" > ")
    Path(path).write_text(f"{marker}\n")
    check_shared(tmp_path / "empty", database.known)


def test_a_folder_that_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(FilesError, match="can't be used: Not a directory; give a folder"):
        check_shared(tmp_path / "file" / "files", Database().known)


def test_servers_that_start_at_once_agree(tmp_path: Path) -> None:
    found: list[bytes] = []

    def known(make: Callable[[], bytes]) -> bytes:
        found.append(make())
        return found[-1]

    def start(_: int) -> None:
        check_shared(tmp_path / "files", known)

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(start, range(32)))
    assert len(set(found)) == 1
