"""Plain data of a document as typed records, or every reason why not."""

import re
from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any, TypeVar

import msgspec

from rota.intake.checking.faults import DecodeHook, Fault, FaultFinder
from rota.intake.documents.document import Document
from rota.intake.errors import FieldPath

MAX_ERRORS = 20
"""Whoever has more than that to mend is helped better by the first ones."""

T = TypeVar("T")
Decoders = Mapping[type, Callable[[Any], Any]]


def convert(
    document: Document, wanted: type[T], *, at: FieldPath = (), decoders: Decoders | None = None
) -> T:
    """The document's field `at`, or all of it, as `wanted`: a Struct or what else msgspec can convert to.

    `decoders` read types that msgspec doesn't know, such as `{CpuMilli: parse_cpu_milli}` with a
    `class CpuMilli(int)`, and refuse by ValueError.
    """
    value = document.at(at)
    decode = _decode_hook(decoders or {})
    faults: list[Fault] = []
    try:
        converted = msgspec.convert(value, wanted, dec_hook=decode)
    except msgspec.ValidationError as error:
        faults = _find_faults(value, wanted, at, decode) or [_fault_in_words_of_msgspec(error, at)]
    else:
        if document.has_nonfinite:
            faults = _find_faults(value, wanted, at, decode)
        if not faults:
            return converted
    first, *others = (document.error(*fault) for fault in faults)
    first.also = tuple(others)
    raise first


def _decode_hook(decoders: Decoders) -> DecodeHook:
    def decode(wanted: type, value: Any) -> Any:
        decoded = decoders[wanted](value)
        return decoded if isinstance(decoded, wanted) else wanted(decoded)

    return decode


def _find_faults(value: object, wanted: Any, path: FieldPath, decode: DecodeHook) -> list[Fault]:
    faults = FaultFinder(decode).find(value, msgspec.inspect.type_info(wanted), path)
    return list(islice(faults, MAX_ERRORS))


_MSGSPEC_MESSAGE = re.compile(r"(?P<problem>.*?)(?: - at `(?P<path>\$.*)`)?", re.DOTALL)
_MSGSPEC_STEP = re.compile(r"\.([^.\[]+)|\[(\d+)\]")


def _fault_in_words_of_msgspec(error: msgspec.ValidationError, at: FieldPath) -> Fault:
    """For types that the search for faults passes over, such as bytes and dates."""
    message = _MSGSPEC_MESSAGE.fullmatch(str(error))
    assert message is not None
    known_path, _, _ = (message["path"] or "").partition("[...]")
    steps = (name or int(index) for name, index in _MSGSPEC_STEP.findall(known_path))
    return Fault((*at, *steps), message["problem"])
