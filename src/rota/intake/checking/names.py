"""Names and labels: their form, and that no two things bear the same name."""

from collections.abc import Iterable, Iterator, Mapping

from rota.intake.checking.fields import Field
from rota.intake.checking.wording import nearest, quoted
from rota.intake.errors import InputError
from rota.model.ids import Labels

MAX_LENGTH = 253
"""Of a name or a label: that of a DNS name, as in Kubernetes."""


def read_name(text: str, at: Field) -> str:
    """A name that can stand in a table, in a path and on a command line as it is."""
    if not text:
        raise at.error("the name is empty", "give one")
    if len(text) > MAX_LENGTH:
        raise at.error(f"a name of {len(text)} characters is too long", f"give at most {MAX_LENGTH}")
    if " " in text or not text.isprintable():
        raise at.error(
            f"the name {quoted(text)} has spaces or control characters", "use letters, digits, - _ . and /"
        )
    return text


def read_step(text: str, at: Field) -> str:
    """A name that is a part of a path, as project and user are."""
    if "/" in text:
        raise at.error(f"{quoted(text)} contains a slash", "choose a name without one")
    return read_name(text, at)


def read_tenant(text: str, at: Field) -> str:
    """The path of a project or of a user within one."""
    path = read_name(text, at)
    steps = path.split("/")
    if len(steps) > 2 or not all(steps):
        raise at.error(f"{quoted(path)} is not a tenant", "write project or project/user")
    return path


def read_labels(form: Mapping[str, str], at: Field) -> Labels:
    for key, value in form.items():
        read_name(key, at.at(key))
        if len(value) > MAX_LENGTH or not value.isprintable():
            raise at.at(key).error(
                f"the label value {quoted(value)} is too long or has control characters",
                f"give at most {MAX_LENGTH} printable characters",
            )
    return tuple(sorted(form.items()))


def unknown_name(noun: str, name: str, known: Iterable[str], at: Field, remedy: str) -> InputError:
    """`remedy`: what to do where no known name is like this one."""
    meant = nearest(name, known)
    return at.error(
        f"there is no {noun} named {quoted(name)}", f"did you mean {quoted(meant)}?" if meant else remedy
    )


class UniqueNames:
    """Names of one kind of thing, each given once, and where."""

    def __init__(self, noun: str) -> None:
        self._noun = noun
        self._places: dict[str, Field | None] = {}

    def claim(self, name: str, at: Field | None) -> None:
        """None: it comes from Kubernetes manifests, whose reader has compared them with each other."""
        if at is None or name not in self._places:
            self._places[name] = at
            return
        other = self._places[name]
        if other is None:
            where = "is in the Kubernetes manifests"
        elif other.document.path == at.document.path:
            where = f"is on line {other.line}"
        else:
            where = f"is in {other.document.path}, line {other.line},"
        raise at.error(f"a {self._noun} named {quoted(name)} {where} already", "rename one of them")

    def place(self, name: str) -> Field | None:
        return self._places.get(name)

    def __contains__(self, name: str) -> bool:
        return name in self._places

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)
