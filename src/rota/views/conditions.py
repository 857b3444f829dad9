"""Words for conditions on labels: `app=web`, `gen Gt 3`, `zone In a,b`."""

from __future__ import annotations

from rota.model.selectors import NodeTerm, Operator, Requirement


def requirements_text(requirements: tuple[Requirement, ...]) -> str:
    """Of a job's labels."""
    return " and ".join(map(_requirement, requirements)) or "any job"


def terms_text(terms: tuple[NodeTerm, ...]) -> str:
    """Alternatives of a node affinity."""
    return " or ".join(
        " and ".join(map(_requirement, (*term.labels.requirements, *term.names))) or "nothing"
        for term in terms
    )


def _requirement(one: Requirement) -> str:
    if one.operator is Operator.IN and len(one.values) == 1:
        return f"{one.key}={one.values[0]}"
    return f"{one.key} {one.operator.value} {','.join(one.values)}".strip()
