"""Credential plugins: programs, as a kubeconfig names them."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from msgspec import json

from rota.kube.api.credentials import Certificate
from rota.kube.api.errors import NoCredentials
from rota.kube.api.exec_plugin import API_VERSIONS, ExecPlugin, PluginCredentials

EXPIRES = "2030-01-01T00:00:00Z"
EXPIRES_S = 1_893_456_000.0


def answer(version: str = API_VERSIONS[0], **status: Any) -> str:
    return json.encode({"apiVersion": version, "kind": "ExecCredential", "status": status}).decode()


def plugin(folder: Path, script: str, **options: Any) -> ExecPlugin:
    """Each run leaves a line in `runs`, and what it was asked in `asked`."""
    file = folder / "plugin"
    file.write_text(
        f'#!/bin/sh\necho run >>{folder}/runs\nprintf %s "$KUBERNETES_EXEC_INFO" >{folder}/asked\n{script}\n'
    )
    file.chmod(0o755)
    return ExecPlugin(str(file), **options)


def runs(folder: Path) -> int:
    return len((folder / "runs").read_text().splitlines())


async def test_a_token_until_it_expires(tmp_path: Path) -> None:
    now_s = EXPIRES_S - 100

    says = answer(token="t", expirationTimestamp=EXPIRES)
    source = PluginCredentials(plugin(tmp_path, f"echo '{says}'"), clock=lambda: now_s)
    first = await source.current()
    assert first.token == "t"
    assert await source.current() is first
    assert runs(tmp_path) == 1
    now_s = EXPIRES_S - 5
    assert await source.current() is first, "the same token, asked for anew"
    assert runs(tmp_path) == 2


async def test_it_is_asked_again_when_refused_by_one_at_a_time(tmp_path: Path) -> None:
    source = PluginCredentials(plugin(tmp_path, f"echo '{answer(token='t')}'"))
    found = await asyncio.gather(*(source.current() for _ in range(5)))
    assert runs(tmp_path) == 1
    source.refused(found[0])
    await source.current()
    assert runs(tmp_path) == 2


def test_a_plugin_may_answer_with_a_certificate(tmp_path: Path) -> None:
    says = answer(clientCertificateData="chain", clientKeyData="key")
    source = PluginCredentials(plugin(tmp_path, f"echo '{says}'"))
    assert asyncio.run(source.current()).certificate == Certificate(b"chain", b"key")


def test_a_plugin_is_given_its_arguments_and_environment(tmp_path: Path) -> None:
    made = plugin(
        tmp_path,
        f'[ "$1 $COLOUR" = "get blue" ] && echo \'{answer(API_VERSIONS[1], token="t")}\'',
        args=("get",),
        environment=(("COLOUR", "blue"),),
        api_version=API_VERSIONS[1],
        cluster={"server": "https://here"},
    )
    assert asyncio.run(PluginCredentials(made).current()).token == "t"
    assert json.decode((tmp_path / "asked").read_bytes()) == {
        "apiVersion": API_VERSIONS[1],
        "kind": "ExecCredential",
        "spec": {"interactive": False, "cluster": {"server": "https://here"}},
    }


@pytest.mark.parametrize(
    "script, problem",
    [
        ("echo 'log in first' >&2; exit 3", "ended with status 3: log in first"),
        ("echo nonsense", "its answer is no ExecCredential"),
        (f"echo '{answer(API_VERSIONS[1], token='t')}'", "was asked for"),
        (f"echo '{answer()}'", "gives neither a token nor a certificate"),
        (f"echo '{answer(clientKeyData='key')}'", "without the other"),
        (f"echo '{answer(token='t', expirationTimestamp='soon')}'", "expirationTimestamp"),
    ],
)
def test_plugins_that_dont_work(tmp_path: Path, script: str, problem: str) -> None:
    made = plugin(tmp_path, script)
    with pytest.raises(NoCredentials, match=problem) as raised:
        asyncio.run(PluginCredentials(made).current())
    assert made.command in str(raised.value)


def test_a_plugin_that_isnt_there(tmp_path: Path) -> None:
    missing = ExecPlugin(str(tmp_path / "none"), install_hint="get it from the shelf")
    with pytest.raises(NoCredentials, match=r"can't be started: .*; get it from the shelf"):
        asyncio.run(PluginCredentials(missing).current())


def test_a_plugin_that_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rota.kube.api.exec_plugin.GIVEN_UP_AFTER_S", 0.1)
    with pytest.raises(NoCredentials, match="gave nothing"):
        asyncio.run(PluginCredentials(plugin(tmp_path, "exec sleep 60")).current())
