"""References made from the code name everything that there is."""

import re
from pathlib import Path

import pytest

import rota
from rota.cli.all_commands import SECTIONS
from rota.server.routes import ROUTES
from rota.settings.load import resolve_settings
from scripts.site import cli_reference, rest_reference, sdk_reference, settings_reference
from scripts.site.build import places_of, write_pages
from scripts.site.links import anchors_of, links_of
from scripts.site.markdown import cell, paragraphs, table


def test_every_command_has_its_heading() -> None:
    page = cli_reference.page()
    for listed in (one for section in SECTIONS.values() for one in section):
        assert f"\n### rota {listed.name}\n" in page
    assert "\n#### rota nodes drain\n" in page
    assert re.search(r"\| `--cpus NUMBER` \| \S", page)


def test_every_setting_with_its_variable_and_default() -> None:
    page = settings_reference.page()
    for row in resolve_settings([], {"HOME": "/home/you"}, {}).rows():
        assert f"| `{row.key}` |" in page
    assert "| `server.port` | `ROTA_SERVER_PORT` | `8426` |" in page
    assert "| `logs.format` | `ROTA_LOGS_FORMAT` | `auto` | auto: text on a terminal, else JSON. |" in page


def test_every_route() -> None:
    page = rest_reference.page()
    for route in ROUTES:
        assert f"\n### {route.method} {route.path}\n" in page


def test_links_between_documents_of_the_rest_interface() -> None:
    page = rest_reference.page()
    assert {link.anchor for link in links_of(page) if not link.path} <= anchors_of(page)


@pytest.mark.parametrize("name", ["submit", "run", "why", "events"])
def test_every_method_of_a_client(name: str) -> None:
    assert f"\n### Client.{name}\n" in sdk_reference.page()


def test_signatures_as_they_are_written() -> None:
    page = sdk_reference.page()
    assert f"rota.{rota.Client.__name__}(\n    url: str | None = None,\n" in page
    assert "    message: str = ''" in page or "message: str = ''" in page


def test_text_stays_in_its_cell() -> None:
    assert cell("one|two\n <three>") == r"one\|two \<three\>"
    assert table(("a",), []) == []
    assert paragraphs("One\nline.\n\nAnother.") == ["One line.", "", "Another.", ""]


@pytest.mark.slow
def test_pages_link_to_each_other(tmp_path: Path) -> None:
    root, pages = tmp_path / "root", tmp_path / "pages"
    (root / "docs/decisions").mkdir(parents=True)
    (root / "docs/images").mkdir()
    (root / "docs/images/a.svg").write_text("<svg/>")
    (root / "docs/a.md").write_text(
        "[b](decisions/b.md#c) [s](../SECURITY.md) [code](../src/x.py) ![p](images/a.svg) [all](decisions)"
    )
    (root / "docs/decisions/b.md").write_text("[a](../a.md) [w](https://example.org)")
    (root / "SECURITY.md").write_text("[a](docs/a.md#b) [up](#top)")
    assert places_of(root)["SECURITY.md"] == "security.md"

    write_pages(root, pages)
    a = (pages / "a.md").read_text()
    assert a == "[b](decisions/b.md#c) [s](security.md) code ![p](images/a.svg) [all](decisions/README.md)"
    assert (pages / "decisions/b.md").read_text() == "[a](../a.md) [w](https://example.org)"
    assert (pages / "security.md").read_text() == "[a](a.md#b) [up](#top)"
    assert (pages / "images/a.svg").exists()

    write_pages(root, pages, "https://example.org/rota")
    assert "[code](https://example.org/rota/blob/main/src/x.py)" in (pages / "a.md").read_text()
