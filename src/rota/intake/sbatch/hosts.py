"""Names of nodes as Slurm writes them: "n[01-03,7],login"."""

import re
from collections.abc import Iterator

MAX_HOSTS = 10_000

_PART = re.compile(r"[^,\[\]]*(?:\[[0-9,-]+\][^,\[\]]*)*", re.ASCII)
_BRACKETS = re.compile(r"\[([0-9,-]+)\]", re.ASCII)
_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?", re.ASCII)


def expand_hosts(text: str) -> list[str]:
    """ValueError: it is no list of hosts, or one of far too many."""
    hosts: list[str] = []
    rest = text
    while rest:
        match = _PART.match(rest)
        assert match is not None, "it may match nothing at all"
        part, rest = match[0], rest[match.end() :]
        if not part or (rest and not rest.startswith(",")):
            raise ValueError(text)
        rest = rest[1:]
        for host in _expand(part):
            hosts.append(host)
            if len(hosts) > MAX_HOSTS:
                raise ValueError(text)
    if not hosts:
        raise ValueError(text)
    return hosts


def _expand(part: str) -> Iterator[str]:
    match = _BRACKETS.search(part)
    if match is None:
        yield part
        return
    for number in _numbers(match[1]):
        yield from _expand(f"{part[: match.start()]}{number}{part[match.end() :]}")


def _numbers(text: str) -> Iterator[str]:
    """Leading zeros stay."""
    for one in text.split(","):
        match = _RANGE.fullmatch(one)
        if match is None:
            raise ValueError(text)
        first, last = match[1], match[2] or match[1]
        for number in range(int(first), int(last) + 1):
            yield f"{number:0{len(first)}d}"
