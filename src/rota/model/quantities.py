"""Amounts as people write them (`"250m"`, `"64Gi"`, `"2h30m"`), read exactly into integers and written back.

Parsers take what YAML or JSON gave (text or a number) and raise QuantityError; reading back what a formatter
wrote gives the same integer. Nothing passes through binary floating
point: a float counts as the shortest decimal that denotes it, which is what its author wrote.
"""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from math import ceil, floor, isfinite

import msgspec

MAX_AMOUNT = 2**60
"""Leaves room in an int64 column to add several amounts without overflow."""

_LONGEST_TEXT = 64
_LARGEST_EXPONENT = 60

_NUMBER = r"(?:\d+\.?\d*|\.\d+)"
_PLAIN = re.compile(rf"[+-]?{_NUMBER}(?:[eE][+-]?\d+)?", re.ASCII)
_SUFFIXED = re.compile(rf"([+-]?{_NUMBER})([A-Za-z]+)", re.ASCII)

_DECIMAL_SUFFIXES = {
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 10**3),
    **{suffix: Fraction(1000**power) for power, suffix in enumerate("kMGTPE", start=1)},
}
_BINARY_SUFFIXES = {f"{letter}i": Fraction(1024**power) for power, letter in enumerate("KMGTPE", start=1)}
_QUANTITY_SUFFIXES = _DECIMAL_SUFFIXES | _BINARY_SUFFIXES
_MULTIPLES = {suffix: unit for suffix, unit in _QUANTITY_SUFFIXES.items() if unit > 1}
_BYTE_SUFFIXES = (
    _QUANTITY_SUFFIXES
    | {f"{suffix}B": unit for suffix, unit in _MULTIPLES.items()}
    | {"B": Fraction(1), "KB": Fraction(1000)}
)


class QuantityError(ValueError):
    """Text that is no amount of the wanted kind: what is wrong, and what would be right."""

    def __init__(self, problem: str, remedy: str) -> None:
        super().__init__(f"{problem}; {remedy}")
        self.problem = problem
        self.remedy = remedy


class _Kind(msgspec.Struct, frozen=True):
    noun: str
    examples: str
    unit: str
    units_per_one: int = 1
    suffixes: Mapping[str, Fraction] = {}

    def malformed(self, value: object) -> QuantityError:
        return QuantityError(f"{_shown(value)} is not {self.noun}", f"write it like {self.examples}")

    def negative(self, value: object) -> QuantityError:
        return QuantityError(f"negative amount {_shown(value)}", "give 0 or more")

    def too_large(self, value: object) -> QuantityError:
        return QuantityError(f"{_shown(value)} is absurdly large", f"give at most 2^60 {self.unit}")

    def unknown_suffix(self, value: object, suffix: str) -> QuantityError:
        near = [f'"{known}"' for known in self.suffixes if known.lower() == suffix.lower()]
        remedy = f"did you mean {' or '.join(near)}?" if near else f"write it like {self.examples}"
        return QuantityError(f'unknown unit "{suffix}" in {_shown(value)}', remedy)


_CPU = _Kind("an amount of CPU", '2, 0.5 or "250m"', "thousandths of a core", 1000, _QUANTITY_SUFFIXES)
_GPU = _Kind("a number or share of GPUs", '2, 0.5, "500m" or "50%"', "thousandths", 1000, _QUANTITY_SUFFIXES)
_BYTES = _Kind("an amount of memory or storage", '"64Gi", "512Mi" or "10G"', "bytes", 1, _BYTE_SUFFIXES)
_QUANTITY = _Kind("a quantity", '3, "10k" or "4Ki"', "units", 1, _QUANTITY_SUFFIXES)
_PRICE = _Kind("a price", '1.25 or "0.0464", without a currency sign', "millionths", 10**6)
_DURATION = _Kind("a duration", '90, "90s", "2h30m", "1d" or "1-12:00:00"', "milliseconds", 1000)
_TIMESTAMP = _Kind("a time", '"2026-05-01T12:00:00Z" or in seconds since 1970', "milliseconds", 1000)
_COUNT = _Kind("a count or a percentage", '3 or "50%"', "units")


