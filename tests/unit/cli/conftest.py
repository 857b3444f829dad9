"""Commands here find a fake server, at noon of a day in May, in UTC."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.cli.documents import CLOCK
from tests.unit.cli.fake_server import FakeServer


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
