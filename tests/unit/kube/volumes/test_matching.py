"""Which volumes would do for a claim, and which it gets."""

from __future__ import annotations

from typing import Any

import pytest

from rota.kube.volumes.matching import Spare, as_spare, as_wanted, chosen, is_bound
from rota.kube_objects.volumes import ClaimKey
from tests.unit.kube.storage import claim, volume

pytestmark = pytest.mark.covers("kube-3")

KEY = ClaimKey("default", "data")


def spare(name: str, **more: Any) -> Spare:
    found = as_spare(volume(name, **more))
    assert found is not None
    return found


def served(*spares: Spare, **more: Any) -> str:
    found = chosen(as_wanted(claim("data", **more), spares), spares)
    return found.name if found else ""


def test_the_smallest_that_is_large_enough() -> None:
    spares = spare("large", size="9Gi"), spare("fits", size="2Gi"), spare("small", size="1Gi")
    assert served(*spares, size="2Gi") == "fits"
    assert served(*spares, size="10Gi") == ""


def test_of_equals_the_first_by_name() -> None:
    assert served(spare("b"), spare("a")) == "a"


@pytest.mark.parametrize(
    ("of_volume", "of_claim"),
    [
        ({"storage_class": "slow"}, {}),
        ({"modes": ("ReadOnlyMany",)}, {}),
        ({}, {"modes": ("ReadWriteOnce", "ReadOnlyMany")}),
        ({"volumeMode": "Block"}, {}),
        ({}, {"volumeMode": "Block"}),
        ({"volumeAttributesClassName": "gold"}, {}),
        ({"labels": {"tier": "tin"}}, {"selector": {"matchLabels": {"tier": "gold"}}}),
        ({}, {"selector": {"matchLabels": {"tier": "gold"}}}),
        ({"kept_for": "another"}, {}),
    ],
)
def test_what_isnt_as_asked_wont_do(of_volume: dict[str, Any], of_claim: dict[str, Any]) -> None:
    assert served(spare("v")) == "v"
    assert served(spare("v", **of_volume), **of_claim) == ""


def test_a_claim_may_ask_for_less_than_a_volume_can() -> None:
    gold = spare("v", modes=("ReadWriteOnce", "ReadOnlyMany"), labels={"tier": "gold"})
    assert served(gold, selector={"matchLabels": {"tier": "gold"}}) == "v"


def test_who_has_a_volume_kept_for_it_gets_that_and_no_other() -> None:
    kept, other = spare("kept", kept_for="data", size="5Gi"), spare("other")
    assert served(kept, other) == "kept"
    assert served(spare("kept", kept_for="data", size="1Mi"), other) == ""


@pytest.mark.parametrize("phase", ["Bound", "Released", "Failed", "Pending"])
def test_volumes_that_are_nobodys_to_choose(phase: str) -> None:
    assert as_spare(volume("v", phase=phase)) is None


def test_a_volume_is_bound_once_both_sides_say_so() -> None:
    assert is_bound(claim("data", volume="v"))
    assert not is_bound(claim("data"))
    assert not is_bound(claim("data", volumeName="v")), "named, and not agreed upon"


def test_what_does_for_the_larger_does_for_the_smaller() -> None:
    small, large = as_wanted(claim("a")), as_wanted(claim("b", size="2Gi"))
    assert small.includes(large)
    assert not large.includes(small)
    assert small.includes(small)
    picky = as_wanted(claim("c", selector={"matchLabels": {"a": "b"}}))
    assert small.includes(picky)
    assert not picky.includes(small)
