"""Files of YAML or JSON as plain data that remembers where each field was written."""

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rota.intake.documents.source import MAX_BYTES, decode, display_name, read_text
from rota.intake.errors import FieldPath, InputError, Position

if TYPE_CHECKING:
    from rota.intake.documents.text import Source


@dataclass(frozen=True, eq=False)
class Document:
    """One document of a file. `data` may share parts (aliases): it is there to be read, not changed."""

    path: str
    data: object
    has_nonfinite: bool
    _source: "Source | None"
    """None: it never stood in a file."""
    _index: int

    def locate(self, path: FieldPath) -> Position:
        """Where the field was written: its key, or the nearest thing around it that is there."""
        assert self._source is not None
        place = self._source.places[self._index]
        for step in path:
            inner = place.children.get(step)
            if inner is None:
                break
            place = inner
        return place.position

    def at(self, path: FieldPath) -> object:
        """The data of a field that is known to be there."""
        data = self.data
        for step in path:
            data = data[step]  # type: ignore[index]
        return data

    def error(self, path: FieldPath, problem: str, remedy: str = "") -> InputError:
        position = None if self._source is None else self.locate(path)
        return InputError(self.path, problem, remedy, position=position, path=path)


def document_of(data: object) -> Document:
    """Of data that came by the network or from a program: errors name the field alone."""
    return Document("", data, has_nonfinite=False, _source=None, _index=0)


def read_documents(path: str | os.PathLike[str], *, max_bytes: int = MAX_BYTES) -> tuple[Document, ...]:
    """The documents of a file that have content, at least one. The path "-" means standard input."""
    name = os.fspath(path)
    return _parse(read_text(name, max_bytes), display_name(name))


def parse_documents(raw: bytes, file: str) -> tuple[Document, ...]:
    """The same for what is in memory already; `file` is its name in errors."""
    return _parse(decode(raw, file), file)


def _parse(text: str, file: str) -> tuple[Document, ...]:
    # Only here: a job that is put together from options comes from no file, and needs no YAML.
    from rota.intake.documents.text import compose_text

    source, composed = compose_text(text, file)
    documents = tuple(
        Document(file, data, has_nonfinite, source, index)
        for index, (data, has_nonfinite) in enumerate(composed)
        if data is not None
    )
    if not documents:
        raise InputError(file, "is empty", "write at least one document into it")
    return documents
