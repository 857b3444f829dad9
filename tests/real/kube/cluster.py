"""A cluster as its users know it: its address, whom to trust, and who may log in."""

from __future__ import annotations

import base64
from typing import Any

from msgspec import Struct

from rota.kube.api.access import ClusterAccess
from rota.kube.api.credentials import Credentials, FixedCredentials

TOKENS = {
    "admin": ("admin-token", "system:masters"),
    "visitor": ("visitor-token", "visitors"),
}
"""Of users: their token and group. Visitors may do nothing but what a test allows them."""


class Cluster(Struct, frozen=True):
    server: str
    ca_pem: str

    def access(self, user: str = "admin", namespace: str = "default") -> ClusterAccess:
        token, _ = TOKENS[user]
        return self.access_with(Credentials(token), namespace)

    def access_with(self, credentials: Credentials, namespace: str = "default") -> ClusterAccess:
        return ClusterAccess(self.server, FixedCredentials(credentials), self.ca_pem, namespace=namespace)

    def kubeconfig(self, user: dict[str, Any], **cluster: Any) -> dict[str, Any]:
        """JSON is YAML."""
        authority = base64.b64encode(self.ca_pem.encode()).decode()
        return {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "here",
            "contexts": [{"name": "here", "context": {"cluster": "here", "user": "me"}}],
            "clusters": [
                {
                    "name": "here",
                    "cluster": {"server": self.server, "certificate-authority-data": authority, **cluster},
                }
            ],
            "users": [{"name": "me", "user": user}],
        }
