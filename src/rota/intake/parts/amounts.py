"""Resources by name (`{cpu: 2, memory: 4Gi, example.com/fpga: 1}`) as amounts in base units."""

import re
from collections.abc import Callable, Mapping

from rota.intake.checking.fields import Amount, Field
from rota.intake.checking.numbers import other_numbers
from rota.intake.checking.wording import nearest, quoted
from rota.intake.parts.writing import Plain
from rota.model.quantities import (
    QuantityError,
    format_bytes,
    format_cpu,
    parse_bytes,
    parse_cpu_milli,
    parse_gpu_milli,
    parse_quantity,
)
from rota.model.resources import Resources

Amounts = dict[str, int]
Parser = Callable[[object], int]

MAX_TOTAL = 2**62
"""All amounts of a kind together must be countable in an int64."""

_EXTENDED_NAME = re.compile(r"[a-z0-9][a-z0-9.-]*/[A-Za-z0-9][A-Za-z0-9._-]*", re.ASCII)
_WHOLE_NUMBER = re.compile(r"\d+(?:[kMGTPE]|[KMGTPE]i)?", re.ASCII)


def _parse_whole(value: object) -> int:
    """Of things that can't be divided. Kubernetes rounds them up; here nobody has to."""
    amount = parse_quantity(value)
    if not _WHOLE_NUMBER.fullmatch(str(value)):
        raise QuantityError(f"{value} is not a whole number", "write it like 3 or 10k")
    return amount


_PLAIN_PARSERS: Mapping[str, Parser] = {
    "cpu": parse_cpu_milli,
    "memory": parse_bytes,
    "storage": parse_bytes,
    "slots": _parse_whole,
}
_PARSERS_WITH_GPU: Mapping[str, Parser] = {**_PLAIN_PARSERS, "gpu": parse_gpu_milli}


def read_resources(form: Mapping[str, Amount], at: Field) -> Resources:
    for name in ("gpu", "gpus"):
        if name in form:
            raise at.at(name).error("GPUs are no plain resource", "state them as `gpus:` beside this mapping")
    amounts = _read_by_known_names(form, at, _PLAIN_PARSERS)
    return Resources(
        cpu_milli=amounts.pop("cpu", 0),
        memory_bytes=amounts.pop("memory", 0),
        storage_bytes=amounts.pop("storage", 0),
        slots=amounts.pop("slots", 0),
        extended=tuple(sorted(amounts.items())),
    )


def read_amounts(form: Mapping[str, Amount], at: Field) -> Amounts:
    """By name, with `gpu` in thousandths of a device: what quotas are made of."""
    return _read(form, at, _PARSERS_WITH_GPU)


def _read_by_known_names(form: Mapping[str, Amount], at: Field, parsers: Mapping[str, Parser]) -> Amounts:
    """The singular or the plural of a resource, as people write it."""
    amounts: Amounts = {}
    written: dict[str, str] = {}
    for given, amount in form.items():
        name = given if given in parsers else next(filter(parsers.__contains__, other_numbers(given)), given)
        if name in amounts:
            raise at.at(given).error(
                f"{quoted(written[name])} and {quoted(given)} are the same resource", "give one"
            )
        written[name] = given
        amounts[name] = at.at(given).read(_parser(name, at, parsers), amount)
    return amounts


def _read(form: Mapping[str, Amount], at: Field, parsers: Mapping[str, Parser]) -> Amounts:
    return {name: at.at(name).read(_parser(name, at, parsers), amount) for name, amount in form.items()}


def _parser(name: str, at: Field, parsers: Mapping[str, Parser]) -> Parser:
    if name in parsers:
        return parsers[name]
    if _EXTENDED_NAME.fullmatch(name):
        return _parse_whole
    meant = nearest(name, parsers)
    own = "a resource of your own has a domain, as in example.com/fpga"
    raise at.at(name).error(
        f"unknown resource {quoted(name)}",
        f"did you mean {quoted(meant)}? Else: {own}" if meant else f"known: {', '.join(parsers)}; {own}",
    )


def check_within_limits(requests: Resources, limits: Resources, at: Field) -> None:
    """A limit of 0 is none. `at` is where the requests are."""
    limit_of = amounts_of(limits)
    for name, amount in amounts_of(requests).items():
        limit = limit_of.get(name)
        if limit and amount > limit:
            raise at.at(name).error("more than its limit", "ask for less or raise the limit")


def amounts_of(resources: Resources) -> Amounts:
    return {
        "cpu": resources.cpu_milli,
        "memory": resources.memory_bytes,
        "storage": resources.storage_bytes,
        "slots": resources.slots,
        **dict(resources.extended),
    }


class Totals:
    """Sums over all nodes, or all tasks, that must stay countable."""

    def __init__(self, owners: str) -> None:
        self._owners = owners
        self._sums: Amounts = {}

    def add(self, resources: Resources, times: int, at: Field) -> None:
        for name, amount in amounts_of(resources).items():
            total = self._sums.get(name, 0) + amount * times
            if total > MAX_TOTAL:
                raise at.error(f"with this, the {name} of all {self._owners} is too large", "lower it")
            self._sums[name] = total


def resources_form(resources: Resources) -> Plain:
    amounts = {
        "cpu": format_cpu(resources.cpu_milli),
        "memory": format_bytes(resources.memory_bytes),
        "storage": format_bytes(resources.storage_bytes),
        "slots": resources.slots,
    }
    return {
        **{name: amount for name, amount in amounts.items() if amount not in ("0", 0)},
        **dict(resources.extended),
    }
