"""The cases of tests/data/conformance, and when an answer is the expected one."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

DATA = Path(__file__).parents[1] / "data" / "conformance"


def cases(name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((DATA / name / "cases.json").read_text())
    return found


def with_numbers(plain: Any) -> Any:
    """`{"$num": "NaN"}` as the number that it stands for, and all numbers as floats."""
    if isinstance(plain, dict):
        if list(plain) == ["$num"]:
            return float(plain["$num"])
        return {key: with_numbers(one) for key, one in plain.items()}
    if isinstance(plain, list):
        return [with_numbers(one) for one in plain]
    return float(plain) if isinstance(plain, int | float) and not isinstance(plain, bool) else plain


def are_the_same(left: Any, right: Any) -> bool:
    """NaN is NaN, and nothing else is."""
    if isinstance(left, float) and isinstance(right, float):
        return left == right or (math.isnan(left) and math.isnan(right))
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(are_the_same, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return list(left) == list(right) and all(are_the_same(left[key], right[key]) for key in left)
    return type(left) is type(right) and bool(left == right)
