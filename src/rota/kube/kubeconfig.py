"""kubeconfig files: clusters, users and contexts, of several files as one; of equal names the first wins."""

from __future__ import annotations

import base64
import binascii
import os
import ssl
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Generic, Literal, NamedTuple, TypeVar
from urllib.parse import urlsplit

from msgspec import Struct, field

from rota.intake.convert import convert
from rota.intake.document import Document, read_documents
from rota.intake.errors import InputError
from rota.kube.access import ClusterAccess
from rota.kube.credentials import (
    Certificate,
    CredentialFiles,
    Credentials,
    CredentialSource,
    FixedCredentials,
)
from rota.kube.exec_plugin import API_VERSIONS, ExecPlugin, PluginCredentials

T = TypeVar("T")


class _Cluster(Struct, rename="kebab"):
    server: str
    certificate_authority: str | None = None
    certificate_authority_data: str | None = None
    insecure_skip_tls_verify: bool = False
    tls_server_name: str | None = None
    proxy_url: str | None = None


class _Variable(Struct):
    name: str
    value: str


class _Exec(Struct, rename="camel"):
    command: str
    api_version: str
    args: list[str] | None = None
    env: list[_Variable] | None = None
    install_hint: str | None = None
    provide_cluster_info: bool = False
    interactive_mode: Literal["Never", "IfAvailable", "Always"] | None = None


class _User(Struct, rename="kebab"):
    token: str | None = None
    token_file: str | None = field(default=None, name="tokenFile")
    client_certificate: str | None = None
    client_certificate_data: str | None = None
    client_key: str | None = None
    client_key_data: str | None = None
    exec: _Exec | None = None
    username: str | None = None
    auth_provider: dict[str, Any] | None = None
    impersonate: str | None = field(default=None, name="as")


class _Context(Struct):
    cluster: str
    user: str | None = None
    namespace: str | None = None


class _NamedCluster(Struct):
    name: str
    cluster: _Cluster


class _NamedUser(Struct):
    name: str
    user: _User | None = None


class _NamedContext(Struct):
    name: str
    context: _Context


class _Config(Struct, rename="kebab"):
    current_context: str | None = None
    clusters: list[_NamedCluster] | None = None
    users: list[_NamedUser] | None = None
    contexts: list[_NamedContext] | None = None


class _Entry(NamedTuple, Generic[T]):
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


def read_kubeconfig(files: Sequence[Path], context: str | None = None) -> ClusterAccess:
    """The cluster and user of the context, or of the one that is current."""
    merged = _Merged()
    for file in files:
        merged.add(read_documents(file)[0])
    chosen = merged.context(context)
    cluster = merged.cluster(chosen)
    user = merged.user(chosen)
    return ClusterAccess(
        server=_address(cluster),
        credentials=_credentials(user, cluster),
        ca_pem=_authority(cluster),
        server_name=cluster.value.tls_server_name or None,
        is_verified=not cluster.value.insecure_skip_tls_verify,
        namespace=chosen.value.namespace or "default",
    )


class _Merged:
    def __init__(self) -> None:
        self._first: Document | None = None
        self._current: tuple[str, Document] | None = None
        self._clusters: dict[str, _Entry[_Cluster]] = {}
        self._users: dict[str, _Entry[_User]] = {}
        self._contexts: dict[str, _Entry[_Context]] = {}

    def add(self, document: Document) -> None:
        config = convert(document, _Config)
        self._first = self._first or document
        if config.current_context and self._current is None:
            self._current = (config.current_context, document)
        for index, cluster in enumerate(config.clusters or ()):
            entry = _Entry(cluster.cluster, document, ("clusters", index, "cluster"))
            self._clusters.setdefault(cluster.name, entry)
        for index, user in enumerate(config.users or ()):
            found = _Entry(user.user or _User(), document, ("users", index, "user"))
            self._users.setdefault(user.name, found)
        for index, context in enumerate(config.contexts or ()):
            named = _Entry(context.context, document, ("contexts", index, "context"))
            self._contexts.setdefault(context.name, named)

    def context(self, wanted: str | None) -> _Entry[_Context]:
        assert self._first is not None, "a kubeconfig has at least one file"
        name, document = (wanted, self._first) if wanted else (self._current or ("", self._first))
        if not name:
            raise document.error(
                ("current-context",), "no context is chosen", "`kubectl config use-context NAME` chooses one"
            )
        if name not in self._contexts:
            path = ("contexts",) if wanted else ("current-context",)
            raise document.error(path, f"there is no context {name!r}", _one_of(self._contexts))
        return self._contexts[name]

    def cluster(self, chosen: _Entry[_Context]) -> _Entry[_Cluster]:
        name = chosen.value.cluster
        if name not in self._clusters:
            raise chosen.error("cluster", f"there is no cluster {name!r}", _one_of(self._clusters))
        return self._clusters[name]

    def user(self, chosen: _Entry[_Context]) -> _Entry[_User]:
        name = chosen.value.user
        if not name:
            return _Entry(_User(), chosen.document, chosen.path)
        if name not in self._users:
            raise chosen.error("user", f"there is no user {name!r}", _one_of(self._users))
        return self._users[name]


