"""Whose work it is, as colours: the same in the pictures of every policy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from rota.simulate.report.markup import Markup, element, short
from rota.simulate.result import JobResult, SimResult

_COLOURS = 6
"""More are hard to tell apart, for colour-blind people above all."""
_NOUNS = ("project", "user", "queue")


@dataclass(frozen=True)
class Tenants:
    noun: str
    names: tuple[str, ...]
    """Those with a colour of their own, by what they used."""
    others: int

    def name_of(self, job: JobResult) -> str:
        return _name(job, self.noun)

    def number_of(self, job: JobResult) -> int:
        """Of the colour; all others share the last one."""
        name = self.name_of(job)
        return self.names.index(name) if name in self.names else len(self.names)

    def style(self, number: int) -> str:
        return f"t{number}" if number < len(self.names) else "others"

    @property
    def count(self) -> int:
        return len(self.names) + 1


def tenants_of(results: Sequence[SimResult]) -> Tenants:
    """By project; by user where there is one project, by queue where there is one user."""
    noun = next((noun for noun in _NOUNS if len(_names(results, noun)) > 1), _NOUNS[0])
    used: Counter[str] = Counter()
    for result in results:
        for job in result.jobs:
            used[_name(job, noun)] += sum(one.end_ms - one.start_ms for one in job.stretches)
    ranked = sorted(used, key=lambda name: (-used[name], name))
    return Tenants(noun, tuple(ranked[:_COLOURS]), max(0, len(ranked) - _COLOURS))


def tenants_legend(tenants: Tenants) -> Markup:
    entries = [_entry(tenants.style(number), short(name)) for number, name in enumerate(tenants.names)]
    if tenants.others:
        entries.append(_entry("others", f"{tenants.others:,} other{'s' * (tenants.others > 1)}"))
    return element("ul", *entries, class_="legend", aria_label=f"Colours, by {tenants.noun}")


def _entry(style: str, text: str) -> Markup:
    swatch = element("svg", element("rect", width=12, height=12, class_=style), width=12, height=12)
    return element("li", swatch, text)


def _names(results: Sequence[SimResult], noun: str) -> set[str]:
    return {_name(job, noun) for result in results for job in result.jobs}


def _name(job: JobResult, noun: str) -> str:
    match noun:
        case "project":
            return job.project
        case "user":
            return job.user
        case _:
            return job.queue
