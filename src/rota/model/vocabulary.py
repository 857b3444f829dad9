"""Families of typed structs that any module may add to: reasons, and changes that would help.

A field of such a family is annotated with its base. msgspec writes a member with its code, and reads it with
the hook `read_coded`. The base itself is no struct: msgspec would read every member as that one.
"""

from __future__ import annotations

from typing import Any, ClassVar, TypeVar

from msgspec import Struct, ValidationError, convert
from msgspec.structs import StructConfig

F = TypeVar("F", bound="Coded")


class Coded:
    __slots__ = ()
    __struct_config__: ClassVar[StructConfig]

    @property
    def code(self) -> str:
        """The name by which documents and records know it."""
        return code_of(type(self))


def code_of(kind: type[Coded]) -> str:
    return str(kind.__struct_config__.tag)


def members_of(family: type[F]) -> dict[str, type[F]]:
    """All structs of a family that have been defined so far, by code."""
    return {code_of(kind): kind for kind in _below(family) if _is_member(kind)}


def read_coded(kind: type, written: Any) -> Any:
    """For msgspec, as `dec_hook`: a member of the family that the field is annotated with."""
    if not issubclass(kind, Coded):
        raise NotImplementedError
    code = written.get("code") if isinstance(written, dict) else None
    member = _member(kind, str(code))
    if member is None:
        raise ValidationError(f"there is no {kind.__name__.lower()} with the code {code!r}")
    return convert(written, member, dec_hook=read_coded)


_known: dict[type[Coded], dict[str, type[Coded]]] = {}


def _member(family: type[Coded], code: str) -> type[Coded] | None:
    if code not in _known.get(family, ()):
        # Modules that define members may have been imported since.
        _known[family] = members_of(family)
    return _known[family].get(code)


def _below(family: type[F]) -> list[type[F]]:
    return [kind for child in family.__subclasses__() for kind in (child, *_below(child))]


def _is_member(kind: type) -> bool:
    """Whether it has a code of its own: a base that is there to derive from has only its class name."""
    return issubclass(kind, Struct) and kind.__struct_config__.tag != kind.__name__
