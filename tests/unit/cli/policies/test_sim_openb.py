"""`rota sim openb`."""

from __future__ import annotations

from pathlib import Path

from tests.unit.cli.calling import Result, rota

DATA = Path(__file__).parents[3] / "data" / "openb"


def openb(*arguments: str, seed: str = "1", pods: Path = DATA / "pods.csv") -> Result:
    return rota(
        *("sim", "openb", "--nodes", str(DATA / "nodes.csv"), "--pods", str(pods)),
        *("--arrivals", str(DATA / "arrivals.json.gz"), "--seed", seed, *arguments),
    )


def test_json() -> None:
    result = openb("--policy", "fgd", "-o", "json")
    assert (result.code, result.err) == (0, "")
    assert set(result.data) == {"allocated", "placed"}
    assert list(result.data["allocated"]) == ["100", "110", "120", "130"]
    assert abs(result.data["allocated"]["130"] - 95.32) < 0.011
    assert result.data["placed"] == {"1-gpu": 0.7077, "cpu-only": 1.0, "multi-gpu": 1.0, "share": 0.7292}


def test_table_of_rotas_own() -> None:
    result = openb()
    assert result.code == 0
    assert any(line.startswith("130 %") for line in result.lines)


def test_an_unknown_policy() -> None:
    result = openb("--policy", "fdg")
    assert result.code == 1
    assert "there is no policy fdg; did you mean fgd?" in result.err


def test_an_unknown_seed() -> None:
    result = openb(seed="3")
    assert result.code == 1
    assert "there is no seed 3; known: 1, 2" in result.err


def test_a_file_that_was_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "pods.csv"
    path.write_text((DATA / "pods.csv").read_text()[:5000])
    result = openb(pods=path)
    assert result.code == 1
    assert f"{path}:" in result.err
    assert "the file was cut off" in result.err
