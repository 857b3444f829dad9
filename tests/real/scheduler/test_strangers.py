"""Controllers that can't be believed, and connections that others could read."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import grpc
import pytest
from cryptography.hazmat.primitives.serialization import Encoding

from rota.clock import now_ms
from rota.stateless_scheduler.client import Action, SchedulerRefused
from rota.trust import SERVER_NAME, Authority
from rota.trust.folder import AgentIdentity, write_identity
from rota.trust.keys import key_pem, new_key
from rota.wire import controllers_pb2 as wire
from rota.wire.controllers_pb2_grpc import ControllersStub
from tests.real.scheduler.ledger import Remembering, directing, token_of
from tests.real.scheduler.stand import PATIENT_S, SchedulerStand
from tests.real.server.rota_server import shell

pytestmark = [pytest.mark.slow, pytest.mark.covers("ops-3")]


def hello(**fields: Any) -> wire.ControllerNews:
    believed: dict[str, Any] = {"protocol": 1, "name": "ci", "token": token_of("ci")}
    return wire.ControllerNews(hello=wire.Hello(**(believed | fields)))


async def refusal(target: str, *words: wire.ControllerNews) -> tuple[grpc.StatusCode, str]:
    async with grpc.aio.insecure_channel(target) as channel:
        stub: Any = ControllersStub(channel)
        call = stub.Direct()
        for word in words:
            await call.write(word)
        async with asyncio.timeout(30):
            with suppress(grpc.aio.AioRpcError):
                while await call.read() is not grpc.aio.EOF:
                    pass
            return await call.code(), await call.details()


async def test_who_is_refused_and_why(stand: SchedulerStand) -> None:
    ledger = Remembering()
    with pytest.raises(SchedulerRefused, match="token"):
        async with directing(stand.controllers, ledger, "ci", token_of("nightly")):
            pass
    with pytest.raises(SchedulerRefused, match="token"):
        async with directing(stand.controllers, ledger, "nobody", token_of("ci")):
            pass
    code, why = await refusal(stand.controllers, hello(protocol=2))
    assert (code, "upgrade the scheduler" in why) == (grpc.StatusCode.FAILED_PRECONDITION, True)
    code, why = await refusal(stand.controllers, hello(), hello())
    assert (code, "twice" in why) == (grpc.StatusCode.INVALID_ARGUMENT, True)
    code, why = await refusal(stand.controllers, wire.ControllerNews(submit=wire.Submit()))
    assert code is grpc.StatusCode.FAILED_PRECONDITION
    async with directing(stand.controllers, ledger) as client:
        stand.agent("one")
        bad = Action("bad", shell("true", resources={"cpu": -1}))
        client.submit(ledger.add(bad, Action("good", shell("echo well"))))
        assert (await ledger.end_of("good")).outcome == "succeeded"
        [refused] = ledger.refusals
        assert (refused.action, refused.field) == ("bad", "job.resources.cpu")


@pytest.mark.parametrize(
    "flags, said",
    [
        (("--tokens", "missing"), "can't be read"),
        (("--agents", "0.0.0.0:0"), "--agents-cert"),
        (("--agents", "127.0.0.1:0"), "--agents unix"),
        (("--controllers", "0.0.0.0:0"), "could read tokens"),
        (("--rest", "0.0.0.0:0"), "could read tokens"),
        (("--lost-after", "soon"), "--lost-after"),
        (("--lost-after", "1s"), "too short"),
        (("--agents", "nowhere"), "not an address and port"),
        (("--tls-cert", "x.pem"), "--tls-key"),
        (("--policy", "missing.yaml"), "missing.yaml"),
        (("--public-url", "rota.example.org:8426"), "is not a URL"),
        (("--public-url", "https://[rota"), "is not a URL"),
        (("--authority", "missing"), "rota scheduler authority missing"),
        (("--authority", "a", "--agents-cert", "b", "--agents-key", "c", "--agents-ca", "d"), "not both"),
    ],
)
def test_options_that_will_not_do(tmp_path: Path, flags: tuple[str, ...], said: str) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text(f"ci {token_of('ci')}\n")
    tokens.chmod(0o600)
    agents = f"unix:{tmp_path / 'door' / 'a.sock'}"
    given = ("--tokens", str(tokens), "--agents", agents, "--controllers", "127.0.0.1:0")
    done = subprocess.run(
        [sys.executable, "-m", "rota", "scheduler", *given, "--rest", "127.0.0.1:0", *flags],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=60,
    )
    assert done.returncode != 0
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_with_certificates(tmp_path: Path) -> None:
    authority = Authority.create(now_ms())
    (tmp_path / "ca.pem").write_bytes(authority.pem)
    rest = _certified(tmp_path / "rest", authority, "127.0.0.1", "localhost")
    agents = _certified(tmp_path / "agents", authority, SERVER_NAME)
    flags = (
        *("--tls-cert", rest[0], "--tls-key", rest[1]),
        *("--agents-cert", agents[0], "--agents-key", agents[1], "--agents-ca", str(tmp_path / "ca.pem")),
    )
    stand = SchedulerStand(tmp_path / "stand", PATIENT_S, *flags)
    stand.start(is_tls=True)
    _join(tmp_path / "stand" / "one", authority, stand)

    async def check() -> None:
        ledger = Remembering()
        async with directing(stand.controllers, ledger, ca=authority.pem) as client:
            stand.agent("one")
            client.submit(ledger.add(Action("a", shell("printf x > out; echo hi", outputs=["out"]))))
            assert (await ledger.end_of("a")).outcome == "succeeded"
            assert (ledger.wrote("a"), ledger.files) == (b"hi\n", {("a", "out"): b"x"})

    try:
        asyncio.run(check())
    finally:
        stand.remove()


def _certified(path: Path, authority: Authority, *hosts: str) -> tuple[str, str]:
    """Files of a certificate and its key."""
    key = new_key()
    made = authority.certify_server(key.public_key(), hosts, now_ms(), 10**9)
    certificate, secret = path.with_suffix(".crt"), path.with_suffix(".key")
    certificate.write_bytes(made.public_bytes(Encoding.PEM))
    secret.write_bytes(key_pem(key))
    return str(certificate), str(secret)


def _join(folder: Path, authority: Authority, stand: SchedulerStand) -> None:
    key = new_key()
    certificate = authority.certify_agent("one", key.public_key(), now_ms())
    folder.mkdir(parents=True)
    identity = AgentIdentity(
        name="one",
        server=f"https://{stand.rest}",
        agents_address=stand.target,
        key=key_pem(key).decode(),
        certificate=certificate.public_bytes(Encoding.PEM).decode(),
        authority=authority.pem.decode(),
    )
    write_identity(folder, identity)


async def test_one_who_connects_anew_takes_the_place_of_the_old_connection(stand: SchedulerStand) -> None:
    async with grpc.aio.insecure_channel(stand.controllers) as channel:
        stub: Any = ControllersStub(channel)
        old = stub.Direct()
        await old.write(hello())
        assert (await old.read()).HasField("welcome")
        ledger = Remembering()
        async with directing(stand.controllers, ledger) as client:
            with pytest.raises(grpc.aio.AioRpcError) as ended:
                await old.read()
            assert ended.value.code() is grpc.StatusCode.ABORTED
            assert "connected again" in (ended.value.details() or "")
            client.submit(ledger.add(Action("a", shell("true"))))
            assert await ledger.until(lambda: ledger.reasons.get("a"), "a reason")
