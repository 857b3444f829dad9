"""Builds the site: docs/ and some files of the root, with references made from the code beside them.

    python -m scripts.site.build            into build/docs/site; fails on broken links
    python -m scripts.site.build --pages    only the pages that MkDocs reads, into build/docs/pages

ROTA_REPOSITORY_URL, if set, is where links to files lead that are no pages; otherwise these aren't links.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path, PurePosixPath

from scripts.site import cli_reference, rest_reference, sdk_reference, settings_reference
from scripts.site.links import Link, relinked

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "build/docs/pages"
SITE = ROOT / "build/docs/site"

FROM_THE_ROOT = {
    "ARCHITECTURE.md": "architecture.md",
    "CHANGELOG.md": "changelog.md",
    "CODE_OF_CONDUCT.md": "code-of-conduct.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
}
REFERENCES: dict[str, Callable[[], str]] = {
    "reference/cli.md": cli_reference.page,
    "reference/rest.md": rest_reference.page,
    "reference/sdk.md": sdk_reference.page,
    "reference/settings.md": settings_reference.page,
}


def write_pages(root: Path = ROOT, pages: Path = PAGES, repository_url: str = "") -> None:
    shutil.rmtree(pages, ignore_errors=True)
    shutil.copytree(root / "docs", pages)
    places = places_of(root)
    for source, place in places.items():
        text = (root / source).read_text(encoding="utf-8")
        _write(pages / place, relinked(text, _linker(source, places, repository_url)))
    for name, made in REFERENCES.items():
        _write(pages / name, made())


def places_of(root: Path) -> dict[str, str]:
    """Where each file is on the site, by its path in the repository."""
    docs = sorted((root / "docs").rglob("*.md"))
    pages = {
        f"docs/{path}": str(path) for path in (one.relative_to(root / "docs").as_posix() for one in docs)
    }
    return pages | {name: place for name, place in FROM_THE_ROOT.items() if (root / name).exists()}


def _linker(source: str, places: dict[str, str], repository_url: str) -> Callable[[Link], str]:
    folder = PurePosixPath(source).parent
    here = PurePosixPath(places[source]).parent

    def link_for(link: Link) -> str:
        mark = "!" if link.is_image else ""
        if link.is_elsewhere or not link.path:
            return f"{mark}[{link.text}]({link.target})"
        path = os.path.normpath(folder / link.path)
        place = places.get(path) or (path.removeprefix("docs/") if _is_kept(path) else "")
        anchor = f"#{link.anchor}" if link.anchor else ""
        if place:
            return f"{mark}[{link.text}]({os.path.relpath(place, here)}{anchor})"
        if path == "docs/decisions":
            return f"[{link.text}]({os.path.relpath('decisions/README.md', here)})"
        return f"[{link.text}]({repository_url}/blob/main/{path})" if repository_url else link.text

    return link_for


def _is_kept(path: str) -> bool:
    """A picture or other file of docs/, which is copied as it is."""
    return path.startswith("docs/") and bool(PurePosixPath(path).suffix)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description="Build the documentation.")
    parser.add_argument("--pages", action="store_true", help="only write the pages that MkDocs reads")
    only_pages = parser.parse_args().pages
    write_pages(repository_url=os.environ.get("ROTA_REPOSITORY_URL", "").rstrip("/"))
    if only_pages:
        return 0
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--clean"]
    # Its advice about successors is for us, and not for whoever builds the site: see decision 0015.
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode
    if done == 0:
        print(f"the site is in {SITE.relative_to(ROOT)}/index.html")
    return done


if __name__ == "__main__":
    sys.exit(main())
