"""kubeconfig files: what they mean, and what is wrong with them."""

import asyncio
import base64
import ssl
from pathlib import Path
from typing import Any

import pytest
import yaml

from rota.intake.errors import InputError
from rota.kube.api.credentials import Certificate, CredentialFiles, Credentials, FixedCredentials
from rota.kube.api.exec_plugin import ExecPlugin, PluginCredentials
from rota.kube.api.kubeconfig import read_kubeconfig
from tests.real.kube.certificates import Authority

AUTHORITY = Authority()
CA_DATA = base64.b64encode(AUTHORITY.pem).decode()


def config(
    user: dict[str, Any] | None = None, cluster: dict[str, Any] | None = None, **context: Any
) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "here",
        "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u", **context}}],
        "clusters": [{"name": "c", "cluster": {"server": "https://10.0.0.1:6443/", **(cluster or {})}}],
        "users": [{"name": "u", "user": {"token": "t"} if user is None else user}],
        "preferences": {},
    }


def written(folder: Path, content: object, name: str = "config") -> Path:
    file = folder / name
    file.write_text(content if isinstance(content, str) else yaml.safe_dump(content))
    return file


def credentials(folder: Path, user: dict[str, Any]) -> Credentials:
    source = read_kubeconfig([written(folder, config(user))]).credentials
    return asyncio.run(source.current())


def test_address_and_namespace(tmp_path: Path) -> None:
    access = read_kubeconfig([written(tmp_path, config(namespace="team-a"))])
    assert (access.server, access.namespace) == ("https://10.0.0.1:6443", "team-a")
    assert access.is_verified
    assert read_kubeconfig([written(tmp_path, config())]).namespace == "default"


def test_tokens(tmp_path: Path) -> None:
    assert credentials(tmp_path, {"token": "t"}).token == "t"
    assert credentials(tmp_path, {}) == Credentials()
    written(tmp_path, "from a file\n".replace(" ", "-"), "token")
    found = credentials(tmp_path, {"token": "old", "tokenFile": "token"})
    assert found.token == "from-a-file", "the file goes before the token, and is found beside the kubeconfig"


def test_certificates_by_data_and_by_file(tmp_path: Path) -> None:
    chain, key = AUTHORITY.client("me")
    (tmp_path / "me.crt").write_bytes(chain)
    (tmp_path / "me.key").write_bytes(key)
    chain_data, key_data = (base64.b64encode(one).decode() for one in (chain, key))
    for user in (
        {"client-certificate": "me.crt", "client-key": "me.key"},
        {"client-certificate": str(tmp_path / "me.crt"), "client-key": "me.key"},
        {"client-certificate-data": chain_data, "client-key-data": key_data},
        {"client-certificate": "me.crt", "client-key-data": key_data},
    ):
        assert credentials(tmp_path, user).certificate == Certificate(chain, key)


def test_tls(tmp_path: Path) -> None:
    (tmp_path / "ca.crt").write_bytes(AUTHORITY.pem)
    by_file = read_kubeconfig([written(tmp_path, config(cluster={"certificate-authority": "ca.crt"}))])
    by_data = read_kubeconfig([written(tmp_path, config(cluster={"certificate-authority-data": CA_DATA}))])
    assert by_file.ca_pem == by_data.ca_pem == AUTHORITY.pem.decode()
    context = by_data.tls(Certificate(*AUTHORITY.client("me")))
    assert context is not None
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.cert_store_stats()["x509_ca"] == 1

    unverified = read_kubeconfig([written(tmp_path, config(cluster={"insecure-skip-tls-verify": True}))])
    context = unverified.tls(None)
    assert context is not None
    assert context.verify_mode is ssl.CERT_NONE

    named = read_kubeconfig([written(tmp_path, config(cluster={"tls-server-name": "kubernetes"}))])
    assert named.server_name == "kubernetes"
    plain = read_kubeconfig([written(tmp_path, config(cluster={"server": "http://localhost:8001"}))])
    assert plain.tls(None) is None


def test_plugins(tmp_path: Path) -> None:
    given = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": "./bin/login",
        "args": ["get"],
        "env": [{"name": "A", "value": "b"}],
        "interactiveMode": "IfAvailable",
        "provideClusterInfo": True,
        "installHint": "ask around\n",
    }
    cluster = {"certificate-authority-data": CA_DATA, "tls-server-name": "kubernetes"}
    source = read_kubeconfig([written(tmp_path, config({"exec": given}, cluster))]).credentials
    assert isinstance(source, PluginCredentials)
    assert source._plugin == ExecPlugin(
        command=str(tmp_path / "bin/login"),
        args=("get",),
        environment=(("A", "b"),),
        install_hint="ask around",
        cluster={
            "server": "https://10.0.0.1:6443/",
            "certificate-authority-data": CA_DATA,
            "tls-server-name": "kubernetes",
        },
    )
    bare = {"apiVersion": "client.authentication.k8s.io/v1beta1", "command": "login"}
    source = read_kubeconfig([written(tmp_path, config({"exec": bare}))]).credentials
    assert isinstance(source, PluginCredentials)
    assert source._plugin.command == "login", "to be found in PATH"


