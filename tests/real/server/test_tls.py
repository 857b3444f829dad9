"""A certificate that the server makes for itself."""

from __future__ import annotations

import pytest
from msgspec import json

from rota.sdk.client import Client
from rota.sdk.errors import NoServer, Untrusted
from tests.real.server.conftest import NewServer
from tests.real.server.rota_server import NO_RETRIES


@pytest.mark.covers("ops-2")
def test_a_self_signed_certificate_is_trusted_by_those_who_know_it(new_server: NewServer) -> None:
    server = new_server("--tls-self-signed", "--address", "0.0.0.0")
    port = server.url.rpartition(":")[2]
    assert server.url.startswith("https://")
    assert server.cli("run", "--", "echo", "encrypted") == "encrypted\n"
    certificate = server.data / json.decode((server.data / "server.json").read_bytes())["ca"]
    with Client(f"https://localhost:{port}", server.token, ca=str(certificate)) as client:
        assert client.me().role.value == "admin"
    with (
        Client(f"https://localhost:{port}", server.token, retries=NO_RETRIES) as client,
        pytest.raises(Untrusted),
    ):
        client.me()
    with pytest.raises(NoServer, match="unencrypted"):
        Client(f"http://192.0.2.1:{port}", server.token)
