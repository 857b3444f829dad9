"""How pages are read, compared and written anew."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.first_hour.comparing import differences
from tests.first_hour.page import Dialogue, GivenFile, alike, read, written

PAGE = """\
# Title

```yaml title="jobs.yaml"
jobs: []
```

```console title="second terminal"
$ rota server
listening on http://127.0.0.1:8426
^C
stopped
```

```console
$ echo one \\
    two
one two
$ true
```

```sh
not run
```
"""


@pytest.fixture
def page(tmp_path: Path) -> Path:
    path = tmp_path / "page.md"
    path.write_text(PAGE)
    return path


def test_files_and_dialogues_are_found(page: Path) -> None:
    given, second, first = (part for part in read(page) if isinstance(part, GivenFile | Dialogue))
    assert given == GivenFile("jobs.yaml", "jobs: []\n")
    assert isinstance(second, Dialogue)
    assert isinstance(first, Dialogue)
    assert second.terminal == "second terminal"
    assert [(step.typed, step.printed) for step in second.steps] == [
        ("rota server", ("listening on http://127.0.0.1:8426",)),
        ("^C", ("stopped",)),
    ]
    assert [(step.typed, step.printed, step.line) for step in first.steps] == [
        ("echo one \\\n    two", ("one two",), 15),
        ("true", (), 18),
    ]


def test_what_was_printed_is_written_and_all_else_stays(page: Path) -> None:
    printed = {8: ["listening on http://127.0.0.1:8426"], 10: ["stopped"], 15: ["one two"], 18: []}
    assert written(read(page), printed) == PAGE
    anew = written(read(page), printed | {15: ["three"]})
    assert anew == PAGE.replace("one two\n", "three\n")


def test_a_difference_names_page_line_and_both(page: Path) -> None:
    printed = {8: ["listening on http://127.0.0.1:40001"], 10: ["stopped"], 15: ["one two"], 18: ["surprise"]}
    (told,) = differences("page.md", read(page), printed)
    assert told.splitlines() == [
        "page.md:18: $ true",
        "the page says:",
        "    (nothing)",
        "printed:",
        "    surprise",
    ]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("starts at 13:53:29, in 1 min 23 s", "starts at 09:00, in 4 s"),
        ("JOB  NAME    STATE", "JOB NAME  STATE  "),
        ("2026-11-16 19:46  took 3.2 s", "2027-01-01 03:00  took 11 ms"),
        ("used 17.8 MB", "used 9 MB"),
        ("expected about 21:35, in 13 s; in nine of ten cases by 21:39; by limits alone 21:45", ""),
        ("submitted 21:34:42, now", "submitted 09:00, 4 s ago"),
        ("next in its queue; not worked out yet", "next in its queue; expected about 21:35, now"),
        ("CPU 0.00 5%", "CPU 0.01 2%"),
    ],
)
def test_what_differs_from_run_to_run_is_alike(one: str, other: str) -> None:
    assert alike([one]) == alike([other])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("job 3 failed", "job 4 failed"),
        ("exit 1", "exit 2"),
        ("4 running", "3 running"),
        ("in 4 s", "never"),
        ("--array 0-5%2", "--array 0-5%3"),
    ],
)
def test_what_matters_is_not(one: str, other: str) -> None:
    assert alike([one]) != alike([other])
