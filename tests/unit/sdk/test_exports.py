"""What `import rota` gives, and what it costs."""

import subprocess
import sys

import pytest

import rota


def test_what_is_exported() -> None:
    from rota.sdk.async_client import AsyncClient
    from rota.sdk.client import Client
    from rota.sdk.executor import Executor

    assert (rota.AsyncClient, rota.Client, rota.Executor) == (AsyncClient, Client, Executor)
    assert {"AsyncClient", "Client", "Executor"} <= set(dir(rota))
    with pytest.raises(AttributeError, match="Clinet"):
        rota.Clinet  # type: ignore[attr-defined]  # noqa: B018


@pytest.mark.parametrize("module", ["rota", "rota.sdk.worker"])
def test_nothing_heavy_is_imported_before_it_is_needed(module: str) -> None:
    code = f"import sys, {module}; print([m for m in ('aiohttp', 'urllib3', 'msgspec') if m in sys.modules])"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"
