"""Links in Markdown: where they lead, and which headings they can lead to."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import unquote

import msgspec

_FENCE = re.compile(r"^ {0,3}(```+|~~~+)")
_CODE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)")
_LINK = re.compile(r"(?P<image>!?)\[(?P<text>(?:[^\[\]\n]|\n(?!\n)|\[[^\]\n]*\])*)\]\((?P<target>[^()\s]+)\)")
_HEADING = re.compile(r"^ {0,3}#{1,6}\s+(?P<text>.*?)\s*#*\s*$")
_ELSEWHERE = re.compile(r"^[a-z][a-z0-9+.-]*:")
_NOT_OF_ANCHORS = re.compile(r"[^\w\- ]")


class Link(msgspec.Struct, frozen=True):
    line: int
    text: str
    target: str
    is_image: bool

    @property
    def path(self) -> str:
        return unquote(self.target.partition("#")[0])

    @property
    def anchor(self) -> str:
        return unquote(self.target.partition("#")[2])

    @property
    def is_elsewhere(self) -> bool:
        """Leads out of the repository: nobody asks the network whether it is right."""
        return bool(_ELSEWHERE.match(self.target))


def links_of(text: str) -> Iterator[Link]:
    for match in _LINK.finditer(_without_code(text)):
        yield _link(text, match)


def relinked(text: str, link_for: Callable[[Link], str]) -> str:
    """The text with each link replaced by what `link_for` makes of it."""
    made, at = [], 0
    for match in _LINK.finditer(_without_code(text)):
        made += [text[at : match.start()], link_for(_link(text, match))]
        at = match.end()
    return "".join(made) + text[at:]


def anchors_of(text: str) -> set[str]:
    """Of its headings, as GitHub and the site name them."""
    found: dict[str, int] = {}
    anchors = set()
    for _, line in _prose(text):
        if match := _HEADING.match(line):
            anchor = anchor_of(match["text"])
            count = found.get(anchor, 0)
            found[anchor] = count + 1
            anchors.add(f"{anchor}-{count}" if count else anchor)
    return anchors


def broken_links(file: Path, root: Path) -> Iterator[str]:
    """Each with file, line and what is wrong with it."""
    text = file.read_text(encoding="utf-8")
    for link in links_of(text):
        if link.is_elsewhere:
            continue
        here = f"{file.relative_to(root)}:{link.line}: {link.target}"
        target = (file.parent / link.path).resolve() if link.path else file
        if not target.is_relative_to(root):
            yield f"{here} leads out of the repository"
        elif not target.exists():
            yield f"{here} leads nowhere"
        elif (
            link.anchor
            and target.suffix == ".md"
            and link.anchor not in anchors_of(target.read_text("utf-8"))
        ):
            yield f"{here}: there is no such heading"


def anchor_of(heading: str) -> str:
    shown = _LINK.sub(lambda match: match["text"], heading).replace("`", "").replace("*", "")
    return _NOT_OF_ANCHORS.sub("", shown.lower()).replace(" ", "-")


def _link(text: str, match: re.Match[str]) -> Link:
    line = text.count("\n", 0, match.start()) + 1
    return Link(line, text[slice(*match.span("text"))], match["target"], bool(match["image"]))


def _without_code(text: str) -> str:
    """As long as before: what stands in code is no link."""
    lines = [" " * len(line) for line in text.split("\n")]
    for number, line in _prose(text):
        lines[number - 1] = _CODE.sub(lambda match: "`" * len(match[0]), line)
    return "\n".join(lines)


def _prose(text: str) -> Iterator[tuple[int, str]]:
    """Lines that aren't in a block of code, by number."""
    fence = ""
    for number, line in enumerate(text.split("\n"), start=1):
        match = _FENCE.match(line)
        if fence:
            if match and match[1].startswith(fence):
                fence = ""
        elif match:
            fence = match[1]
        elif not line.startswith("    "):
            yield number, line
