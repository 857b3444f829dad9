"""Fields of jobs by their other number: `cpu` and `cpus`, `label` and `labels`. Who writes one of them means
the other, and there is no field that both could be. Amounts beside the resources are taken for such."""

from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

from msgspec import inspect

from rota.intake.checking.numbers import other_numbers
from rota.intake.documents.document import Document
from rota.intake.errors import FieldPath
from rota.intake.forms.jobs import CostForm, GpuRequestForm, InputFileForm, RetryForm, TaskForm, WarnForm

RESOURCES = "resources"
_OF_JOBS = (TaskForm, GpuRequestForm, CostForm, InputFileForm, RetryForm, WarnForm)
_AMOUNTS = {"cpu": "cpu", "cpus": "cpu", "memory": "memory", "storage": "storage"}
"""What may stand beside the resources, and which of them it is."""


def by_known_names(document: Document, wanted: type) -> Document:
    """With the names that the fields of its jobs have; the very same, if there is nothing to rename. Raises
    InputError for a field that is there by both its names."""
    data = _Understanding(document).read(document.data, inspect.type_info(wanted), ())
    return document if data is document.data else replace(document, data=data)


class _Names(NamedTuple):
    fields: dict[str, inspect.Field]
    others: dict[str, str]
    """Names that aren't fields, and the fields that they mean."""


class _Understanding:
    def __init__(self, document: Document) -> None:
        self._document = document

    def read(self, value: Any, kind: inspect.Type, at: FieldPath) -> Any:
        match value:
            case dict():
                struct = next(
                    (one for one in _alternatives(kind) if isinstance(one, inspect.StructType)), None
                )
                return value if struct is None else self._struct(value, struct, at)
            case list() | tuple():
                item = next((found for one in _alternatives(kind) if (found := _item(one)) is not None), None)
                if item is None:
                    return value
                return _same_or(
                    value, [self.read(one, item, (*at, index)) for index, one in enumerate(value)]
                )
            case _:
                return value

    def _struct(self, value: dict[Any, Any], kind: inspect.StructType, at: FieldPath) -> Any:
        if not issubclass(kind.cls, _OF_JOBS):
            inner = {name: self._inner(name, one, kind, at) for name, one in value.items()}
            return _same_or(value, inner)
        names = _names(kind.cls)
        found: dict[Any, Any] = {}
        by: dict[str, str] = {}
        beside: dict[str, Any] = {}
        for written, inner in value.items():
            name = names.others.get(written, written)
            if name in by:
                raise self._twice(at, by[name], written)
            by[name] = written
            field = names.fields.get(name)
            if field is not None:
                whole = _in_list(inner, field.type) if name != written else inner
                found[name] = self.read(whole, field.type, (*at, written))
            elif RESOURCES in names.fields and written in _AMOUNTS:
                if _AMOUNTS[written] in beside:
                    raise self._twice(at, next(one for one in by if one in _AMOUNTS), written)
                beside[_AMOUNTS[written]] = inner
            else:
                found[written] = inner
        if beside:
            found[RESOURCES] = self._resources(found.get(RESOURCES, {}), beside, at)
        return _same_or(value, found)

    def _inner(self, name: str, value: Any, kind: inspect.StructType, at: FieldPath) -> Any:
        field = _names(kind.cls).fields.get(name)
        return value if field is None else self.read(value, field.type, (*at, name))

    def _resources(self, given: Any, beside: dict[str, Any], at: FieldPath) -> Any:
        if not isinstance(given, dict):
            return given
        for name in beside:
            for known in (name, *other_numbers(name)):
                if known in given:
                    raise self._twice(at, f"{RESOURCES}.{known}", name)
        return {**given, **beside}

    def _twice(self, at: FieldPath, first: str, second: str) -> Exception:
        return self._document.error((*at, second), f'"{first}" and "{second}" are the same field', "give one")


@cache
def _names(form: type) -> _Names:
    kind = inspect.type_info(form)
    assert isinstance(kind, inspect.StructType)
    fields = {field.encode_name: field for field in kind.fields}
    others = {other: name for name in fields for other in other_numbers(name) if other not in fields}
    return _Names(fields, {other: name for other, name in others.items() if other not in _AMOUNTS})


def _alternatives(kind: inspect.Type) -> tuple[inspect.Type, ...]:
    return kind.types if isinstance(kind, inspect.UnionType) else (kind,)


def _item(kind: inspect.Type) -> inspect.Type | None:
    return kind.item_type if isinstance(kind, inspect.VarTupleType | inspect.ListType) else None


def _in_list(value: Any, kind: inspect.Type) -> Any:
    """`output: result.txt` is a list of one."""
    alternatives = _alternatives(kind)
    if isinstance(value, list | tuple | dict) or not any(_item(one) is not None for one in alternatives):
        return value
    return value if any(isinstance(one, inspect.StrType) for one in alternatives) else [value]


def _same_or(value: Any, made: Any) -> Any:
    """The value itself, if what was made of it is no different."""
    if isinstance(value, dict):
        is_same = list(value) == list(made) and all(value[name] is made[name] for name in value)
    else:
        is_same = all(one is other for one, other in zip(value, made, strict=True))
    return value if is_same else made
