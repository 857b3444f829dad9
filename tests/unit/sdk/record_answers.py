"""Records what a server answers, in tests/data/answers/: `python -m tests.unit.sdk.record_answers VERSION`.

It is done once for each minor version, and for each route that is added. Clients of this version have to read
what is there, whatever else changes in it: see `test_recorded_answers.py`.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
from msgspec import json

from rota.api.people import Role
from rota.api.sign_in import SignInDocument
from rota.backends.backend import LogChunk, LogQuery, Stream
from rota.backends.roster import Roster
from rota.control.access import Who
from rota.control.agent_admission import Addresses
from rota.control.enrolment import Enrolment
from rota.control.transactor import Transactor
from rota.loop.live.history import Retention
from rota.loop.live.runtime import Runtime
from rota.model.ids import JobId
from rota.model.policy import FairShare, Policy, Quota, TenantPolicy
from rota.server.http.app import make_app
from rota.server.http.desks import desks_of
from rota.server.http.limits import Limits
from rota.server.identity.access import secret_hash
from rota.server.identity.minting import Mint
from rota.server.service.reloading import PolicyFile, Reloading, SettingsSource
from rota.settings.load import resolve_settings
from rota.store.store import open_store
from rota.store.writing.batch import AgentNode, Token
from rota.trust import Authority
from tests.obedient import ObedientBackend, node
from tests.unit.control import joiner

FOLDER = Path(__file__).parents[2] / "data" / "answers"
POLICY = Policy(
    fair_share=FairShare(tenants=(TenantPolicy("vision", 2, Quota((("cpu", 2000),), (("cpu", 1000),))),))
)
SECRET = "rota_" + "s" * 43
SHA256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

QUESTIONS: tuple[tuple[str, str, str, Any], ...] = (
    ("submit_jobs", "POST", "/v1/jobs", {"jobs": [
        {"name": "first", "command": "true", "resources": {"cpu": 2}, "time_limit": "1h"},
        {"name": "second", "command": "true", "resources": {"cpu": 2}, "array": "0-1", "labels": {"a": "b"}},
        {"name": "third", "command": "true", "depends_on": ["first"], "retry": 2},
    ]}),
    ("list_jobs", "GET", "/v1/jobs?limit=2", None),
    ("show_job", "GET", "/v1/jobs/1", None),
    ("show_array", "GET", "/v1/arrays/2", None),
    ("why_job", "GET", "/v1/jobs/2.0/why", None),
    ("estimate_start", "GET", "/v1/jobs/2.0/eta", None),
    ("show_efficiency", "GET", "/v1/jobs/1/eff", None),
    ("plan_jobs", "POST", "/v1/plan", {"jobs": [{"command": "true", "resources": {"cpu": 1}}]}),
    ("hold_job", "POST", "/v1/jobs/2/hold", {}),
    ("release_job", "POST", "/v1/jobs/2/release", {}),
    ("extend_job", "POST", "/v1/jobs/1/extend", {"time_limit": "+1h"}),
    ("extend_job", "POST", "/v1/jobs/1/extend", {"time_limit": "1ms"}),
    ("submit_jobs", "POST", "/v1/jobs", {"jobs": [{"command": "cat", "stdin": "pipe"}]}),
    ("send_input", "POST", "/v1/jobs/5/input", b"hello"),
    ("put_file", "PUT", f"/v1/files/{SHA256}", b""),
    ("list_events", "GET", "/v1/events?last=5", None),
    ("list_nodes", "GET", "/v1/nodes", None),
    ("show_node", "GET", "/v1/nodes/n1", None),
    ("change_node", "PATCH", "/v1/nodes/n1", {"message": "a new disk", "taints": ["a=b:PreferNoSchedule"]}),
    ("list_queues", "GET", "/v1/queues", None),
    ("set_queue", "PUT", "/v1/queues/default", {"state": "paused", "message": "later"}),
    ("show_limits", "GET", "/v1/limits?project=vision", None),
    ("show_usage", "GET", "/v1/usage?by=user", None),
    ("list_quotas", "GET", "/v1/quotas", None),
    ("reload_server", "POST", "/v1/server/reload?dry_run=true", None),
    ("set_maintenance", "PUT", "/v1/maintenance/fan", {"start": "2030-01-01T00:00:00Z", "for": "1h"}),
    ("list_maintenance", "GET", "/v1/maintenance", None),
    ("remove_maintenance", "DELETE", "/v1/maintenance/fan", None),
    ("set_reservation", "PUT", "/v1/reservations/exam", {
        "start": "2030-01-01T00:00:00Z", "for": "1h", "nodes": ["n1"], "tenants": ["vision"],
        "resources": {"cpu": 1},
    }),
    ("list_reservations", "GET", "/v1/reservations", None),
    ("remove_reservation", "DELETE", "/v1/reservations/exam", None),
    ("set_project", "PUT", "/v1/projects/vision", {"description": "Images", "members": {"ada": "submitter"}}),
    ("list_projects", "GET", "/v1/projects", None),
    ("set_secret", "PUT", "/v1/projects/vision/secrets/key", {"value": "x"}),
    ("list_secrets", "GET", "/v1/projects/vision/secrets", None),
    ("remove_secret", "DELETE", "/v1/projects/vision/secrets/key", None),
    ("remove_project", "DELETE", "/v1/projects/vision", None),
    ("create_token", "POST", "/v1/tokens", {"user": "ada", "role": "viewer", "expires_in": "30d"}),
    ("list_tokens", "GET", "/v1/tokens", None),
    ("invite_agent", "POST", "/v1/agents/tokens", {"name": "m2", "labels": {"zone": "a"}}),
    ("list_agents", "GET", "/v1/agents", None),
    ("revoke_agent", "POST", "/v1/agents/m1/revoke", None),
    ("cancel_job", "POST", "/v1/jobs/2/cancel", {"message": "enough"}),
    ("list_audit", "GET", "/v1/audit?limit=2", None),
    ("check_audit", "GET", "/v1/audit/check", None),
    ("show_me", "GET", "/v1/me", None),
    ("show_stats", "GET", "/v1/stats", None),
    ("read_logs", "GET", "/v1/jobs/1/logs?form=chunks", None),
    ("list_outputs", "GET", "/v1/jobs/1/outputs", None),
    ("remove_token", "DELETE", "/v1/tokens/{token}", None),
    ("sign_out", "POST", "/v1/auth/sign-out", None),
)  # fmt: skip


SIGN_IN = SignInDocument(
    issuer="https://login.example.org",
    client_id="rota",
    scopes=["openid"],
    device_authorization_endpoint="https://login.example.org/device",
    token_endpoint="https://login.example.org/token",
)


class Writes(ObedientBackend):
    async def logs(self, query: LogQuery) -> AsyncIterator[list[LogChunk]]:
        yield [LogChunk(0, Stream.OUT, 1_800_000_000_000, b"hello\n\xff", 1)]


async def record(folder: Path) -> None:
    authority, roster = Authority.create(time.time_ns() // 1_000_000), Roster()
    roster.watch(dict, lambda name: None)

    def enrol(transactor: Transactor) -> Enrolment:
        return Enrolment(
            transactor, authority, roster, lambda: Addresses("https://rota.example.org", "rota:1")
        )

    async def put_file(sha256: str, chunks: AsyncIterator[bytes], user: str) -> bool:
        return not [chunk async for chunk in chunks if chunk]

    with tempfile.TemporaryDirectory() as data, open_store(f"sqlite:///{data}/rota.db") as store:
        runtime = Runtime(
            store, POLICY, [Writes(node("n1", cpus=2))], lambda: time.time_ns() // 1_000_000,
            lambda: 0.5, put_file, enrol=enrol,
        )  # fmt: skip
        await runtime.start()
        try:
            people, agents = runtime.desks.people, runtime.desks.agents
            assert agents is not None
            root = Who("root", Role.ADMIN)
            await people.add_token(Token("root", secret_hash(SECRET), "root", Role.ADMIN, None, 1), root)
            _, invitation = await agents.invite("m1", AgentNode("gpu", (("zone", "a"),)), root)
            await joiner.join(agents, invitation, "m1")
            limits = Limits()
            resolved = resolve_settings((), {}, {"server.history.ttl": "2h"})
            source = SettingsSource(resolved, lambda: resolve_settings((), {}, {}))
            reloading = Reloading(source, PolicyFile(POLICY, {}), runtime, lambda _: Retention())
            app = make_app(desks_of(runtime.desks, Mint(people, limits), reloading), limits)
            transport = httpx.ASGITransport(app)  # type: ignore[arg-type]
            headers = {"authorization": f"Bearer {SECRET}"}
            async with httpx.AsyncClient(
                transport=transport, base_url="http://localhost", headers=headers
            ) as client:
                await _ask_all(client, runtime, folder)
        finally:
            await runtime.stop()
    _write(folder, "show_sign_in", 200, json.encode(SIGN_IN))


async def _ask_all(client: httpx.AsyncClient, runtime: Runtime, folder: Path) -> None:
    token = ""
    for name, method, path, body in QUESTIONS:
        if name == "send_input":
            async with asyncio.timeout(10):
                while not any(task.started_ms for task in runtime.memory.jobs[JobId("5")].live):
                    await asyncio.sleep(0.05)
        sent = {"content": body} if isinstance(body, bytes) else {"json": body} if body is not None else {}
        answer = await client.request(method, path.format(token=token), **sent)
        assert answer.is_success or answer.status_code == 409, (name, answer.text)
        _write(folder, name, answer.status_code, answer.content)
        if name == "create_token":
            token = answer.json()["id"]
            _write(folder, "sign_in", answer.status_code, answer.content)
        if name == "submit_jobs":
            async with asyncio.timeout(60):
                waits = runtime.memory.jobs[JobId("2.0")]
                while "1" not in runtime.memory.on_nodes or runtime.forecaster.estimate(waits) is None:
                    await asyncio.sleep(0.05)


def _write(folder: Path, name: str, status: int, body: bytes) -> None:
    is_lines = name == "read_logs"
    text = body if is_lines else json.format(body, indent=1) + b"\n"
    path = folder / f"{name}.{status}.{'ndjson' if is_lines else 'json'}"
    if not path.exists():  # What is there stays as it is.
        path.write_bytes(text)


if __name__ == "__main__":
    made = FOLDER / sys.argv[1]
    made.mkdir(parents=True, exist_ok=True)
    asyncio.run(record(made))
