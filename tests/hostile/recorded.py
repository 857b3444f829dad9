"""Files as they are found elsewhere, with something changed: traces of other systems, and settings."""

from __future__ import annotations

import gzip
from functools import cache
from pathlib import Path

import msgspec

from rota.intake.traces.files import FORMATS, read_machine, read_workload
from rota.settings.load import resolve_settings
from tests.hostile.odd import Odd

ROOT = Path(__file__).parents[2]
_MOST_BYTES = 60_000
_SETTINGS: dict[str, dict[str, object]] = {
    "server": {"host": "127.0.0.1", "port": 8426, "data": "/tmp/x", "hosts": ["a.example.org"]},
    "client": {"url": "http://127.0.0.1:8426", "context": "one"},
    "oidc": {"issuer": "https://id.example.org", "client_id": "rota", "roles": ["ops=operator"]},
    "agent": {"name": "n1", "pool": "gpu"},
}


@cache
def _traces() -> tuple[bytes, ...]:
    """Their beginnings: a fault in one of the first rows is as good as one in the last."""
    found = []
    for path in sorted((*(ROOT / "tests/data/traces").iterdir(), *(ROOT / "tests/data/openb").iterdir())):
        raw = path.read_bytes()
        if path.suffix == ".gz":
            raw = gzip.decompress(raw)
        if path.suffix in (".gz", ".txt", ".csv"):
            raw = b"\n".join(raw[:_MOST_BYTES].splitlines()[:60])
        if path.suffix != ".md" and len(raw) <= _MOST_BYTES:
            found.append(raw)
    found += [(ROOT / "examples/day" / name).read_bytes() for name in ("workload.yaml", "cluster.yaml")]
    return tuple(found)


def trace(odd: Odd, folder: Path) -> None:
    raw = odd.random.choice(_traces())
    if odd.random.random() < 0.9:
        raw = _with_a_word_changed(odd, raw) if odd.random.random() < 0.6 else odd.cut(raw)
    if odd.random.random() < 0.1:
        raw = odd.cut(gzip.compress(raw))
    path = folder / "trace"
    path.write_bytes(raw)
    if odd.random.random() < 0.2:
        read_machine(path, on_note=lambda note: None)
    else:
        read_workload(path, None if odd.random.random() < 0.7 else odd.random.choice(FORMATS))


def _with_a_word_changed(odd: Odd, raw: bytes) -> bytes:
    """One field of a row, or value of a document."""
    words = raw.replace(b",", b" ").replace(b"|", b" ").split()
    old = odd.random.choice(words)
    new = str(odd.scalar()).encode("utf-8", "replace")
    return raw.replace(old, new, odd.random.choice((1, -1)))


def settings_file(odd: Odd, folder: Path) -> None:
    form = odd.made_odd(_SETTINGS) if odd.random.random() < 0.8 else _SETTINGS
    try:
        text = msgspec.toml.encode(form)
    except Exception:  # whatever its writer can't write
        text = repr(form).encode("utf-8", "replace")
    path = folder / "rota.toml"
    path.write_bytes(odd.cut(text) if odd.random.random() < 0.4 else text)
    environ = {"HOME": str(folder)}
    if odd.random.random() < 0.3:
        environ["ROTA_SERVER_PORT"] = odd.text()
    resolve_settings([path], environ, {"server.host": odd.text()} if odd.random.random() < 0.2 else {}).rows()
