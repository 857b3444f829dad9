"""Every test of this folder that asks for `url` or `store` runs once on each database."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rota.store.store import Store, open_store


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/rota.db"
    return str(request.getfixturevalue("postgres_url"))


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with open_store(url) as store:
        yield store
