"""What stands in a kubeconfig, and where: errors name the file, its line and the field."""

from __future__ import annotations

import base64
import binascii
from pathlib import Path
from typing import Any, Generic, Literal, NamedTuple, TypeVar

from msgspec import Struct, field

from rota.intake.documents.document import Document
from rota.intake.errors import InputError

T = TypeVar("T")


class ClusterForm(Struct, rename="kebab"):
    server: str
    certificate_authority: str | None = None
    certificate_authority_data: str | None = None
    insecure_skip_tls_verify: bool = False
    tls_server_name: str | None = None
    proxy_url: str | None = None


class VariableForm(Struct):
    name: str
    value: str


class ExecForm(Struct, rename="camel"):
    command: str
    api_version: str
    args: list[str] | None = None
    env: list[VariableForm] | None = None
    install_hint: str | None = None
    provide_cluster_info: bool = False
    interactive_mode: Literal["Never", "IfAvailable", "Always"] | None = None


class UserForm(Struct, rename="kebab"):
    token: str | None = None
    token_file: str | None = field(default=None, name="tokenFile")
    client_certificate: str | None = None
    client_certificate_data: str | None = None
    client_key: str | None = None
    client_key_data: str | None = None
    exec: ExecForm | None = None
    username: str | None = None
    auth_provider: dict[str, Any] | None = None
    impersonate: str | None = field(default=None, name="as")


class ContextForm(Struct):
    cluster: str
    user: str | None = None
    namespace: str | None = None


class NamedClusterForm(Struct):
    name: str
    cluster: ClusterForm


class NamedUserForm(Struct):
    name: str
    user: UserForm | None = None


class NamedContextForm(Struct):
    name: str
    context: ContextForm


class ConfigForm(Struct, rename="kebab"):
    current_context: str | None = None
    clusters: list[NamedClusterForm] | None = None
    users: list[NamedUserForm] | None = None
    contexts: list[NamedContextForm] | None = None


class Entry(NamedTuple, Generic[T]):
    """Something of a file, and where it stands there."""

    value: T
    document: Document
    path: tuple[str | int, ...]

    def error(self, key: str, problem: str, remedy: str) -> InputError:
        return self.document.error((*self.path, key) if key else self.path, problem, remedy)

    def file(self, key: str, name: str) -> Path:
        """Relative names are relative to the file that they stand in."""
        path = Path(self.document.path).parent / name
        if not path.is_file():
            raise self.error(key, f"there is no file {path}", "check the path")
        return path

    def decoded(self, key: str, text: str) -> bytes:
        try:
            return base64.b64decode(text, validate=True)
        except binascii.Error:
            raise self.error(key, "is not base64", "encode the PEM text with `base64 -w0`") from None
