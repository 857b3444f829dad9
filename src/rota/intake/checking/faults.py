"""All that keeps plain data from being of a type, in words for the people who wrote the data.

msgspec decides whether data fit and is fast at it, but names one fault only, and in its path it leaves out
the keys of mappings. Once it has refused, this walk along the type finds every fault with its full path.
"""

import math
import operator
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec
from msgspec import inspect

from rota.intake.checking.wording import (
    Choice,
    choices,
    describe_type,
    describe_value,
    listed,
    nearest,
    quoted,
)
from rota.intake.documents.scalars import resolve
from rota.intake.errors import FieldPath
from rota.model.quantities import QuantityError

DecodeHook = Callable[[type, Any], Any]

_ArrayType = inspect.ListType | inspect.SetType | inspect.FrozenSetType | inspect.VarTupleType
_SizedType = _ArrayType | inspect.DictType | inspect.StrType


class Fault(NamedTuple):
    path: FieldPath
    problem: str
    remedy: str = ""


class FaultFinder:
    """`decode` is msgspec's hook for types that msgspec doesn't know."""

    def __init__(self, decode: DecodeHook) -> None:
        self._decode = decode

    def find(self, value: Any, wanted: inspect.Type, path: FieldPath) -> Iterator[Fault]:  # noqa: C901 – one case for each kind of type
        match wanted:
            case inspect.Metadata():
                yield from self.find(value, wanted.type, path)
            case inspect.UnionType():
                yield from self._in_union(value, wanted, path)
            case inspect.CustomType():
                yield from self._in_custom(value, wanted, path)
            case inspect.EnumType() | inspect.LiteralType():
                yield from _in_choice(value, choices(wanted), path)
            case _ if not _is_of_kind(value, wanted):
                yield _wrong_kind(value, wanted, path)
            case inspect.StructType():
                yield from self._in_struct(value, wanted, path)
            case inspect.DictType():
                yield from self._in_dict(value, wanted, path)
            case inspect.TupleType():
                yield from self._in_tuple(value, wanted, path)
            case inspect.ListType() | inspect.SetType() | inspect.FrozenSetType() | inspect.VarTupleType():
                yield from _in_length(value, wanted, path)
                for index, item in enumerate(value):
                    yield from self.find(item, wanted.item_type, (*path, index))
            case inspect.IntType() | inspect.FloatType():
                yield from _in_number(value, wanted, path)
            case inspect.StrType():
                yield from _in_length(value, wanted, path)
                yield from _in_pattern(value, wanted, path)

    def _in_struct(
        self, value: dict[str, Any], wanted: inspect.StructType, path: FieldPath
    ) -> Iterator[Fault]:
        faultless = True
        for fault in self._in_fields(value, wanted, path):
            faultless = False
            yield fault
        if faultless and hasattr(wanted.cls, "__post_init__"):
            try:
                msgspec.convert(value, wanted.cls, dec_hook=self._decode)
            except msgspec.ValidationError as error:
                yield _fault_of(error.__cause__ or error, path)

    def _in_fields(
        self, value: dict[str, Any], wanted: inspect.StructType, path: FieldPath
    ) -> Iterator[Fault]:
        fields = {field.encode_name: field for field in wanted.fields}
        known = [*fields, wanted.tag_field] if wanted.tag_field else [*fields]
        misspelt = set()
        for name, inner in value.items():
            if name in fields:
                yield from self.find(inner, fields[name].type, (*path, name))
            elif name == wanted.tag_field:
                yield from _in_choice(inner, (wanted.tag,), (*path, name))
            elif wanted.forbid_unknown_fields:
                meant = nearest(name, known)
                misspelt.add(meant)
                remedy = f"did you mean {quoted(meant)}?" if meant else f"known fields: {', '.join(known)}"
                yield Fault((*path, name), "unknown field", remedy)
        for name, field in fields.items():
            if field.required and name not in value and name not in misspelt:
                yield Fault((*path, name), "is missing", "add this field")

    def _in_dict(self, value: dict[str, Any], wanted: inspect.DictType, path: FieldPath) -> Iterator[Fault]:
        yield from _in_length(value, wanted, path)
        for key, inner in value.items():
            yield from self.find(key, wanted.key_type, (*path, key))
            yield from self.find(inner, wanted.value_type, (*path, key))

    def _in_tuple(self, value: list[Any], wanted: inspect.TupleType, path: FieldPath) -> Iterator[Fault]:
        if len(value) != len(wanted.item_types):
            yield Fault(path, f"a list of {len(value)} items", f"give exactly {len(wanted.item_types)}")
        for index, (item, item_type) in enumerate(zip(value, wanted.item_types, strict=False)):
            yield from self.find(item, item_type, (*path, index))

    def _in_union(self, value: Any, wanted: inspect.UnionType, path: FieldPath) -> Iterator[Fault]:
        structs = {
            member.tag: member
            for member in wanted.types
            if isinstance(member, inspect.StructType) and member.tag_field
        }
        if structs and isinstance(value, dict):
            yield from self._in_tagged(value, structs, path)
            return
        # Of each kind of data a union has one member at most: msgspec sees to that.
        member = next((member for member in wanted.types if _is_of_kind(value, member)), None)
        if member is None:
            yield _wrong_kind(value, wanted, path)
        else:
            yield from self.find(value, member, path)

    def _in_tagged(
        self, value: dict[str, Any], structs: dict[str | int | None, inspect.StructType], path: FieldPath
    ) -> Iterator[Fault]:
        tag_field = next(iter(structs.values())).tag_field
        assert tag_field is not None
        tags = list(structs)
        if tag_field not in value:
            yield Fault((*path, tag_field), "is missing", f"give {listed(tags)}")
        elif value[tag_field] in tags:
            yield from self.find(value, structs[value[tag_field]], path)
        else:
            yield from _in_choice(value[tag_field], tags, (*path, tag_field))

    def _in_custom(self, value: Any, wanted: inspect.CustomType, path: FieldPath) -> Iterator[Fault]:
        try:
            self._decode(wanted.cls, value)
        except (ValueError, TypeError) as error:
            yield _fault_of(error, path)