def test_several_files_are_one(tmp_path: Path) -> None:
    nested = tmp_path / "nested"
    nested.mkdir()
    (nested / "token").write_text("theirs")
    first = config()
    del first["users"], first["current-context"]
    first["contexts"].append({"name": "there", "context": {"cluster": "c2", "user": "u"}})
    second = config({"tokenFile": "token"}, {"server": "https://other"})
    second["clusters"].append({"name": "c2", "cluster": {"server": "https://10.0.0.2"}})
    files = [written(tmp_path, first), written(nested, second)]

    access = read_kubeconfig(files)
    assert access.server == "https://10.0.0.1:6443", "the first that has a name wins"
    assert isinstance(access.credentials, CredentialFiles)
    assert asyncio.run(access.credentials.current()).token == "theirs"
    assert read_kubeconfig(files, "there").server == "https://10.0.0.2"


def test_no_user_is_nobody(tmp_path: Path) -> None:
    access = read_kubeconfig([written(tmp_path, config(user={}))])
    assert isinstance(access.credentials, FixedCredentials)
    assert asyncio.run(access.credentials.current()) == Credentials()


EXEC = {"apiVersion": "client.authentication.k8s.io/v1", "command": "x"}


@pytest.mark.parametrize(
    "content, error",
    [
        ("{", "not valid"),
        ("", "is empty"),
        ({**config(), "current-context": ""}, "current-context: no context is chosen"),
        (
            {**config(), "current-context": "no"},
            "current-context: there is no context 'no'; use one of: here",
        ),
        ({**config(), "clusters": None}, r"contexts\[0\].context.cluster: there is no cluster 'c'; add it"),
        ({**config(), "users": []}, r"contexts\[0\].context.user: there is no user 'u'; add it"),
        ({**config(), "users": "x"}, "users: expected a list"),
        (config({"token": 7}), r"users\[0\].user.token: expected text"),
        (
            config({"tokenFile": "none"}),
            r"users\[0\].user.tokenFile: there is no file .*none; check the path",
        ),
        (config({"username": "me", "password": "x"}), r"user.username: this way of logging in is not"),
        (config({"auth-provider": {"name": "x"}}), "user.auth-provider: this way of logging in is not"),
        (config({"as": "boss"}), "user.as: this way of logging in is not supported; use a token"),
        (
            config({"client-certificate": "x"}),
            "user.client-key: is missing; give the certificate and its key",
        ),
        (config({"client-key-data": "x"}), "user.client-certificate: is missing"),
        (
            config({"client-certificate-data": "x", "client-key-data": "!"}),
            "user.client-certificate-data: is not base64",
        ),
        (config({"client-certificate": "x", "client-key": "y"}), "user.client-certificate: there is no file"),
        (
            config({"exec": {**EXEC, "apiVersion": "v7"}}),
            "user.exec.apiVersion: 'v7' is not known; use client",
        ),
        (
            config({"exec": {**EXEC, "interactiveMode": "Always"}}),
            "user.exec.interactiveMode: there is no terminal",
        ),
        (config({"exec": {"apiVersion": "x"}}), "user.exec.command"),
        (config(cluster={"server": "10.0.0.1:6443"}), r"clusters\[0\].cluster.server: '10.0.0.1:6443' is no"),
        (config(cluster={"server": "https://a:port"}), "cluster.server: 'https://a:port' is not an address"),
        (config(cluster={"proxy-url": "http://p"}), "cluster.proxy-url: proxies are not supported; use an"),
        (config(cluster={"certificate-authority": "no"}), "cluster.certificate-authority: there is no file"),
        (
            config(cluster={"certificate-authority-data": "bm9uZQ=="}),
            "cluster.certificate-authority-data: holds no certificate; give certificates in PEM form",
        ),
        (
            config(cluster={"certificate-authority-data": CA_DATA, "insecure-skip-tls-verify": True}),
            "cluster.insecure-skip-tls-verify: makes the certificate authority useless",
        ),
    ],
)
def test_what_is_wrong(tmp_path: Path, content: object, error: str) -> None:
    file = written(tmp_path, content)
    with pytest.raises(InputError, match=error) as raised:
        read_kubeconfig([file])
    assert str(raised.value).startswith(str(file))


def test_a_context_that_isnt_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="contexts: there is no context 'prod'; use one of: here"):
        read_kubeconfig([written(tmp_path, config())], "prod")
