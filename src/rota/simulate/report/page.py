"""The page: one file that holds everything, for any browser, without a network and without scripts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from rota.simulate.report.bounds import bounds_figures
from rota.simulate.report.errors import error_figures
from rota.simulate.report.figure import note
from rota.simulate.report.gantt import gantt_figures, tenants_of
from rota.simulate.report.markup import Markup, element, short
from rota.simulate.report.over_time import over_time_figures
from rota.simulate.report.runs import Run, runs_of, span_ms
from rota.simulate.report.table import comparison
from rota.simulate.report.waits import waits_figures
from rota.simulate.result import SimResult
from rota.simulate.words import counted, duration_text, moment_text

_STYLE = Path(__file__).with_name("style.css")
_ALLOWED = "default-src 'none'; style-src 'unsafe-inline'"
"""Nothing is loaded and no script runs, even if a name from a trace should ever get through as HTML."""

_NO_ESTIMATES = "No job that started had been told when it would: --estimates makes estimates."


def write_report(results: Sequence[SimResult], folder: Path) -> Path:
    """One result a policy. `folder` is made where it is missing; returns the page in it."""
    if not results:
        raise ValueError("a report needs at least one result")
    page = folder / "index.html"
    folder.mkdir(parents=True, exist_ok=True)
    page.write_text(_page(runs_of(results)), encoding="utf-8")
    return page


def _page(runs: Sequence[Run]) -> str:
    title = f"Simulation of {_listed(run.result.workload for run in runs)}"
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=_ALLOWED),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("title", title),
        element("style", Markup(_STYLE.read_text(encoding="utf-8"))),
    )
    sections = _sections(runs)
    body = element(
        "body",
        _patterns(),
        element("header", element("h1", title), *_facts(runs), _contents([*sections])),
        element("main", *(_section(name, content) for name, content in sections.items())),
    )
    return f"<!doctype html>\n{element('html', head, body, lang='en')}\n"


def _sections(runs: Sequence[Run]) -> dict[str, Markup]:
    results = [run.result for run in runs]
    tenants = tenants_of(results)
    span = span_ms(results)
    return {
        "Comparison" if len(runs) > 1 else "In numbers": comparison(runs),
        "Load and waits": _figures([*over_time_figures(runs), *waits_figures(runs)], "No job arrived."),
        "Estimates of the start": _figures(
            [*bounds_figures(runs), *error_figures(runs)],
            _NO_ESTIMATES,
        ),
        "Nodes over time": _figures(
            [one for run in runs for one in gantt_figures(run, tenants, span)], "Nothing ran."
        ),
    }


def _figures(figures: Sequence[Markup], otherwise: str) -> Markup:
    return element("div", *figures, class_="figures") if figures else note(otherwise)


def _section(name: str, content: Markup) -> Markup:
    return element("section", element("h2", name), content, id=_anchor(name))


def _contents(names: Iterable[str]) -> Markup:
    links = (element("a", name, href=f"#{_anchor(name)}") for name in names)
    return element("nav", *links, aria_label="On this page")


def _anchor(name: str) -> str:
    return name.lower().replace(" ", "-")


def _facts(runs: Sequence[Run]) -> list[Markup]:
    """What was simulated; once, where it is the same for all."""
    facts = [_fact(run.result) for run in runs]
    if len(set(facts)) == 1:
        said = facts[:1]
    else:
        said = [f"{run.label}: {fact}" for run, fact in zip(runs, facts, strict=True)]
    faulty = [
        f"{run.label}: plugin {short(fault.plugin)} failed in {fault.call}: {fault.error}"
        for run in runs
        for fault in run.result.faults
    ]
    return [
        *(element("p", fact, class_="facts") for fact in said),
        *(element("p", fault, class_="fault") for fault in faulty),
    ]


def _fact(result: SimResult) -> str:
    first_ms = min((job.arrival_ms for job in result.jobs), default=0)
    last_ms = max((job.arrival_ms for job in result.jobs), default=0)
    parts = [
        counted(len(result.jobs), "job"),
        f"{counted(len(result.nodes), 'node')} with {result.cpu_milli / 1000:,.0f} CPUs",
    ]
    if result.gpu_milli:
        parts[-1] += f" and {result.gpu_milli / 1000:,.0f} GPUs"
    if result.jobs:
        parts.append(
            f"arrivals from {moment_text(first_ms, result.epoch_ms)} over {duration_text(last_ms - first_ms)}"
        )
    return ", ".join((*parts, f"seed {result.seed}")) + "."


def _listed(names: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(map(short, names)))


def _patterns() -> Markup:
    """What the pictures refer to by name."""
    return element(
        "svg",
        _hatching("maintenance", 45),
        _hatching("reservation", 135),
        element("path", id="kept", d="M0 -4.2L4.2 0L0 4.2L-4.2 0Z", class_="promise"),
        element("path", id="broken", d="M0 -5L5 0L0 5L-5 0Z", class_="promise broken"),
        width=0,
        height=0,
        style="position:absolute",
        aria_hidden="true",
    )


def _hatching(name: str, degrees: int) -> Markup:
    return element(
        "pattern",
        element("rect", width=6, height=6, class_="veil"),
        element("line", x1=0, x2=0, y1=0, y2=6, class_="hatch"),
        id=name,
        width=6,
        height=6,
        patternUnits="userSpaceOnUse",
        patternTransform=f"rotate({degrees})",
    )
