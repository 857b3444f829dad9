"""The documents of this repository: every link leads somewhere, and every page has its place."""

import re
from pathlib import Path, PurePosixPath

import pytest
import yaml

from bench.tables import stale
from scripts.site.build import FROM_THE_ROOT, REFERENCES
from scripts.site.links import broken_links, links_of

ROOT = Path(__file__).resolve().parents[4]
FOLDERS = (".github", "bench", "deploy", "docs", "examples", "hack", "tests")
DOCUMENTS = sorted(
    [*ROOT.glob("*.md"), *(file for folder in FOLDERS for file in (ROOT / folder).rglob("*.md"))]
)


@pytest.mark.parametrize("file", DOCUMENTS, ids=lambda file: str(file.relative_to(ROOT)))
def test_every_link_leads_somewhere(file: Path) -> None:
    assert list(broken_links(file, ROOT)) == []


def linked_from(file: Path) -> set[Path]:
    links = links_of(file.read_text(encoding="utf-8"))
    return {(file.parent / link.path).resolve() for link in links if link.path and not link.is_elsewhere}


def test_the_index_names_every_page() -> None:
    pages = {ROOT / "docs" / name for name in _pages()} - {ROOT / "docs/README.md"}
    assert pages - linked_from(ROOT / "docs/README.md") == set()


def test_the_list_of_decisions_is_complete() -> None:
    records = set((ROOT / "docs/decisions").glob("0*.md"))
    assert records - linked_from(ROOT / "docs/decisions/README.md") == set()


def test_the_site_has_a_place_for_every_page() -> None:
    nav = yaml.load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"), _WithoutTags)["nav"]
    assert set(_leaves(nav)) == _pages() | set(FROM_THE_ROOT.values()) | set(REFERENCES)


def _pages() -> set[str]:
    """Decisions are pages of their own list."""
    files = {file.relative_to(ROOT / "docs") for file in (ROOT / "docs").rglob("*.md")}
    return {str(file) for file in files if not file.match("decisions/0*")}


def test_the_map_names_only_what_is_there() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:[\w-]+/)*[\w-]+\.py|(?:[\w-]+/)+)`", text))
    there = {file.relative_to(ROOT / "src/rota").as_posix() for file in (ROOT / "src/rota").rglob("*.py")}
    folders = {f"{parent}/" for file in there for parent in PurePosixPath(file).parents}
    known = [f"/{one}" for one in there | folders]
    missing = [one for one in named if not any(path.endswith(f"/{one}") for path in known)]
    assert [one for one in missing if not (ROOT / one).exists() and one != "src/rota/"] == []


def test_tables_show_what_was_measured() -> None:
    assert stale() == [], "run make docs-tables"


class _WithoutTags(yaml.SafeLoader):
    """Reads the tags of MkDocs as if they were nothing: they name Python functions and variables."""


_WithoutTags.add_multi_constructor("", lambda loader, suffix, node: None)


def _leaves(nav: object) -> list[str]:
    match nav:
        case str():
            return [nav]
        case list():
            return [leaf for one in nav for leaf in _leaves(one)]
        case dict():
            return [leaf for one in nav.values() for leaf in _leaves(one)]
        case _:
            raise AssertionError(nav)
