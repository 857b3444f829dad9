from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from rota.workflows.globs import GlobError, files_in
from rota.workflows.hash_files import hashed


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    for name in ("b.txt", "a.txt", "dir/c.txt", "dir/.hidden/d.txt", "dir/[x].txt", "other/e.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    return tmp_path


def names(workspace: Path, *patterns: str) -> list[str]:
    return [one.relative_to(workspace).as_posix() for one in files_in(workspace, patterns)]


@pytest.mark.parametrize(
    ("patterns", "expected"),
    [
        (["*.txt"], ["a.txt", "b.txt"]),
        (["b.txt", "a.txt"], ["b.txt", "a.txt"]),
        (["**/*.txt"], ["a.txt", "b.txt", "dir/.hidden/d.txt", "dir/[x].txt", "dir/c.txt"]),
        (["dir"], ["dir/.hidden/d.txt", "dir/[x].txt", "dir/c.txt"]),
        (["dir/**"], ["dir/.hidden/d.txt", "dir/[x].txt", "dir/c.txt"]),
        (["**", "!**/*.txt"], ["other/e.md"]),
        (["**\n!dir\n# a comment", "!other", "dir/c.*"], ["a.txt", "b.txt", "dir/c.txt"]),
        (["[ab].txt"], ["a.txt", "b.txt"]),
        (["[!a].txt"], ["b.txt"]),
        (["dir/\\[x\\].txt"], ["dir/[x].txt"]),
        (["?.txt", "a.txt"], ["a.txt", "b.txt"]),
        (["{a,b}.txt"], []),
        (["nowhere/*"], []),
    ],
)
def test_patterns(workspace: Path, patterns: list[str], expected: list[str]) -> None:
    assert names(workspace, *patterns) == expected


@pytest.mark.parametrize("pattern", ["../x", "~/x", "!", "a" * 5_000])
def test_patterns_that_lead_out_or_nowhere_are_refused(workspace: Path, pattern: str) -> None:
    with pytest.raises(GlobError):
        names(workspace, pattern)


def test_what_is_not_beneath_the_workspace_does_not_count(workspace: Path) -> None:
    assert names(workspace / "dir", str(workspace / "*.txt")) == []
    (workspace / "dir" / "link").symlink_to(workspace / "other")
    assert names(workspace, "dir/**/*.md") == []


def test_the_hash_of_hashes(workspace: Path) -> None:
    each = [hashlib.sha256(text.encode()).digest() for text in ("a.txt", "b.txt")]
    assert hashed(workspace, ["*.txt"]) == hashlib.sha256(b"".join(each)).hexdigest()
    assert hashed(workspace, ["*.none"]) == ""
