"""Options of `rota kube-scheduler` that can't be used are named, with what to write instead."""

from __future__ import annotations

import pytest

from tests.unit.cli.calling import rota


@pytest.mark.covers("kube-1", "kube-2")
@pytest.mark.parametrize(
    "option, value, part",
    [
        ("--scheduler-name", "Not_A_Name", "schedulerName"),
        ("--gang-label", "two words", "example.com/name"),
        ("--min-available-annotation", "", "example.com/name"),
        ("--metrics-bind-address", "nowhere", "127.0.0.1:8429"),
        ("--metrics-bind-address", "127.0.0.1:99999", "127.0.0.1:8429"),
        ("--lease-seconds", "2", "3<=x<=3600"),
        ("--log-format", "xml", "auto, text and json"),
    ],
)
def test_an_option_that_cant_be_used(option: str, value: str, part: str) -> None:
    result = rota("kube-scheduler", option, value)
    assert result.code == 1
    assert option in result.err
    assert part in result.err