def parse_cpu_milli(value: object) -> int:
    """Thousandths of a core, rounded up: 2, 0.5, "250m"."""
    return _units(_amount(value, _CPU), value, _CPU)


def parse_bytes(value: object) -> int:
    """Bytes, rounded up: 123, "64Gi", "10G", "1e9", "512MiB"."""
    return _units(_amount(value, _BYTES), value, _BYTES)


def parse_quantity(value: object) -> int:
    """A Kubernetes quantity of countable things, rounded up as Kubernetes does: 3, "10k", "1500m"."""
    return _units(_amount(value, _QUANTITY), value, _QUANTITY)


def parse_gpu_milli(value: object) -> int:
    """Thousandths of a GPU, rounded up: a share of one device (0.3, "300m", "30%") or whole devices (2)."""
    percent = _percent(value, _GPU)
    gpu_milli = _units(_amount(value, _GPU) if percent is None else percent / 100, value, _GPU)
    if gpu_milli > 1000 and gpu_milli % 1000:
        raise QuantityError(
            f"{_shown(value)} is more than one GPU but not whole",
            "ask for a share of one GPU or for whole GPUs",
        )
    return gpu_milli


def parse_price_micro(value: object) -> int:
    """Millionths of the currency's unit, to the nearest: 1.25, "0.0464"."""
    return _units(_amount(value, _PRICE), value, _PRICE, rounding=round)


def parse_duration_ms(value: object) -> int:
    """Milliseconds, rounded up; a plain number is seconds: 90, "90s", "2h30m", "100:00:00", "1-12:00:00"."""
    text = _text(value, _DURATION)
    if _PLAIN.fullmatch(text):
        return _units(_amount(value, _DURATION), value, _DURATION)
    if text.startswith("-"):
        raise _DURATION.negative(value)
    seconds = _seconds_of_units(text)
    if seconds is None:
        seconds = _seconds_of_clock(text, value)
    return _units(seconds, value, _DURATION)


def parse_timestamp_ms(value: object) -> int:
    """Milliseconds since 1970 in UTC, rounded down: RFC 3339 text, or a plain number of seconds."""
    text = _text(value, _TIMESTAMP)
    if _PLAIN.fullmatch(text):
        seconds = _amount(value, _TIMESTAMP)
    else:
        seconds = _seconds_since_1970(text, value)
    if seconds < 0:
        raise QuantityError(f"{_shown(value)} is before 1970", "give a later time")
    if seconds >= _END_OF_TIME:
        raise QuantityError(f"{_shown(value)} is after the year 9999", "give seconds, not milliseconds")
    return floor(seconds * 1000)


class CountOrPercent(msgspec.Struct, frozen=True):
    """So many, or such a part of them all; exactly one of the two is given."""

    count: int | None = None
    percent_hundredths: int | None = None

    def of(self, total: int) -> int:
        """How many of `total` that is, rounded up."""
        if self.percent_hundredths is not None:
            return ceil(Fraction(total * self.percent_hundredths, 10_000))
        return self.count or 0

    def __str__(self) -> str:
        if self.percent_hundredths is not None:
            return f"{_decimal_text(self.percent_hundredths, 2)}%"
        return str(self.count)


def parse_count_or_percent(value: object) -> CountOrPercent:
    """A whole number, or "50%" up to "100%" in steps of a hundredth."""
    percent = _percent(value, _COUNT)
    if percent is None:
        count = _amount(value, _COUNT)
        if count.denominator != 1:
            raise QuantityError(f"{_shown(value)} is not a whole number", f"write it like {_COUNT.examples}")
        return CountOrPercent(count=_units(count, value, _COUNT))
    hundredths = percent * 100
    if hundredths.denominator != 1:
        raise QuantityError(f"{_shown(value)} is too fine", "give at most two decimals")
    return CountOrPercent(percent_hundredths=int(hundredths))


