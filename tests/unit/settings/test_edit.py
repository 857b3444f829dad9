"""rota.toml, changed in place."""

import tomllib

import pytest

from rota.settings.edit import with_context, with_current_context
from rota.settings.settings import Context

LAB = Context(url="https://lab.example.org", project='a"b')


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", '[client]\ncontext = "lab"\n'),
        ("# mine\n[server]\nport = 1\n", '# mine\n[server]\nport = 1\n\n[client]\ncontext = "lab"\n'),
        ("[client]\nurl = 'x'\n", "[client]\ncontext = \"lab\"\nurl = 'x'\n"),
        ("[client]\ncontext = 'old'\nurl = 'x'\n", "[client]\ncontext = \"lab\"\nurl = 'x'\n"),
        ("client.context = 'old'\n", 'client.context = "lab"\n'),
    ],
)
def test_the_context_in_use_is_written_into_the_file(before: str, after: str) -> None:
    assert with_current_context(before, "lab") == after


@pytest.mark.parametrize("before", ["", "# mine\n[server]\nport = 1", "[client]\ncontext = 'x'\n"])
def test_a_context_is_added_at_the_end(before: str) -> None:
    after = with_context(before, "the lab", LAB)
    assert after.startswith(before)
    assert tomllib.loads(after)["client"]["contexts"] == {
        "the lab": {"url": "https://lab.example.org", "project": 'a"b'}
    }


def test_a_context_that_is_there() -> None:
    with pytest.raises(ValueError, match="there is a context 'lab' already"):
        with_context("[client.contexts.lab]\nurl = 'x'\n", "lab", LAB)


@pytest.mark.parametrize("text", ["client = {context = 'x'}\n", "client = {}\n", "client.url = 'x'\n"])
def test_a_file_that_cannot_be_changed_line_by_line(text: str) -> None:
    with pytest.raises(ValueError, match="change it by hand"):
        with_current_context(text, "lab")
