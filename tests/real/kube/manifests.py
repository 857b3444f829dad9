"""What is given away to be installed, applied to an API server; and the account that it makes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeAlias

import yaml

from rota.kube.api.client import Client
from rota.kube.api.errors import AlreadyExists
from rota.kube.api.resources import Resource
from rota.kube_objects.objects.metadata import KubeObject, KubeStruct

Manifest: TypeAlias = dict[str, Any]

DEPLOY = Path(__file__).parents[3] / "deploy"
NAME = "batch-scheduler"
NAMESPACE = "batch-scheduler-system"
_CLUSTER_WIDE = {"Namespace", "ClusterRole", "ClusterRoleBinding"}


class TokenStatus(KubeStruct):
    token: str


class TokenRequest(KubeObject):
    status: TokenStatus | None = None


def read(text: str) -> list[Manifest]:
    return [document for document in yaml.safe_load_all(text) if document]


def read_manifest() -> list[Manifest]:
    return read((DEPLOY / "batch-scheduler.yaml").read_text())


async def apply(client: Client, documents: Iterable[Manifest], namespace: str = "") -> None:
    """Those that are there already stay as they are. `namespace`: of those that name none."""
    for document in documents:
        metadata = document["metadata"]
        with contextlib.suppress(AlreadyExists):
            await client.create(resource_of(document), document, metadata.get("namespace", namespace))


def resource_of(document: Manifest) -> Resource[KubeObject]:
    kind = document["kind"]
    group, _, version = document["apiVersion"].rpartition("/")
    plural = f"{kind.lower()}s" if not kind.endswith("y") else f"{kind[:-1].lower()}ies"
    return Resource(group, version, plural, KubeObject, kind not in _CLUSTER_WIDE)


async def new_token(client: Client, account: str = NAME, namespace: str = NAMESPACE) -> str:
    """Of that account, with an id of its own."""
    tokens: Resource[TokenRequest] = Resource("", "v1", f"serviceaccounts/{account}/token", TokenRequest)
    made = await client.create(tokens, {"spec": {"audiences": None}}, namespace)
    assert made.status is not None
    return made.status.token
