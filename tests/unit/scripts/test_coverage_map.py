from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest

from scripts.coverage_map import coverage_map, main

REQUIREMENTS = """\
# Requirements
Asked for so far: gang-1 … gang-2, why-1

- gang-1 All or nothing.
- gang-2 A minimum.
- gang-3 No deadlock.
- why-1 A reason.
"""

Write = Callable[[str, str], None]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(file: str, text: str) -> None:
        path = tmp_path / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text), encoding="utf-8")

    write("docs/requirements.md", REQUIREMENTS)
    return write


def test_finds_marks_on_tests_classes_modules_and_parameters(tmp_path: Path, write: Write) -> None:
    write(
        "tests/unit/test_marks.py",
        """
        import pytest
        from pytest import mark

        pytestmark = [pytest.mark.slow, pytest.mark.covers("why-1")]

        @mark.covers("gang-1", "gang-2")
        def test_one(): ...

        @pytest.mark.covers("gang-1")
        class TestAll:
            @pytest.mark.covers("gang-2")
            async def test_two(self): ...

        @pytest.mark.parametrize("n", [pytest.param(1, marks=pytest.mark.covers("gang-2"))])
        def test_three(n): ...
        """,
    )

    result = coverage_map(tmp_path)

    file = "tests/unit/test_marks.py"
    assert result.problems == []
    assert result.tests == {
        "gang-1": [f"{file}::test_one", f"{file}::TestAll"],
        "gang-2": [f"{file}::test_one", f"{file}::TestAll::test_two", f"{file}::test_three"],
        "gang-3": [],
        "why-1": [file],
    }


def test_finds_scenarios(tmp_path: Path, write: Write) -> None:
    write("tests/scenarios/gang/whole.yaml", "covers: [gang-1, gang-2]\njobs: []\n")
    write("tests/scenarios/why.yml", "title: why\ncovers:\n  - why-1\n")
    write("tests/scenarios/broken.yaml", "jobs: [}\n")

    result = coverage_map(tmp_path)

    assert result.problems == []
    assert result.tests["gang-2"] == ["tests/scenarios/gang/whole.yaml"]
    assert result.tests["why-1"] == ["tests/scenarios/why.yml"]


def test_an_asked_requirement_without_a_test_is_a_problem_and_an_open_one_is_not(
    tmp_path: Path, write: Write
) -> None:
    write("tests/scenarios/gang.yaml", "covers: [gang-1]\n")

    assert coverage_map(tmp_path).problems == [
        "gang-2 is asked for, and no test shows it",
        "why-1 is asked for, and no test shows it",
    ]


@pytest.mark.parametrize(
    ("file", "text", "problem"),
    [
        (
            "tests/test_x.py",
            "@pytest.mark.covers('gang-9')\ndef test_x(): ...",
            "tests/test_x.py::test_x names gang-9, which is no requirement",
        ),
        (
            "tests/scenarios/x.yaml",
            "covers: [gang-9]",
            "tests/scenarios/x.yaml names gang-9, which is no requirement",
        ),
        (
            "tests/test_x.py",
            "@pytest.mark.covers('gang-1')\ndef helper(): ...",
            "tests/test_x.py:1: covers() stands on helper, which is not a test",
        ),
        (
            "tests/test_x.py",
            "@pytest.mark.covers()\ndef test_x(): ...",
            'tests/test_x.py:1: covers() takes ids, as in covers("gang-2")',
        ),
        (
            "tests/test_x.py",
            "@pytest.mark.covers(*IDS)\ndef test_x(): ...",
            "tests/test_x.py:1: covers() takes ids written out, not *IDS",
        ),
        ("tests/test_x.py", "\ndef test_x(:", "tests/test_x.py:2: invalid syntax"),
        (
            "tests/scenarios/x.yaml",
            "covers: gang-1",
            "tests/scenarios/x.yaml: covers takes a list of ids, as in covers: [gang-2]",
        ),
        (
            "docs/requirements.md",
            REQUIREMENTS + "- gang-1 Again.\n",
            "requirement gang-1 is listed twice",
        ),
        (
            "docs/requirements.md",
            REQUIREMENTS.replace("why-1\n\n", "why-1 … why-2\n\n"),
            '"Asked for so far": there is no requirement why-2',
        ),
        (
            "docs/requirements.md",
            REQUIREMENTS.replace("why-1\n\n", "whatever\n\n"),
            '"Asked for so far": \'whatever\' is neither an id nor "a-1 … a-9"',
        ),
        (
            "docs/requirements.md",
            "- gang-1 All or nothing.\n- gang-2 A minimum.\n- why-1 A reason.\n",
            'the requirements have no line "Asked for so far: …"',
        ),
    ],
)
def test_says_what_is_wrong(tmp_path: Path, write: Write, file: str, text: str, problem: str) -> None:
    write("tests/scenarios/all.yaml", "covers: [gang-1, gang-2, why-1]")
    write(file, text)

    assert coverage_map(tmp_path).problems == [problem]


def test_prints_the_map_and_succeeds(
    tmp_path: Path, write: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    write("tests/scenarios/a.yaml", "covers: [gang-1, why-1]")
    write("tests/scenarios/b.yaml", "covers: [gang-1, gang-2]")

    assert main(["--root", str(tmp_path)]) == 0
    assert capsys.readouterr() == (
        dedent("""\
            gang-1  tests/scenarios/a.yaml
                    tests/scenarios/b.yaml
            gang-2  tests/scenarios/b.yaml
            gang-3  open
            why-1   tests/scenarios/a.yaml

            coverage-map: 3 of 3 requirements asked for are shown (tests: 2); open: 1
        """),
        "",
    )


def test_check_prints_problems_to_stderr_and_fails(
    tmp_path: Path, write: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    write("tests/scenarios/a.yaml", "covers: [gang-1, gang-2]")

    assert main(["--check", "--root", str(tmp_path)]) == 1
    assert capsys.readouterr() == (
        "coverage-map: 2 of 3 requirements asked for are shown (tests: 1); open: 1\n",
        "coverage-map: why-1 is asked for, and no test shows it\n",
    )


@pytest.mark.slow
def test_the_requirements_of_this_project_can_be_read() -> None:
    result = coverage_map(Path(__file__).parents[3])

    assert len(result.tests) > 70
    assert {"decide-14", "gang-3", "prio-6", "why-3"} <= result.asked
