"""Commands here find a fake server, at noon of a day in May, in UTC."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from rota.cli.tables import Table
from rota.cli.text import width_of
from tests.unit.cli.documents import CLOCK
from tests.unit.cli.fake_server import FakeServer


@pytest.fixture(autouse=True)
def tables_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever table a test shows, however wide: it would fit a narrow terminal and a wide one."""
    shown = Table.lines

    def lines(table: Table, width: int | None, *, colours: bool) -> list[str]:
        for columns in (80, 200):
            assert max(map(width_of, shown(table, columns, colours=False)), default=0) <= columns
        return shown(table, width, colours=colours)

    monkeypatch.setattr(Table, "lines", lines)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeServer]:
    """The one that commands find; no settings of whoever runs the tests get in."""
    fake = FakeServer()
    monkeypatch.setattr("rota.sdk.client.Client", lambda **given: fake)
    monkeypatch.setattr("rota.cli.showing.now_ms", lambda: CLOCK.now_ms)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for name in ("ROTA_CONFIG", "ROTA_CONTEXT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield fake
    monkeypatch.undo()
    time.tzset()
