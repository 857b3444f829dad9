"""`rota expr --batch` on every case that others wrote."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from rota.cli.workflows.expressions import Asked, evaluate
from rota.workflows.expressions.errors import ExpressionError
from rota.workflows.expressions.templates import as_expression
from rota.workflows.status import Status
from tests.conformance.cases import are_the_same, cases, with_numbers


def answers(
    asked: Asked,
    documents: Sequence[dict[str, Any]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> list[dict[str, Any]]:
    lines = "".join(json.dumps(one) + "\n" for one in documents)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(lines.encode())))
    assert evaluate(asked, None, None, Status.SUCCESS, None, batch=True)
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def is_expected(answer: dict[str, Any], case: dict[str, Any]) -> bool:
    if "error" in case:
        expected = case["error"]
        # Where GitHub's own words are known, they are ours.
        return "error" in answer and (
            "stage" not in expected
            or (
                answer["error"]["stage"] == expected["stage"]
                and expected["contains"].split(". Located")[0] in answer["error"]["message"]
            )
        )
    return answer.get("kind") == case["result"]["kind"] and are_the_same(
        with_numbers(answer["value"]), with_numbers(case["result"]["value"])
    )


@pytest.mark.covers("flow-2")
@pytest.mark.parametrize("name", ["expr-languageservices", "expr-act"])
def test_expressions(name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    wanted = cases(name)
    asked = [{"expr": case["expr"], "contexts": case.get("contexts", {})} for case in wanted]
    found = answers("expr", asked, monkeypatch, capsys)
    assert len(found) == len(wanted)
    wrong = [case["id"] for case, answer in zip(wanted, found, strict=True) if not is_expected(answer, case)]
    assert wrong == []


@pytest.mark.covers("flow-2")
def test_texts_with_expressions(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    wanted = [case for case in cases("interpolate-act") if "result" in case]
    asked = [{"template": case["template"], "contexts": case.get("contexts", {})} for case in wanted]
    found = answers("template", asked, monkeypatch, capsys)
    assert [one.get("value") for one in found] == [case["result"] for case in wanted]


@pytest.mark.covers("flow-2")
@pytest.mark.parametrize(
    "case", [case for case in cases("interpolate-act") if "rewrites_to" in case], ids=lambda case: case["id"]
)
def test_the_one_expression_that_says_the_same(case: dict[str, Any]) -> None:
    expected = case["rewrites_to"]
    if "${{" not in expected and not expected.startswith("format("):
        expected = f"format('{expected}')"
    try:
        found = as_expression(case["template"])
    except ExpressionError:
        pytest.fail("refused")
    assert found == expected.removeprefix("${{ ").removesuffix(" }}")


@pytest.mark.covers("flow-2")
def test_hashes_of_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    wanted = cases("hashfiles")
    asked = []
    for number, case in enumerate(wanted):
        workspace = tmp_path / str(number)
        workspace.mkdir()
        for name, text in case["files"].items():
            (workspace / name).parent.mkdir(parents=True, exist_ok=True)
            (workspace / name).write_text(text)
        asked.append({"expr": case["expr"], "workspace": str(workspace)})
    found = answers("expr", asked, monkeypatch, capsys)
    assert [one.get("value") for one in found] == [case["result"] for case in wanted]
