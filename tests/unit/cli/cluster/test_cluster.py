"""`rota nodes`, `queues`, `top`, `maintenance`, `reserve`, `project`, `token`, `events`."""

from __future__ import annotations

import pytest

from rota.api.cluster import MaintenanceDocument, ReservationDocument
from rota.api.people import ProjectDocument, Role, TokenDocument
from rota.api.service import EventDocument
from rota.model.calendar import QueueMode
from tests.unit.cli.calling import rota
from tests.unit.cli.documents import NOW, a_node, a_queue, ago, later
from tests.unit.cli.fake_server import FakeServer


def fields_of(server: FakeServer) -> dict[str, object]:
    (asked,) = server.asked
    return asked.fields


class TestNodes:
    def test_are_listed(self, server: FakeServer) -> None:
        server.node_list = [
            a_node(),
            a_node("n2", draining=True),
            a_node("n3", ready=False, message="no\nnews"),
        ]
        lines = rota("nodes", columns=120).lines
        assert lines[1].split() == ["n1", "ready", "2.5", "of", "8", "1Gi", "of", "16Gi", "3"]
        assert lines[2].split()[1] == "draining"
        assert lines[3].split()[1] == "away"
        assert "no news" in lines[3]
        assert rota("nodes", "-o", "name").lines == ["n1", "n2", "n3"]

    def test_wide_has_their_prices(self, server: FakeServer) -> None:
        server.node_list = [a_node("n1", price_per_hour="2.50"), a_node("n2")]
        header, first, second = rota("nodes", "-o", "wide", columns=160).lines
        assert header.split()[5:8] == ["TASKS", "LOAD", "PRICE/H"]
        assert first.split()[8:11] == ["3", "1.50", "2.50"]
        assert second.split()[8:11] == ["3", "1.50", "process"]

    @pytest.mark.covers("decide-16")
    def test_shares_of_gpus_are_shown(self, server: FakeServer) -> None:
        gpus = {"gpus": 3, "gpu_model": "NVIDIA H200"}
        server.node_list = [a_node("n1", **gpus, gpus_used=1.8, gpu_shares=[1, 0.5, 0.3]), a_node("n2")]
        header, first, _ = rota("nodes", columns=120).lines
        assert header.split()[4:7] == ["GPUS", "TASKS", "SHARES"]
        assert "1.8 of 3 NVIDIA H200" in first
        assert "0.5 of GPU 1, 0.3 of GPU 2" in first
        server.node_list = [a_node("n1", **gpus, gpus_used=1, gpu_shares=[1, 0, 0])]
        assert "SHARES" not in rota("nodes", columns=120).lines[0]

    @pytest.mark.parametrize(
        ("arguments", "fields"),
        [
            (("cordon", "n1", "-m", "fan"), {"cordoned": True, "message": "fan"}),
            (("uncordon", "n1"), {"cordoned": False, "draining": False, "message": ""}),
            (("drain", "n1"), {"draining": True}),
            (("taint", "n1", "gpu=a:NoSchedule"), {"taints": ["old:NoExecute", "gpu=a:NoSchedule"]}),
            (("taint", "n1", "old=x:NoExecute"), {"taints": ["old=x:NoExecute"]}),
            (("taint", "n1", "old-"), {"taints": []}),
            (("taint", "n1", "old:NoExecute-"), {"taints": []}),
        ],
    )
    def test_changes(self, server: FakeServer, arguments: tuple[str, ...], fields: dict[str, object]) -> None:
        server.node_list = [a_node(taints=["old:NoExecute"])]
        assert rota("nodes", *arguments).code == 0
        assert fields_of(server) == {**fields, "dry_run": False}

    @pytest.mark.parametrize("taint", ["gpu", "new-", "old:NoSchedule-"])
    def test_bad_taints_change_nothing(self, server: FakeServer, taint: str) -> None:
        server.node_list = [a_node(taints=["old:NoExecute"])]
        result = rota("nodes", "taint", "n1", taint)
        assert (result.code, server.asked) == (1, [])
        assert "TAINT" in result.err

    @pytest.mark.parametrize("columns", [80, 200])
    def test_fit_the_terminal(self, server: FakeServer, columns: int) -> None:
        server.node_list = [
            a_node("a-node-with-quite-a-long-name", message="it can't hold tasks to limits " * 4)
        ]
        assert max(map(len, rota("nodes", columns=columns).lines)) <= columns
        assert max(map(len, rota("nodes", "-o", "wide", columns=columns).lines)) <= columns


