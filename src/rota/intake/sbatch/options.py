"""The options of the #SBATCH lines of a script, each with its line."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from typing import NamedTuple

from rota.intake.checking.wording import nearest, quoted
from rota.intake.errors import InputError, Position

PREFIX = "#SBATCH"


class Takes(Enum):
    VALUE = "value"
    NOTHING = "nothing"
    MAYBE = "maybe"
    """A value only behind an equals sign."""


class Option(NamedTuple):
    name: str
    """Without dashes, in its long form."""
    value: str
    line: int


class Note(NamedTuple):
    line: int
    text: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.text}"


SHORT: Mapping[str, str] = {
    "A": "account",
    "a": "array",
    "B": "extra-node-info",
    "b": "begin",
    "C": "constraint",
    "c": "cpus-per-task",
    "D": "chdir",
    "d": "dependency",
    "e": "error",
    "F": "nodefile",
    "G": "gpus",
    "H": "hold",
    "i": "input",
    "J": "job-name",
    "k": "no-kill",
    "L": "licenses",
    "M": "clusters",
    "m": "distribution",
    "N": "nodes",
    "n": "ntasks",
    "O": "overcommit",
    "o": "output",
    "p": "partition",
    "Q": "quiet",
    "q": "qos",
    "S": "core-spec",
    "s": "oversubscribe",
    "t": "time",
    "v": "verbose",
    "W": "wait",
    "w": "nodelist",
    "x": "exclude",
}

_WITHOUT_VALUE = (
    "contiguous hold ignore-pbs no-requeue overcommit parsable quiet reboot requeue spread-job "
    "test-only use-min-nodes verbose wait"
)
_WITH_VALUE_MAYBE = "exclusive get-user-env nice no-kill oversubscribe propagate"
_WITH_VALUE = (
    "account acctg-freq array batch bb bbf begin chdir cluster-constraint clusters comment constraint "
    "container container-id core-spec cores-per-socket cpu-freq cpus-per-gpu cpus-per-task deadline "
    "delay-boot dependency distribution error exclude export export-file extra extra-node-info gid gpu-bind "
    "gpu-freq gpus gpus-per-node gpus-per-socket gpus-per-task gres gres-flags hint input job-name "
    "kill-on-invalid-dep licenses mail-type mail-user mcs-label mem mem-bind mem-per-cpu mem-per-gpu mincpus "
    "network nodefile nodelist nodes ntasks ntasks-per-core ntasks-per-gpu ntasks-per-node "
    "ntasks-per-socket open-mode output partition prefer priority profile qos reservation signal "
    "sockets-per-node switches thread-spec threads-per-core time time-min tmp tres-bind tres-per-task uid "
    "wait-all-nodes wckey wrap"
)
LONG: Mapping[str, Takes] = {
    **dict.fromkeys(_WITHOUT_VALUE.split(), Takes.NOTHING),
    **dict.fromkeys(_WITH_VALUE_MAYBE.split(), Takes.MAYBE),
    **dict.fromkeys(_WITH_VALUE.split(), Takes.VALUE),
}
"""All that sbatch knows."""


def read_options(text: str, file: str) -> tuple[dict[str, Option], list[Note]]:
    """By name, a later one instead of an earlier one; and notes on what sbatch would refuse or pass over."""
    options: dict[str, Option] = {}
    notes: list[Note] = []
    past_commands = False
    for number, line in enumerate(text.splitlines(), start=1):
        if line.startswith(PREFIX) and not line[len(PREFIX) :].strip(" \t").startswith("#"):
            if past_commands:
                notes.append(Note(number, f"{PREFIX} after the first command is ignored, as sbatch does"))
                continue
            for option in _of_line(_words(line[len(PREFIX) :], file, number), file, number, notes):
                options[option.name] = option
        elif line.strip() and not line.startswith("#"):
            past_commands = True
    return options, notes


def _words(text: str, file: str, line: int) -> list[str]:
    try:
        return shlex.split(text, comments=True)
    except ValueError:
        raise refusal(file, line, "a quotation mark is not closed", "close it") from None


def _of_line(words: Sequence[str], file: str, line: int, notes: list[Note]) -> Iterator[Option]:
    left = list(words)
    while left:
        word = left.pop(0)
        if word.startswith("--") and len(word) > 2:
            name, equals, value = word[2:].partition("=")
            known = _long_name(name)
            if known is None:
                notes.append(Note(line, _unknown(f"--{name}", name)))
                if not equals and left and not left[0].startswith("-"):
                    left.pop(0)
                continue
            if equals and LONG[known] is Takes.NOTHING:
                raise refusal(file, line, f"--{known} takes no value", "remove it")
            if not equals and LONG[known] is Takes.VALUE:
                value = _next_value(f"--{known}", left, file, line)
            yield Option(known, value, line)
        elif word.startswith("-") and len(word) > 1:
            yield from _short(word[1:], left, file, line, notes)
        else:
            notes.append(Note(line, f"{quoted(word)} is not an option and is ignored"))


def _short(letters: str, left: list[str], file: str, line: int, notes: list[Note]) -> Iterator[Option]:
    """One letter with its value, or several without."""
    while letters:
        letter, letters = letters[0], letters[1:]
        name = SHORT.get(letter)
        if name is None:
            notes.append(Note(line, _unknown(f"-{letter}", "")))
            return
        if LONG[name] is Takes.VALUE:
            yield Option(name, letters or _next_value(f"-{letter}", left, file, line), line)
            return
        yield Option(name, "", line)


def _next_value(flag: str, left: list[str], file: str, line: int) -> str:
    if not left:
        raise refusal(file, line, f"{flag} needs a value", "add it")
    return left.pop(0)


def _long_name(name: str) -> str | None:
    """Long options may be cut short as long as only one begins so."""
    if name in LONG:
        return name
    candidates = [known for known in LONG if known.startswith(name)]
    return candidates[0] if len(candidates) == 1 else None


def _unknown(flag: str, name: str) -> str:
    meant = nearest(name, LONG) if name else None
    hint = f"; did you mean --{meant}?" if meant else ""
    return f"the option {flag} is unknown and is ignored{hint}"


def refusal(file: str, line: int, problem: str, remedy: str) -> InputError:
    return InputError(file, problem, remedy, position=Position(line, 1))
