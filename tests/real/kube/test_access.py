"""Being let in by a real API server: tokens, certificates, plugins, and how each is renewed."""

from __future__ import annotations

import asyncio
import base64
import gc
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from msgspec import json

from rota.kube.api.access import ClusterAccess
from rota.kube.api.client import Client
from rota.kube.api.config import find_cluster
from rota.kube.api.credentials import Certificate, Credentials
from rota.kube.api.errors import NoCredentials, Unauthorised, Untrusted
from rota.kube.api.kubeconfig import read_kubeconfig
from rota.kube.api.resources import NAMESPACES, Resource
from rota.kube_objects.objects.metadata import KubeObject, KubeStruct
from tests.real.kube.certificates import SERVER_NAME, Authority
from tests.real.kube.cluster import TOKENS, Cluster
from tests.real.kube.control_plane import ControlPlane


class UserInfo(KubeStruct):
    username: str


class ReviewStatus(KubeStruct):
    user_info: UserInfo


class Review(KubeObject):
    status: ReviewStatus


pytestmark = pytest.mark.since("1.28", "before, nobody could ask the API server who it takes one for")

WHO_AM_I = Resource("authentication.k8s.io", "v1", "selfsubjectreviews", Review, is_namespaced=False)


async def name_of(client: Client) -> str:
    return (await client.create(WHO_AM_I, {})).status.user_info.username


def logged_in(access: ClusterAccess) -> str:
    async def main() -> str:
        async with Client(access) as client:
            return await name_of(client)

    return asyncio.run(main())


def kubeconfig(folder: Path, cluster: Cluster, user: dict[str, Any], **options: Any) -> ClusterAccess:
    file = folder / "kubeconfig"
    file.write_bytes(json.encode(cluster.kubeconfig(user, **options)))
    return read_kubeconfig([file])


def test_tokens(cluster: Cluster, tmp_path: Path) -> None:
    assert logged_in(kubeconfig(tmp_path, cluster, {"token": TOKENS["visitor"][0]})) == "visitor"
    with pytest.raises(Unauthorised, match="check the token or certificate"):
        logged_in(kubeconfig(tmp_path, cluster, {"token": "wrong"}))


async def test_a_token_that_rotates(cluster: Cluster, tmp_path: Path) -> None:
    (tmp_path / "ca.crt").write_text(cluster.ca_pem)
    (tmp_path / "namespace").write_text("default")
    (tmp_path / "token").write_text(TOKENS["visitor"][0])
    address = urlsplit(cluster.server)
    environment = {
        "KUBERNETES_SERVICE_HOST": address.hostname or "",
        "KUBERNETES_SERVICE_PORT": str(address.port),
    }

    access = find_cluster(environment=environment, service_account=tmp_path)
    async with Client(access) as client:
        assert await name_of(client) == "visitor"
        (tmp_path / "token").write_text(TOKENS["admin"][0])
        assert await name_of(client) == "visitor"
        access.credentials.refused(await access.credentials.current())
        assert await name_of(client) == "admin"


def test_a_server_of_somebody_else(cluster: Cluster, tmp_path: Path) -> None:
    stranger = base64.b64encode(Authority().pem).decode()
    token = {"token": TOKENS["admin"][0]}
    with pytest.raises(Untrusted):
        logged_in(kubeconfig(tmp_path, cluster, token, **{"certificate-authority-data": stranger}))
    with pytest.raises(Untrusted):
        logged_in(kubeconfig(tmp_path, cluster, token, **{"tls-server-name": "example.invalid"}))
    assert logged_in(kubeconfig(tmp_path, cluster, token, **{"tls-server-name": SERVER_NAME})) == "admin"
    unverified = {"certificate-authority-data": None, "insecure-skip-tls-verify": True}
    assert logged_in(kubeconfig(tmp_path, cluster, token, **unverified)) == "admin"


def test_certificates(breakable: ControlPlane, tmp_path: Path) -> None:
    chain, key = breakable.authority.client("certified", "system:masters")
    (tmp_path / "me.crt").write_bytes(chain)
    (tmp_path / "me.key").write_bytes(key)
    files = {"client-certificate": "me.crt", "client-key": "me.key"}
    assert logged_in(kubeconfig(tmp_path, breakable.cluster, files)) == "certified"
    (tmp_path / "me.key").write_text("nonsense")
    with pytest.raises(NoCredentials, match="the client certificate can't be used"):
        logged_in(kubeconfig(tmp_path, breakable.cluster, files))
    expired, key = breakable.authority.client("certified", lasts=-timedelta(minutes=1))
    (tmp_path / "me.crt").write_bytes(expired)
    (tmp_path / "me.key").write_bytes(key)
    with pytest.raises(Unauthorised):
        logged_in(kubeconfig(tmp_path, breakable.cluster, files))


class Replaced:
    """Shows one certificate after the other."""

    def __init__(self, certificates: Iterator[Certificate]) -> None:
        self._certificates = certificates
        self._current = Credentials(certificate=next(certificates))

    async def current(self) -> Credentials:
        return self._current

    def refused(self, credentials: Credentials) -> None:
        self._current = Credentials(certificate=next(self._certificates))


def test_a_certificate_that_is_replaced(breakable: ControlPlane) -> None:
    """Calls under way go on; new ones show the new certificate."""
    certificates = (
        Certificate(*breakable.authority.client(name, "system:masters")) for name in ("first", "second")
    )
    source = Replaced(certificates)
    access = ClusterAccess(breakable.cluster.server, source, breakable.cluster.ca_pem)

    async def main() -> None:
        async with Client(access) as client:
            [page] = [page async for page in client.pages(NAMESPACES)]
            watch = client.watch(NAMESPACES, page.resource_version, timeout_s=30)
            await client.create(NAMESPACES, {"metadata": {"generateName": "before-"}})
            assert await anext(watch)
            assert await name_of(client) == "first"
            source.refused(Credentials())
            assert await name_of(client) == "second"
            await client.create(NAMESPACES, {"metadata": {"generateName": "while-watching-"}})
            names: set[str] = set()
            while not any(name.startswith("while-watching-") for name in names):
                names |= {
                    change.object.metadata.name or ""
                    for change in await anext(watch)
                    if change.object is not None
                }
            await watch.aclose()

    asyncio.run(main())
    gc.collect()  # What is still open is a warning now, and so a failure.


def test_a_plugin(cluster: Cluster, tmp_path: Path) -> None:
    says = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "kind": "ExecCredential",
        "status": {"token": TOKENS["visitor"][0], "expirationTimestamp": "2000-01-01T00:00:00Z"},
    }
    (tmp_path / "says.json").write_bytes(json.encode(says))
    plugin = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": "cat",
        "args": [str(tmp_path / "says.json")],
        "interactiveMode": "Never",
    }
    assert logged_in(kubeconfig(tmp_path, cluster, {"exec": plugin})) == "visitor"
