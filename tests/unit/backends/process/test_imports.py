"""The keeper stays small: it outlives servers, and starts while somebody waits."""

import subprocess
import sys

FORBIDDEN = {
    "numpy",
    "asyncio",
    "litestar",
    "sqlalchemy",
    "yaml",
    "rota.engine",
    "rota.control",
    "rota.store",
}


def test_the_keeper_imports_nothing_heavy() -> None:
    code = "import sys, rota.backends.process.keeper.keeper; print('\\n'.join(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert FORBIDDEN.isdisjoint(loaded.split())