class TestQueues:
    def test_are_listed(self, server: FakeServer) -> None:
        server.queue_list = [
            a_queue(),
            a_queue("gpu", state=QueueMode.PAUSED, since=ago(60), message="new driver"),
        ]
        lines = rota("queues", columns=120).lines
        assert lines[1].split() == ["default", "open", "batch", "1,200", "3", "1", "h", "01", "min"]
        assert "since 11:59: new driver" in lines[2]

    @pytest.mark.parametrize(
        ("verb", "state"),
        [("pause", QueueMode.PAUSED), ("close", QueueMode.CLOSED), ("open", QueueMode.OPEN)],
    )
    def test_changes(self, server: FakeServer, verb: str, state: QueueMode) -> None:
        assert rota("queues", verb, "gpu", "-m", "why not").code == 0
        assert fields_of(server) == {"state": state.value, "message": "why not", "dry_run": False}


def test_top_once(server: FakeServer) -> None:
    server.node_list = [a_node("idle", tasks=0), a_node("busy", tasks=9)]
    server.queue_list = [a_queue()]
    first_words = [line.split()[0] for line in rota("top", "--once").lines if line]
    assert first_words == ["Queues", "QUEUE", "default", "Nodes", "NODE", "busy", "idle"]


class TestCalendar:
    def test_maintenance_is_announced(self, server: FakeServer) -> None:
        result = rota("maintenance", "add", "fan", "--start", "2h", "--for", "30m", "--node", "n1")
        assert result.code == 0
        assert fields_of(server) == {
            "start": "2026-05-01T14:00:00Z",
            "for": "30m",
            "nodes": ["n1"],
            "dry_run": False,
        }

    def test_and_listed(self, server: FakeServer) -> None:
        server.maintenance_list = [
            MaintenanceDocument(name="fan", start=ago(60), end=later(60), nodes=[]),
            MaintenanceDocument(name="disk", start=later(3600), end=later(7200), nodes=["n1", "n2", "n3"]),
        ]
        now, then = rota("maintenance", columns=120).lines[1:]
        assert now.split() == ["fan", "11:59", "in", "progress", "2", "min", "all"]
        assert then.split() == ["disk", "13:00", "in", "1", "h", "1", "h", "n[1-3]"]

    def test_and_called_off(self, server: FakeServer) -> None:
        rota("maintenance", "rm", "fan", "--dry-run")
        assert server.asked == [("remove maintenance", "fan", {"dry_run": True})]

    def test_nodes_are_reserved(self, server: FakeServer) -> None:
        rota(
            "reserve", "add", "demo", "--start", "now", "--end", "4h", "--node", "n1",
            "--tenant", "vision/ada", "--resource", "cpu=4", "--gpus", "1",
        )  # fmt: skip
        assert fields_of(server) == {
            "start": "2026-05-01T12:00:00Z",
            "end": "2026-05-01T16:00:00Z",
            "nodes": ["n1"],
            "tenants": ["vision/ada"],
            "resources": {"cpu": "4"},
            "gpus": 1,
            "dry_run": False,
        }

    def test_and_listed_too(self, server: FakeServer) -> None:
        server.reservation_list = [
            ReservationDocument(
                name="demo",
                start=NOW,
                end=later(60),
                nodes=["n1"],
                tenants=["vision"],
                resources=None,
                gpus=0,
            )
        ]
        assert rota("reserve", columns=120).lines[1].split()[-4:] == ["n1", "vision", "whole", "nodes"]

    @pytest.mark.parametrize(
        "times",
        [
            ("--start", "now"),
            ("--start", "now", "--end", "1h", "--for", "1h"),
            ("--start", "2h", "--end", "1h"),
            ("--start", "soon", "--for", "1h"),
            ("--start", "now", "--for", "long"),
        ],
    )
    def test_bad_periods_change_nothing(self, server: FakeServer, times: tuple[str, ...]) -> None:
        result = rota("maintenance", "add", "fan", *times)
        assert (result.code, result.out, server.asked) == (1, "", [])