def _is_of_kind(value: object, wanted: inspect.Type) -> bool:
    match wanted:
        case inspect.Metadata():
            return _is_of_kind(value, wanted.type)
        case inspect.NoneType():
            return value is None
        case inspect.BoolType():
            return isinstance(value, bool)
        case inspect.IntType():
            return isinstance(value, int) and not isinstance(value, bool)
        case inspect.FloatType():
            return isinstance(value, int | float) and not isinstance(value, bool)
        case inspect.StrType():
            return isinstance(value, str)
        case inspect.EnumType() | inspect.LiteralType():
            return type(value) in map(type, choices(wanted))
        case inspect.StructType() | inspect.DictType():
            return isinstance(value, dict)
        case inspect.TupleType() | inspect.VarTupleType() | inspect.ListType():
            return isinstance(value, list)
        case inspect.SetType() | inspect.FrozenSetType():
            return isinstance(value, list)
        case inspect.AnyType():
            return True
        case _:
            return value is not None


def _wrong_kind(value: object, wanted: inspect.Type, path: FieldPath) -> Fault:
    problem = f"expected {describe_type(wanted)}, got {describe_value(value)}"
    if value is None:
        return Fault(path, problem, "give a value or remove the field")
    if isinstance(wanted, inspect.StrType) and not isinstance(value, dict | list):
        return Fault(path, problem, "put it in quotes")
    if isinstance(value, str) and len(value) < 100 and _is_of_kind(resolve(value), wanted):
        return Fault(path, problem, "remove the quotes")
    return Fault(path, problem)


def _in_choice(value: object, allowed: Sequence[Choice], path: FieldPath) -> Iterator[Fault]:
    if any(value == one and type(value) is type(one) for one in allowed):
        return
    if not isinstance(value, str):
        yield Fault(path, f"expected {listed(allowed)}, got {describe_value(value)}")
        return
    meant = nearest(value, [one for one in allowed if isinstance(one, str)])
    remedy = f"allowed: {listed(allowed)}"
    yield Fault(
        path, f"unknown value {quoted(value)}", f"did you mean {quoted(meant)}? {remedy}" if meant else remedy
    )


_BOUNDS: tuple[tuple[str, str, Callable[[Any, Any], bool]], ...] = (
    ("ge", "at least", operator.ge),
    ("gt", "more than", operator.gt),
    ("le", "at most", operator.le),
    ("lt", "less than", operator.lt),
)


def _in_number(value: float, wanted: inspect.IntType | inspect.FloatType, path: FieldPath) -> Iterator[Fault]:
    if isinstance(value, float) and not math.isfinite(value):
        yield Fault(path, f"{value} is not a finite number", "give a number")
        return
    bounds = [(words, holds, getattr(wanted, name)) for name, words, holds in _BOUNDS]
    bounds = [bound for bound in bounds if bound[2] is not None]
    if not all(holds(value, limit) for _, holds, limit in bounds):
        allowed = " and ".join(f"{words} {limit}" for words, _, limit in bounds)
        yield Fault(path, f"{describe_value(value)} is out of range", f"give {allowed}")


def _in_length(
    value: str | list[Any] | dict[str, Any], wanted: _SizedType, path: FieldPath
) -> Iterator[Fault]:
    unit = "characters" if isinstance(value, str) else "items"
    if wanted.min_length is not None and len(value) < wanted.min_length:
        problem = f"{len(value)} {unit} are too few" if value else "is empty"
        yield Fault(path, problem, f"give at least {wanted.min_length}")
    if wanted.max_length is not None and len(value) > wanted.max_length:
        yield Fault(path, f"{len(value)} {unit} are too many", f"give at most {wanted.max_length}")


def _in_pattern(value: str, wanted: inspect.StrType, path: FieldPath) -> Iterator[Fault]:
    if wanted.pattern is not None and not re.search(wanted.pattern, value):
        yield Fault(path, f"{quoted(value)} is not of the right form", f"it must match {wanted.pattern}")


def _fault_of(error: BaseException, path: FieldPath) -> Fault:
    if isinstance(error, QuantityError):
        return Fault(path, error.problem, error.remedy)
    return Fault(path, str(error))
