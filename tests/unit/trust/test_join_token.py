"""Join tokens as people copy them, and proofs that need their secret."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.trust import TrustError
from rota.trust.join_token import (
    JoinTokenText,
    is_proof,
    new_secret,
    proof_key,
    proof_of,
    read_token_text,
    token_text,
)

pytestmark = pytest.mark.covers("ops-2")

TOKEN = JoinTokenText("https://rota.example.org:8426", bytes(range(32)), "a1b2", b"s" * 32)


def test_a_token_is_one_word_and_comes_back() -> None:
    text = token_text(TOKEN)
    assert text.startswith("rotajoin_")
    assert text.isascii()
    assert text.replace("-", "").replace("_", "").isalnum()
    assert read_token_text(f"  {text}\n") == TOKEN


def test_secrets_differ_and_are_not_shown() -> None:
    assert new_secret() != new_secret()
    assert "ssss" not in repr(TOKEN)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "rotajoin_",
        "rota_" + "x" * 43,
        token_text(TOKEN)[:-8],
        token_text(TOKEN)[9:],
        "rotajoin_" + "A" * 3000,
        token_text(JoinTokenText("", b"short", "a", b"s" * 32)),
        token_text(JoinTokenText("", bytes(32), "a", b"short")),
    ],
)
def test_what_is_no_token_is_refused(text: str) -> None:
    with pytest.raises(TrustError, match="TOKEN: this is no join token; copy all of what"):
        read_token_text(text)


@given(st.text(max_size=60))
def test_any_other_text_is_refused(text: str) -> None:
    with pytest.raises(TrustError, match="no join token"):
        read_token_text(f"rotajoin_{text}")


def test_a_proof_needs_the_secret_and_is_of_one_request_and_name() -> None:
    key = proof_key(b"s" * 32)
    proof = proof_of(key, b"request", "gpu-1")
    assert is_proof(key, b"request", "gpu-1", proof)
    assert not is_proof(key, b"another", "gpu-1", proof)
    assert not is_proof(key, b"request", "gpu-2", proof)
    assert not is_proof(proof_key(b"t" * 32), b"request", "gpu-1", proof)
    assert not is_proof(key, b"request", "gpu-1", "")
    assert not is_proof(key, b"request", "gpu-1", "ü")
