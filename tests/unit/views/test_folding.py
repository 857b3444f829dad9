import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.views.folding import fold_counted, fold_names, stem


@pytest.mark.parametrize(
    ("names", "folded"),
    [
        ([], ""),
        (["n1"], "n1"),
        (["n2", "n1"], "n1, n2"),
        (["n1", "n2", "n3"], "n[1-3]"),
        (["n3", "n1", "n2", "n7", "n9", "n10"], "n[1-3,7,9-10]"),
        (["n1", "n1", "n1"], "n1"),
        (["n01", "n02", "n03"], "n01, n02, n03"),
        (["a", "b", "c"], "a, b, c"),
        (["spot-16#0", "spot-16#1", "spot-16#2"], "spot-16#[0-2]"),
        (["10", "11", "12"], "[10-12]"),
        (["b", "a0", "a1", "a2", "c"], "a[0-2], b, c"),
    ],
)
def test_numbered_names_become_one(names: list[str], folded: str) -> None:
    assert fold_names(names) == folded


def test_some_examples_of_many() -> None:
    assert fold_names(["a", "b", "c", "d"], most=2) == "a, b, …"
    assert fold_names(["a", "b"], most=2) == "a, b"


def test_counts() -> None:
    assert fold_counted(["n1"] * 3 + ["n2"] * 3 + ["n3"] * 3 + ["m"]) == "n[1-3] ×3, m"


def test_stem() -> None:
    assert stem("ci-12") == "ci-"
    assert stem("ci-012") == "ci-012"
    assert stem("web") == "web"


@given(st.sets(st.from_regex(r"[a-z]{0,2}(0|[1-9][0-9]?)", fullmatch=True)))
def test_nothing_is_lost_and_nothing_added(names: set[str]) -> None:
    assert set(_unfolded(fold_names(names))) == names


def _unfolded(text: str) -> list[str]:
    names = []
    for part in filter(None, text.split(", ")):
        before, bracket, inside = part.rstrip("]").partition("[")
        for run in inside.split(",") if bracket else []:
            first, _, last = run.partition("-")
            names += [f"{before}{number}" for number in range(int(first), int(last or first) + 1)]
        if not bracket:
            names.append(part)
    return names
