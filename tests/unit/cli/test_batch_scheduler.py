"""What the container image takes: options of the scheduler, or a command."""

from __future__ import annotations

import pytest

from rota import __version__
from rota.cli.batch_scheduler import run


@pytest.mark.covers("kube-9")
@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["--help"], "Usage: rota kube-scheduler"),
        (["--gang-label", "example.com/gang", "--help"], "Usage: rota kube-scheduler"),
        (["plan", "--help"], "Usage: rota plan"),
        (["--version"], f"rota {__version__}"),
    ],
)
def test_options_are_the_schedulers(words: list[str], shown: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        run(words)
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith(shown)


def test_a_mistake_is_told_as_of_that_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        run(["--gang-lable", "x"])
    assert ended.value.code == 1
    assert "rota kube-scheduler --help" in capsys.readouterr().err