def _one_of(names: dict[str, T]) -> str:
    return f"use one of: {', '.join(sorted(names))}" if names else "add it"


def _address(cluster: _Entry[_Cluster]) -> str:
    server = cluster.value.server.rstrip("/")
    try:
        parts = urlsplit(server)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_address = False
    if not is_address:
        raise cluster.error("server", f"{server!r} is no address", "write it as in https://10.0.0.1:6443")
    if cluster.value.proxy_url:
        raise cluster.error("proxy-url", "proxies are not supported", "use an address that needs none")
    return server


def _authority(cluster: _Entry[_Cluster]) -> str | None:
    config = cluster.value
    if config.certificate_authority_data:
        key = "certificate-authority-data"
        pem = cluster.decoded(key, config.certificate_authority_data)
    elif config.certificate_authority:
        key = "certificate-authority"
        file = cluster.file(key, config.certificate_authority)
        try:
            pem = file.read_bytes()
        except OSError as error:
            raise cluster.error(key, f"{file} can't be read: {error.strerror}", "check its mode") from None
    else:
        return None
    if config.insecure_skip_tls_verify:
        raise cluster.error(
            "insecure-skip-tls-verify", "makes the certificate authority useless", "remove one of them"
        )
    try:
        text = pem.decode("ascii")
        ssl.create_default_context(cadata=text)
    except (ssl.SSLError, ValueError):
        raise cluster.error(key, "holds no certificate", "give certificates in PEM form") from None
    return text


def _credentials(user: _Entry[_User], cluster: _Entry[_Cluster]) -> CredentialSource:
    config = user.value
    for key, given in (
        ("username", config.username),
        ("auth-provider", config.auth_provider),
        ("as", config.impersonate),
    ):
        if given:
            raise user.error(
                key, "this way of logging in is not supported", "use a token, a client certificate or exec"
            )
    if config.exec is not None:
        return PluginCredentials(_plugin(config.exec, user, cluster))
    certificate, chain_file, key_file = _client_certificate(user)
    token_file = user.file("tokenFile", config.token_file) if config.token_file else None
    fixed = Credentials(config.token or None, certificate)
    if token_file or chain_file:
        return CredentialFiles(token=token_file, certificate=chain_file, key=key_file, otherwise=fixed)
    return FixedCredentials(fixed)


def _client_certificate(user: _Entry[_User]) -> tuple[Certificate | None, Path | None, Path | None]:
    """As data, or as the files of the certificate and its key."""
    config = user.value
    has_chain = bool(config.client_certificate_data or config.client_certificate)
    has_key = bool(config.client_key_data or config.client_key)
    if has_chain != has_key:
        missing = "client-key" if has_chain else "client-certificate"
        raise user.error(missing, "is missing", "give the certificate and its key, or neither")
    if config.client_certificate_data or config.client_key_data:
        chain = _pem(user, "client-certificate", config.client_certificate_data, config.client_certificate)
        key = _pem(user, "client-key", config.client_key_data, config.client_key)
        return Certificate(chain, key), None, None
    if config.client_certificate and config.client_key:
        return (
            None,
            user.file("client-certificate", config.client_certificate),
            user.file("client-key", config.client_key),
        )
    return None, None, None


def _pem(user: _Entry[_User], key: str, data: str | None, file: str | None) -> bytes:
    if data:
        return user.decoded(f"{key}-data", data)
    path = user.file(key, file or "")
    try:
        return path.read_bytes()
    except OSError as error:
        raise user.error(key, f"{path} can't be read: {error.strerror}", "check its mode") from None


def _plugin(config: _Exec, user: _Entry[_User], cluster: _Entry[_Cluster]) -> ExecPlugin:
    at = user._replace(path=(*user.path, "exec"))
    if config.api_version not in API_VERSIONS:
        raise at.error("apiVersion", f"{config.api_version!r} is not known", f"use {API_VERSIONS[0]}")
    if config.interactive_mode == "Always":
        raise at.error(
            "interactiveMode", "nobody is there to answer questions", "use a plugin that can do without"
        )
    command = config.command
    if os.sep in command:
        # Names alone are looked up in PATH; others are relative to the file, as other paths are.
        command = str(Path(at.document.path).parent / command)
    return ExecPlugin(
        command=command,
        args=tuple(config.args or ()),
        environment=tuple((one.name, one.value) for one in config.env or ()),
        api_version=config.api_version,
        install_hint=(config.install_hint or "").strip(),
        cluster=_told_of(cluster) if config.provide_cluster_info else None,
    )


def _told_of(cluster: _Entry[_Cluster]) -> dict[str, object]:
    config = cluster.value
    authority = _authority(cluster)
    told = {
        "server": config.server,
        "tls-server-name": config.tls_server_name,
        "insecure-skip-tls-verify": config.insecure_skip_tls_verify or None,
        "certificate-authority-data": authority and base64.b64encode(authority.encode()).decode(),
    }
    return {key: value for key, value in told.items() if value}