class TestPeople:
    def test_members_that_are_not_named_stay(self, server: FakeServer) -> None:
        members = {"ada": Role.SUBMITTER, "bob": Role.VIEWER, "cy": Role.VIEWER}
        server.project_list = [ProjectDocument(name="vision", description="", members=members, created=NOW)]
        rota("project", "set", "vision", "--member", "bob=project-admin", "--without", "cy")
        assert fields_of(server)["members"] == {"ada": "submitter", "bob": "project-admin"}
        assert "ada (submitter), bob (viewer), cy (viewer)" in rota("project", columns=120).out

    @pytest.mark.parametrize("option", [("--member", "ada=king"), ("--member", "ada"), ("--without", "zoe")])
    def test_bad_members_change_nothing(self, server: FakeServer, option: tuple[str, str]) -> None:
        result = rota("project", "set", "vision", *option)
        assert (result.code, server.asked) == (1, [])
        assert option[0] in result.err

    def test_a_secret_is_all_that_is_printed(self, server: FakeServer) -> None:
        result = rota("token", "add", "ada", "--role", "viewer", "--project", "vision", "--expires", "30d")
        assert result.out == "rota_secret\n"
        assert fields_of(server) == {
            "role": "viewer",
            "projects": ["vision"],
            "expires_in": "30d",
            "dry_run": False,
        }

    def test_tokens_are_listed(self, server: FakeServer) -> None:
        server.token_list = [
            TokenDocument(
                id="t1",
                user="ada",
                role=Role.ADMIN,
                projects=None,
                created=NOW,
                expires=later(60),
                last_used=ago(60),
            )
        ]
        line = rota("token", columns=120).lines[1].split()
        assert line == ["t1", "ada", "admin", "all", "12:00", "in", "1", "min", "1", "min", "ago"]


class TestEvents:
    @pytest.fixture
    def happened(self, server: FakeServer) -> FakeServer:
        server.happened = [
            EventDocument(
                seq=7, at=NOW, kind="job.Ended", subject="17", project="vision", by="rota", data={"rank": 2}
            ),
            EventDocument(seq=8, at=NOW, kind="queue.Set", subject="gpu", project=None, by="ada", data={}),
        ]
        return server

    def test_a_line_each(self, happened: FakeServer) -> None:
        first, second = rota("events").lines
        assert first.split() == ["7", "12:00", "job.Ended", "17", "by", "rota", "rank=2"]
        assert second.split() == ["8", "12:00", "queue.Set", "gpu", "by", "ada"]

    def test_as_lines_of_json(self, happened: FakeServer) -> None:
        assert [line[:8] for line in rota("events", "-o", "json").lines] == ['{"seq":7', '{"seq":8']

    def test_what_is_asked_for(self, happened: FakeServer) -> None:
        assert len(rota("events", "-f", "--after", "6", "--kind", "job.Ended", "--limit", "1").lines) == 1
        assert happened.filters == {
            "follow": True,
            "after": 6,
            "last": None,
            "kind": "job.Ended",
            "subject": None,
            "project": None,
        }

    @pytest.mark.parametrize(
        ("options", "last"),
        [
            ((), 100),
            (("--kind", "job.Ended"), 100),
            (("--last", "7"), 7),
            (("-f", "--last", "7"), 7),
            (("-f",), None),
            (("--after", "0"), None),
            (("--limit", "2"), None),
        ],
    )
    def test_the_latest_unless_it_is_said_which(
        self, happened: FakeServer, options: tuple[str, ...], last: int | None
    ) -> None:
        rota("events", *options)
        assert happened.filters["last"] == last

    @pytest.mark.covers("ops-3")
    def test_the_latest_and_those_after_one_are_two_things(self, happened: FakeServer) -> None:
        ran = rota("events", "--last", "7", "--after", "3")
        assert ran.code == 1
        assert "either --last or --after" in ran.err
        assert happened.filters == {}