def format_cpu(cpu_milli: int) -> str:
    return _decimal_text(cpu_milli, 3)


def format_gpu(gpu_milli: int) -> str:
    return _decimal_text(gpu_milli, 3)


def format_price(price_micro: int) -> str:
    """At least two decimals, as prices are written."""
    whole, _, decimals = _decimal_text(price_micro, 6).partition(".")
    return f"{whole}.{decimals:0<2}"


def format_bytes(size_bytes: int) -> str:
    """The shortest exact form of up to three decimals; where two are equally short, the binary one."""
    forms = [str(size_bytes)]
    for suffix, unit in (_BINARY_SUFFIXES | _DECIMAL_SUFFIXES).items():
        thousandths = size_bytes * 1000 / unit
        if 1 < unit <= abs(size_bytes) and thousandths.denominator == 1:
            forms.append(_decimal_text(int(thousandths), 3) + suffix)
    return min(forms, key=len)


def format_duration(duration_ms: int) -> str:
    """Weeks are left to readers: "10d" says more than "1w3d"."""
    parts = []
    rest = abs(duration_ms)
    for unit, unit_ms in (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)):
        count, rest = divmod(rest, unit_ms)
        if count:
            parts.append(f"{count}{unit}")
    return ("-" if duration_ms < 0 else "") + ("".join(parts) or "0s")


def format_timestamp(timestamp_ms: int) -> str:
    """RFC 3339 in UTC, with milliseconds only where there are any."""
    moment = _EPOCH + timedelta(milliseconds=timestamp_ms)
    precision = "milliseconds" if timestamp_ms % 1000 else "seconds"
    return moment.isoformat(timespec=precision).replace("+00:00", "Z")


def _amount(value: object, kind: _Kind) -> Fraction:
    text = _text(value, kind)
    if _PLAIN.fullmatch(text):
        amount = _fraction(text, kind)
    elif suffixed := _SUFFIXED.fullmatch(text):
        number, suffix = suffixed.groups()
        if not kind.suffixes:
            raise kind.malformed(value)
        if suffix not in kind.suffixes:
            raise kind.unknown_suffix(value, suffix)
        amount = Fraction(number) * kind.suffixes[suffix]
    else:
        raise kind.malformed(value)
    if amount < 0:
        raise kind.negative(value)
    return amount


def _text(value: object, kind: _Kind) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise kind.malformed(value)
    if isinstance(value, float):
        if not isfinite(value):
            raise QuantityError(f"{value} is not finite", f"write it like {kind.examples}")
        return repr(value)
    if isinstance(value, int):
        if abs(value) > MAX_AMOUNT:
            raise kind.too_large(value) if value > 0 else kind.negative(value)
        return str(value)
    text = value.strip()
    if len(text) > _LONGEST_TEXT:
        raise kind.malformed(value)
    return text


def _fraction(text: str, kind: _Kind) -> Fraction:
    # A Fraction of "1e999999999" would fill the memory before any bound could be checked.
    exponent = int(text.lower().partition("e")[2] or 0)
    if exponent > _LARGEST_EXPONENT:
        raise kind.too_large(text)
    if exponent < -_LARGEST_EXPONENT:
        raise QuantityError(f"{_shown(text)} is absurdly small", f"write it like {kind.examples}")
    return Fraction(text)


def _units(amount: Fraction, value: object, kind: _Kind, rounding: Callable[[Fraction], int] = ceil) -> int:
    units = rounding(amount * kind.units_per_one)
    if units > MAX_AMOUNT:
        raise kind.too_large(value)
    return units


