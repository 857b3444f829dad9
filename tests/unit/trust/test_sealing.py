"""A database alone shows no secret."""

from __future__ import annotations

import base64
import os
from pathlib import Path

import pytest

from rota.trust.sealing import BadKeyFile, CannotUnseal, Sealer, sealer_of

pytestmark = pytest.mark.covers("trust-3")


def test_what_was_sealed_opens_with_the_same_file(tmp_path: Path) -> None:
    path = tmp_path / "secrets.key"
    sealed = sealer_of(path).seal(b"s3cret", "vision/key")
    assert b"s3cret" not in sealed
    assert sealer_of(path).unseal(sealed, "vision/key") == b"s3cret"
    assert path.stat().st_mode & 0o777 == 0o600


def test_it_is_not_passed_off_as_another() -> None:
    sealer = Sealer([os.urandom(32)])
    sealed = sealer.seal(b"s3cret", "vision/key")
    with pytest.raises(CannotUnseal):
        sealer.unseal(sealed, "other/key")
    with pytest.raises(CannotUnseal):
        sealer.unseal(sealed[:-1] + bytes([sealed[-1] ^ 1]), "vision/key")


def test_a_new_key_is_put_before_the_old_ones() -> None:
    old, new = os.urandom(32), os.urandom(32)
    before = Sealer([old]).seal(b"s3cret", "a/b")
    both = Sealer([new, old])
    assert both.unseal(before, "a/b") == b"s3cret"
    with pytest.raises(CannotUnseal, match="key file"):
        Sealer([old]).unseal(both.seal(b"s3cret", "a/b"), "a/b")


@pytest.mark.parametrize("content", ["", "\n", "not base64!\n", base64.b64encode(b"short").decode()])
def test_a_bad_file_is_named(content: str, tmp_path: Path) -> None:
    path = tmp_path / "secrets.key"
    path.write_text(content)
    with pytest.raises(BadKeyFile, match=r"secrets\.key"):
        sealer_of(path)
