"""Credentials that somebody else replaces."""

import asyncio
from pathlib import Path

import pytest

from rota.kube.api.credentials import REREAD_AFTER_S, Certificate, CredentialFiles, Credentials
from rota.kube.api.errors import NoCredentials


class Clock:
    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


def current(source: CredentialFiles) -> Credentials:
    return asyncio.run(source.current())


def test_a_token_is_read_again_as_it_rotates(tmp_path: Path) -> None:
    clock, file = Clock(), tmp_path / "token"
    file.write_text("first\n")
    source = CredentialFiles(token=file, clock=clock)
    first = current(source)
    assert first.token == "first"
    file.write_text("second")
    assert current(source) is first
    clock.now_s += REREAD_AFTER_S
    assert current(source).token == "second"


def test_what_is_the_same_stays_the_same_object(tmp_path: Path) -> None:
    clock, file = Clock(), tmp_path / "token"
    file.write_text("first")
    source = CredentialFiles(token=file, clock=clock)
    first = current(source)
    clock.now_s += REREAD_AFTER_S
    assert current(source) is first


def test_a_refusal_makes_it_read_at_once(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("first")
    source = CredentialFiles(token=file, clock=Clock())
    first = current(source)
    file.write_text("second")
    source.refused(Credentials("somebody else's"))
    assert current(source) is first
    source.refused(first)
    assert current(source).token == "second"


def test_while_a_file_is_away_the_last_ones_are_used(tmp_path: Path) -> None:
    clock, file = Clock(), tmp_path / "token"
    file.write_text("first")
    source = CredentialFiles(token=file, clock=clock)
    first = current(source)
    file.unlink()
    clock.now_s += REREAD_AFTER_S
    assert current(source) is first


@pytest.mark.parametrize("content", [None, "", " \n", "two\nlines"])
def test_no_token_at_all(tmp_path: Path, content: str | None) -> None:
    file = tmp_path / "token"
    if content is not None:
        file.write_text(content)
    with pytest.raises(NoCredentials, match=f"{file}: (can't be read|holds no token)"):
        current(CredentialFiles(token=file, clock=Clock()))


def test_certificates_rotate_too(tmp_path: Path) -> None:
    clock, chain, key = Clock(), tmp_path / "chain", tmp_path / "key"
    chain.write_text("chain")
    key.write_text("key")
    source = CredentialFiles(certificate=chain, key=key, otherwise=Credentials("fixed"), clock=clock)
    assert current(source) == Credentials("fixed", Certificate(b"chain", b"key"))
    chain.write_text("new")
    clock.now_s += REREAD_AFTER_S
    assert current(source).certificate == Certificate(b"new", b"key")


def test_secrets_dont_reach_logs() -> None:
    credentials = Credentials("secret", Certificate(b"chain", b"secret"))
    assert "secret" not in f"{credentials!r} {credentials} {credentials.certificate!r}"
