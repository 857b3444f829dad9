"""Conditions on labels and names, of nodes and of other jobs.

Conditions that mean the same become equal records, whichever order they were written in.
"""

from collections.abc import Iterable, Sequence

from msgspec import UNSET

from rota.intake.checking.fields import Field
from rota.intake.checking.names import read_name
from rota.intake.checking.wording import describe_value
from rota.intake.forms.blocks import (
    JobAffinityForm,
    NodeTermForm,
    PreferredNodeTermForm,
    RequirementForm,
    SelectorForm,
    SpreadForm,
)
from rota.intake.parts.writing import Plain, given
from rota.model.ids import Labels
from rota.model.selectors import NodeTerm, Operator, PreferredNodeTerm, Requirement, Selector, whole_number
from rota.model.task import JobAffinity, Spread

_NODE_NAME = "metadata.name"
"""The field of a node that conditions on its name are about, by Kubernetes' name for it."""


def read_selector(form: SelectorForm, at: Field) -> Selector:
    if not form:
        raise at.error("an empty selector would select everything", "name labels in it")
    if isinstance(form, dict):
        return Selector(_in_order(_label_is(key, value, at.at(key)) for key, value in form.items()))
    return Selector(_in_order(_requirement(one, at.at(index)) for index, one in enumerate(form)))


def _label_is(key: str, value: str | tuple[str, ...], at: Field) -> Requirement:
    read_name(key, at)
    if value == ():
        raise at.error("no value is allowed", "give at least one")
    return Requirement(key, Operator.IN, _distinct([value] if isinstance(value, str) else value))


def _requirement(form: RequirementForm, at: Field) -> Requirement:
    read_name(form.key, at.at("key"))
    return Requirement(form.key, form.operator, _values(form, at.at("values")))


def _values(form: RequirementForm, at: Field) -> tuple[str, ...]:
    operator = form.operator
    match operator:
        case Operator.EXISTS | Operator.DOES_NOT_EXIST:
            if form.values:
                raise at.error(f"the operator {operator.value} takes no values", "remove them")
            return ()
        case Operator.GT | Operator.LT:
            numbers = [whole_number(str(value)) for value in form.values]
            if len(numbers) != 1 or numbers[0] is None:
                raise at.error(
                    f"the operator {operator.value} compares with one whole number", "give just that"
                )
            return (str(numbers[0]),)
        case Operator.IN | Operator.NOT_IN:
            if not form.values:
                raise at.error(f"the operator {operator.value} needs values", "add at least one")
            for index, value in enumerate(form.values):
                if isinstance(value, int):
                    raise at.at(index).error(
                        f"expected text, got {describe_value(value)}", "put it in quotes"
                    )
            return _distinct(map(str, form.values))


def _distinct(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(values)))


def _in_order(requirements: Iterable[Requirement]) -> tuple[Requirement, ...]:
    return tuple(sorted(set(requirements), key=lambda one: (one.key, one.operator.value, one.values)))


def read_node_term(form: NodeTermForm, at: Field) -> NodeTerm:
    if not (form.labels or form.names or form.not_names):
        raise at.error("a term without conditions", "give it labels, names or not_names")
    names = []
    if form.names:
        names.append(Requirement(_NODE_NAME, Operator.IN, _distinct(form.names)))
    if form.not_names:
        names.append(Requirement(_NODE_NAME, Operator.NOT_IN, _distinct(form.not_names)))
    labels = read_selector(form.labels, at.at("labels")) if form.labels else Selector()
    return NodeTerm(labels, tuple(names))


def read_preferred_node_term(form: PreferredNodeTermForm, at: Field) -> PreferredNodeTerm:
    return PreferredNodeTerm(form.weight, read_node_term(form, at))


def read_job_affinity(form: JobAffinityForm, at: Field) -> JobAffinity:
    return JobAffinity(
        topology_key=read_name(form.within, at.at("within")),
        selector=read_selector(form.to, at.at("to")),
        namespaces=_distinct(form.namespaces),
        anti=form.anti,
        weight=None if form.weight is UNSET else form.weight,
    )


def read_spreads(forms: Sequence[SpreadForm], own_labels: Labels, at: Field) -> tuple[Spread, ...]:
    return tuple(_spread(form, own_labels, at.at(index)) for index, form in enumerate(forms))


def _spread(form: SpreadForm, own_labels: Labels, at: Field) -> Spread:
    if form.min_domains > 1 and not form.required:
        raise at.at("min_domains").error(
            "a wish has no minimum of domains", "remove it, or set required: true"
        )
    if form.of is not UNSET:
        selector = read_selector(form.of, at.at("of"))
    elif own_labels:
        selector = Selector(_in_order(Requirement(key, Operator.IN, (value,)) for key, value in own_labels))
    else:
        raise at.error("the tasks to spread are not named", "name them by `of`, or give the job labels")
    return Spread(
        topology_key=read_name(form.over, at.at("over")),
        max_skew=form.max_skew,
        selector=selector,
        required=form.required,
        min_domains=form.min_domains,
    )


def node_term_form(term: NodeTerm) -> Plain:
    names = {requirement.operator: list(requirement.values) for requirement in term.names}
    return given(
        {
            "labels": selector_form(term.labels),
            "names": names.get(Operator.IN),
            "not_names": names.get(Operator.NOT_IN),
        }
    )


def selector_form(selector: Selector) -> list[Plain]:
    return [
        given({"key": one.key, "operator": one.operator.value, "values": list(one.values)})
        for one in selector.requirements
    ]


def affinity_form(affinity: JobAffinity) -> Plain:
    return given(
        {
            "to": selector_form(affinity.selector),
            "within": affinity.topology_key,
            "anti": affinity.anti,
            "weight": affinity.weight,
            "namespaces": list(affinity.namespaces),
        }
    )


def spread_form(spread: Spread) -> Plain:
    fields: Plain = {
        "over": spread.topology_key,
        "max_skew": spread.max_skew,
        "of": selector_form(spread.selector),
        "required": spread.required,
    }
    if spread.min_domains > 1:
        fields["min_domains"] = spread.min_domains
    return fields