def _percent(value: object, kind: _Kind) -> Fraction | None:
    """The number before a percent sign; None where there is no such sign."""
    if not isinstance(value, str) or not value.strip().endswith("%"):
        return None
    text = _text(value, kind)[:-1]
    if not _PLAIN.fullmatch(text):
        raise kind.malformed(value)
    percent = _fraction(text, kind)
    if percent < 0:
        raise kind.negative(value)
    if percent > 100:
        raise QuantityError(f"{_shown(value)} is more than all", "give 0% to 100%")
    return percent


_UNIT_SECONDS = {
    "w": Fraction(7 * 86_400),
    "d": Fraction(86_400),
    "h": Fraction(3600),
    "m": Fraction(60),
    "s": Fraction(1),
    "ms": Fraction(1, 1000),
}
_UNITS = re.compile("".join(rf"(?:({_NUMBER}){unit})?" for unit in _UNIT_SECONDS), re.ASCII)
_CLOCK = re.compile(r"(?:(\d+)-)?(\d+)(?::(\d\d?))?(?::(\d\d?))?", re.ASCII)


def _seconds_of_units(text: str) -> Fraction | None:
    match = _UNITS.fullmatch(text)
    if match is None or not any(match.groups()):
        return None
    pairs = zip(match.groups(), _UNIT_SECONDS.values(), strict=True)
    return sum((Fraction(number) * unit for number, unit in pairs if number), Fraction(0))


def _seconds_of_clock(text: str, value: object) -> Fraction:
    """Slurm's forms: H:MM:SS, D-H, D-H:MM, D-H:MM:SS. Its MM:SS is refused: most people read HH:MM."""
    match = _CLOCK.fullmatch(text)
    if match is None:
        raise _DURATION.malformed(value)
    days, hours, minutes, seconds = match.groups()
    if days is None and seconds is None:
        raise QuantityError(f"{_shown(value)} could be hours or minutes", 'write "2h30m" or "2:30:00"')
    if int(minutes or 0) > 59 or int(seconds or 0) > 59:
        raise QuantityError(f"{_shown(value)} has more than 59 minutes or seconds", "carry them over")
    hours_in_all = int(days or 0) * 24 + int(hours)
    return Fraction(hours_in_all * 3600 + int(minutes or 0) * 60 + int(seconds or 0))


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_END_OF_TIME = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // timedelta(seconds=1) + 1
_RFC_3339 = re.compile(r"(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:\d\d)(\.\d{1,18})?([Zz]|[+-]\d\d:\d\d)?", re.ASCII)


def _seconds_since_1970(text: str, value: object) -> Fraction:
    match = _RFC_3339.fullmatch(text)
    if match is None:
        raise _TIMESTAMP.malformed(value)
    date, clock, fraction, offset = match.groups()
    if offset is None:
        raise QuantityError(
            f"{_shown(value)} names no time zone", 'add "Z" for UTC or an offset like "+02:00"'
        )
    try:
        moment = datetime.fromisoformat(f"{date}T{clock}{offset.upper()}")
    except ValueError as error:
        raise QuantityError(f"{_shown(value)} is not a real date or time: {error}", "correct it") from None
    return Fraction((moment - _EPOCH) // timedelta(seconds=1)) + Fraction(fraction or 0)


def _decimal_text(amount: int, decimals: int) -> str:
    whole, fraction = divmod(abs(amount), 10**decimals)
    text = f"{'-' if amount < 0 else ''}{whole}"
    return f"{text}.{fraction:0{decimals}}".rstrip("0") if fraction else text


def _shown(value: object) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        # Python refuses to write integers of thousands of digits.
        return str(value) if abs(value) < 10**30 else "a number of over 30 digits"
    if isinstance(value, str):
        return f'"{value}"' if len(value) <= _LONGEST_TEXT else f'"{value[: _LONGEST_TEXT - 1]}…"'
    return "a mapping" if isinstance(value, Mapping) else "a list"
