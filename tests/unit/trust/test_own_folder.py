from __future__ import annotations

from pathlib import Path

import pytest

from rota.trust.own_folder import FolderTaken, own_folder


def test_one_at_a_time(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "data"
    with own_folder(folder, "lock", "agent"):
        assert folder.stat().st_mode & 0o777 == 0o700
        with (
            pytest.raises(FolderTaken, match=r"another agent uses .*data; stop it"),
            own_folder(folder, "lock", "agent"),
        ):
            pass
    with own_folder(folder, "lock", "agent"):
        pass


def test_a_folder_that_cant_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with (
        pytest.raises(FolderTaken, match="file/data can't be used: Not a directory"),
        own_folder(tmp_path / "file" / "data", "lock", "server"),
    ):
        pass
