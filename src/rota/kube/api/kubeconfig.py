"""kubeconfig files: clusters, users and contexts, of several files as one; of equal names the first wins."""

from __future__ import annotations

import base64
import os
import ssl
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

from rota.intake.checking.convert import convert
from rota.intake.documents.document import Document, read_documents
from rota.kube.api.access import ClusterAccess
from rota.kube.api.credentials import (
    Certificate,
    CredentialFiles,
    Credentials,
    CredentialSource,
    FixedCredentials,
)
from rota.kube.api.exec_plugin import API_VERSIONS, ExecPlugin, PluginCredentials
from rota.kube.api.kubeconfig_forms import ClusterForm, ConfigForm, ContextForm, Entry, ExecForm, UserForm

T = TypeVar("T")


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
        self._clusters: dict[str, Entry[ClusterForm]] = {}
        self._users: dict[str, Entry[UserForm]] = {}
        self._contexts: dict[str, Entry[ContextForm]] = {}

    def add(self, document: Document) -> None:
        config = convert(document, ConfigForm)
        self._first = self._first or document
        if config.current_context and self._current is None:
            self._current = (config.current_context, document)
        for index, cluster in enumerate(config.clusters or ()):
            entry = Entry(cluster.cluster, document, ("clusters", index, "cluster"))
            self._clusters.setdefault(cluster.name, entry)
        for index, user in enumerate(config.users or ()):
            found = Entry(user.user or UserForm(), document, ("users", index, "user"))
            self._users.setdefault(user.name, found)
        for index, context in enumerate(config.contexts or ()):
            named = Entry(context.context, document, ("contexts", index, "context"))
            self._contexts.setdefault(context.name, named)

    def context(self, wanted: str | None) -> Entry[ContextForm]:
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

    def cluster(self, chosen: Entry[ContextForm]) -> Entry[ClusterForm]:
        name = chosen.value.cluster
        if name not in self._clusters:
            raise chosen.error("cluster", f"there is no cluster {name!r}", _one_of(self._clusters))
        return self._clusters[name]

    def user(self, chosen: Entry[ContextForm]) -> Entry[UserForm]:
        name = chosen.value.user
        if not name:
            return Entry(UserForm(), chosen.document, chosen.path)
        if name not in self._users:
            raise chosen.error("user", f"there is no user {name!r}", _one_of(self._users))
        return self._users[name]


def _one_of(names: dict[str, T]) -> str:
    return f"use one of: {', '.join(sorted(names))}" if names else "add it"


def _address(cluster: Entry[ClusterForm]) -> str:
    server = cluster.value.server.rstrip("/")
    try:
        parts = urlsplit(server)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_address = False
    if not is_address:
        raise cluster.error("server", f"{server!r} is not an address", "write it as in https://10.0.0.1:6443")
    if cluster.value.proxy_url:
        raise cluster.error("proxy-url", "proxies are not supported", "use an address that needs none")
    return server


def _authority(cluster: Entry[ClusterForm]) -> str | None:
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


def _credentials(user: Entry[UserForm], cluster: Entry[ClusterForm]) -> CredentialSource:
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


def _client_certificate(user: Entry[UserForm]) -> tuple[Certificate | None, Path | None, Path | None]:
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


def _pem(user: Entry[UserForm], key: str, data: str | None, file: str | None) -> bytes:
    if data:
        return user.decoded(f"{key}-data", data)
    path = user.file(key, file or "")
    try:
        return path.read_bytes()
    except OSError as error:
        raise user.error(key, f"{path} can't be read: {error.strerror}", "check its mode") from None


def _plugin(config: ExecForm, user: Entry[UserForm], cluster: Entry[ClusterForm]) -> ExecPlugin:
    at = user._replace(path=(*user.path, "exec"))
    if config.api_version not in API_VERSIONS:
        raise at.error("apiVersion", f"{config.api_version!r} is not known", f"use {API_VERSIONS[0]}")
    if config.interactive_mode == "Always":
        raise at.error(
            "interactiveMode", "there is no terminal to ask for it", "use a plugin that can do without"
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


def _told_of(cluster: Entry[ClusterForm]) -> dict[str, object]:
    config = cluster.value
    authority = _authority(cluster)
    told = {
        "server": config.server,
        "tls-server-name": config.tls_server_name,
        "insecure-skip-tls-verify": config.insecure_skip_tls_verify or None,
        "certificate-authority-data": authority and base64.b64encode(authority.encode()).decode(),
    }
    return {key: value for key, value in told.items() if value}
