"""openb files: what is read, and what is refused with its place."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from rota.intake.errors import InputError
from rota.intake.traces.openb import Arrivals, OpenbNode, OpenbPod, read_arrivals, read_nodes, read_pods

NODES = "sn,cpu_milli,memory_mib,gpu,model\nn0,96000,393216,8,G2\nn1,8000,32768,0,\n"
PODS = (
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos\np0,3152,1000,1,810,,LS\n"
    "p1,88000,2000,8,1000,G3|G2,BE\np2,8000,100,0,0,,LS\n"
)


def refused(folder: Path, text: str, read: Callable[[str], object]) -> InputError:
    path = folder / "file.csv"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        read(str(path))
    return caught.value


def test_nodes(tmp_path: Path) -> None:
    (tmp_path / "n.csv").write_text(NODES)
    assert read_nodes(str(tmp_path / "n.csv")) == (
        OpenbNode("n0", 96000, 393216, 8, "G2"),
        OpenbNode("n1", 8000, 32768, 0, ""),
    )


def test_pods_also_with_the_first_columns_only_packed_and_without_a_last_line_end(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text(PODS)
    assert read_pods(str(tmp_path / "p.csv"))[:2] == (
        OpenbPod("p0", 3152, 1000, 1, 810, ()),
        OpenbPod("p1", 88000, 2000, 8, 1000, ("G3", "G2")),
    )
    short = "name,cpu_milli,memory_mib,num_gpu,gpu_milli\r\np0,3152,1000,1,810"
    (tmp_path / "s.csv.gz").write_bytes(gzip.compress(short.encode()))
    assert read_pods(str(tmp_path / "s.csv.gz")) == (OpenbPod("p0", 3152, 1000, 1, 810, ()),)


@pytest.mark.parametrize(
    ("old", "new", "line", "column", "field"),
    [
        ("p1,88000,2000,8,1000,G3|G2,BE\np2,8000,100,0,0,,LS\n", "p1,88000,20", 3, 12, "num_gpu"),
        (",gpu_milli", "", 1, 47, "gpu_milli"),
        ("3152", "-3152", 2, 4, "cpu_milli"),
        ("3152", "many", 2, 4, "cpu_milli"),
        ("2000", "", 3, 10, "memory_mib"),
        ("810", "1810", 2, 16, "gpu_milli"),
        ("8,1000", "8,500", 3, 17, "gpu_milli"),
        ("1,810", "1,0", 2, 16, "gpu_milli"),
        ("0,0,,LS", "0,10,,LS", 4, 15, "gpu_milli"),
        ("p0,3152,1000,1,810,,LS\n", "\n", 2, 1, "cpu_milli"),
    ],
)
def test_bad_pods_are_refused_with_line_and_column(
    tmp_path: Path, old: str, new: str, line: int, column: int, field: str
) -> None:
    assert old in PODS
    error = refused(tmp_path, PODS.replace(old, new, 1), read_pods)
    assert (error.line, error.column, error.field) == (line, column, field)


def test_too_many_columns(tmp_path: Path) -> None:
    error = refused(tmp_path, NODES.replace("G2", "G2,x"), read_nodes)
    assert "6 columns instead of 5" in str(error)
    assert error.line == 2


@pytest.mark.parametrize("text", ["", "sn,cpu_milli,memory_mib,gpu,model\n", NODES.replace(",8,G2", ",0,")])
def test_nodes_without_gpus(tmp_path: Path, text: str) -> None:
    refused(tmp_path, text, read_nodes)


def test_no_pods(tmp_path: Path) -> None:
    refused(tmp_path, PODS.split("\n")[0] + "\n", read_pods)


RUN = {"seeds": {"7": {"order": [2, 0, 0], "node_rank": [1, 0]}}}


def test_arrivals(tmp_path: Path) -> None:
    path = tmp_path / "a.json.gz"
    path.write_bytes(gzip.compress(json.dumps(RUN).encode()))
    assert read_arrivals(str(path), 7, nodes=2, pods=3) == Arrivals((2, 0, 0), (1, 0))


@pytest.mark.parametrize(
    ("text", "seed", "words"),
    [
        (json.dumps(RUN), 8, "there is no seed 8; known: 7"),
        (json.dumps(RUN).replace("[2,", "[3,"), 7, "row 3 of 3 pods"),
        (json.dumps(RUN).replace("[2,", "[-1,"), 7, "row -1 of 3 pods"),
        (json.dumps(RUN).replace("[1, 0]", "[0, 0]"), 7, "each of the ranks 0 to 1 once"),
        (json.dumps(RUN).replace("[1, 0]", "[0]"), 7, "each of the ranks 0 to 1 once"),
        (json.dumps(RUN).replace("[2,", '["x",'), 7, "not a list of arrivals"),
        ("{}", 7, "not a list of arrivals"),
        (json.dumps(RUN)[:30], 7, "file.csv:1: not JSON"),
        ('{"seeds":\n x}', 7, "file.csv:2: not JSON"),
    ],
)
def test_bad_arrivals(tmp_path: Path, text: str, seed: int, words: str) -> None:
    error = refused(tmp_path, text, lambda path: read_arrivals(path, seed, nodes=2, pods=3))
    assert words in str(error)
