from __future__ import annotations

import pytest

from rota.plugins.packing.mix import format_mix, mix_of, parse_mix
from tests.words import task

TASKS = [
    (task({"cpu": 1, "memory": "2Gi"}), 3),
    (task({"cpu": 4, "gpu": 0.3, "gpu_models": ["A", "B"]}), 5),
    (task({"gpu": 2}), 1),
]


def test_what_is_written_can_be_read() -> None:
    mix = mix_of(TASKS)
    assert parse_mix(format_mix(mix)) == mix
    assert mix.total() == 9


def test_its_form() -> None:
    assert format_mix(mix_of(TASKS[1:2])) == '[[5,4000,0,1,300,"A|B"]]'


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[[1, 2]]",
        '[[1, -2, 0, 0, 0, ""]]',
        '[[-1, 2, 0, 0, 0, ""]]',
        '[[1, 2, 0, 1, 1001, ""]]',
        '[[1, 2, 0, 0, 500, ""]]',
        '[[1, 2, 0, 1, 0, ""]]',
    ],
)
def test_nonsense_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="mix"):
        parse_mix(text)
