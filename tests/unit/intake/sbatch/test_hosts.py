"""Names of nodes as Slurm writes them."""

import pytest

from rota.intake.sbatch.hosts import expand_hosts


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("n1", ["n1"]),
        ("n1,n2", ["n1", "n2"]),
        ("n[1-3]", ["n1", "n2", "n3"]),
        ("n[08-10]", ["n08", "n09", "n10"]),
        ("r[1-2]n[1,3]-ib,login", ["r1n1-ib", "r1n3-ib", "r2n1-ib", "r2n3-ib", "login"]),
    ],
)
def test_expanded(text: str, hosts: list[str]) -> None:
    assert expand_hosts(text) == hosts


@pytest.mark.parametrize("text", ["", ",", "n[1", "n]", "n[a-b]", "n[1-]", "n[1-99999]", "n1,,n2", "n[3-1]"])
def test_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".*"):
        expand_hosts(text)
