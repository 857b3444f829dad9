"""Controllers and their tokens, in a file that is the scheduler's alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from rota.server.identity.access import secret_hash
from rota.stateless_scheduler.tokens import TokensError, read_tokens

CI, NIGHTLY = "a" * 20, "b" * 20


def write(folder: Path, text: str, mode: int = 0o600) -> Path:
    path = folder / "tokens"
    path.write_text(text)
    path.chmod(mode)
    return path


def test_each_has_its_own(tmp_path: Path) -> None:
    tokens = read_tokens(write(tmp_path, f"# ours\nci {CI}\n\nnightly\t{NIGHTLY}\n"))
    assert tokens.controllers == ["ci", "nightly"]
    assert tokens.is_of("ci", CI)
    assert not tokens.is_of("ci", NIGHTLY)
    assert not tokens.is_of("nobody", CI)
    assert not tokens.is_of("nobody", "")
    assert tokens.named(secret_hash(NIGHTLY)) == "nightly"
    assert tokens.named(secret_hash("")) is None


def test_operators_direct_nothing(tmp_path: Path) -> None:
    tokens = read_tokens(write(tmp_path, f"ci {CI}\nalice {NIGHTLY} operator\n"))
    assert tokens.controllers == ["ci"]
    assert not tokens.is_of("alice", NIGHTLY)
    assert tokens.named(secret_hash(NIGHTLY)) == "alice"
    assert tokens.is_operator("alice")
    assert not tokens.is_operator("ci")


@pytest.mark.parametrize(
    "text, said",
    [
        ("", "names no controller"),
        (f"alice {CI} operator\n", "names no controller"),
        ("ci\n", ":1: isn't a name and its token"),
        (f"ci {CI} more\n", ":1:"),
        (f"ci {CI} operator more\n", ":1:"),
        (f"# x\n../ci {CI}\n", ":2:"),
        ("ci short\n", "shorter"),
        (f"ci {CI}\nci {NIGHTLY}\n", ":2:"),
        (f"ci {CI}\nnightly {CI}\n", ":2:"),
    ],
)
def test_files_that_will_not_do(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(TokensError, match=said):
        read_tokens(write(tmp_path, text))


def test_others_may_not_read_it(tmp_path: Path) -> None:
    with pytest.raises(TokensError, match="chmod 600"):
        read_tokens(write(tmp_path, f"ci {CI}\n", 0o640))
    with pytest.raises(TokensError, match="can't be read"):
        read_tokens(tmp_path / "missing")
