"""Taints and tolerations, as mappings or in short: `dedicated=ml:NoSchedule`."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from msgspec import UNSET

from rota.intake.checking.fields import Field
from rota.intake.checking.names import read_name
from rota.intake.checking.wording import listed, nearest, quoted
from rota.intake.forms.blocks import TaintForm, TolerationForm
from rota.intake.parts.writing import Plain, given
from rota.model.quantities import parse_timestamp_ms
from rota.model.taints import Effect, Taint, Toleration

_SHORT = re.compile(r"(?P<key>[^=:\s]+)(?:=(?P<value>[^=:\s]*))?(?::(?P<effect>[^=:\s]+))?")


def read_taint(form: str | TaintForm, at: Field) -> Taint:
    if isinstance(form, TaintForm):
        read_name(form.key, at.at("key"))
        return Taint(form.key, form.effect, form.value, at.at("added").read(parse_timestamp_ms, form.added))
    short = _read_short(form, at)
    if short.effect is None:
        raise at.error(
            f"{quoted(form)} has no effect", f"append one, as in {form}:{Effect.NO_SCHEDULE.value}"
        )
    return Taint(short.key, short.effect, short.value or "")


def read_taints(forms: Sequence[str | TaintForm], at: Field) -> tuple[Taint, ...]:
    taints: dict[tuple[str, Effect], Taint] = {}
    for index, form in enumerate(forms):
        taint = read_taint(form, at.at(index))
        if taints.setdefault((taint.key, taint.effect), taint) is not taint:
            raise at.at(index).error(
                f"a taint {taint.key} with the effect {taint.effect.value} is there already", "remove one"
            )
    return tuple(taints.values())


def read_toleration(form: str | TolerationForm, at: Field) -> Toleration:
    if isinstance(form, str):
        if form == "*":
            return Toleration(exists=True)
        short = _read_short(form, at)
        return Toleration(
            key=short.key, exists=short.value is None, value=short.value or "", effect=short.effect
        )
    exists = form.value is UNSET if form.operator is UNSET else form.operator == "Exists"
    if exists and form.value is not UNSET:
        raise at.at("value").error("the operator Exists takes no value", "remove it, or use Equal")
    if not form.key and not exists:
        raise at.error("a value, but no key to compare", "add the key")
    if form.key:
        read_name(form.key, at.at("key"))
    if form.seconds is not UNSET and form.effect is not Effect.NO_EXECUTE:
        raise at.at("seconds").error(
            "only what a NoExecute taint does can be put off", "add effect: NoExecute, or remove the seconds"
        )
    return Toleration(
        key=form.key,
        exists=exists,
        value=form.value or "",
        effect=form.effect or None,
        seconds=None if form.seconds is UNSET else form.seconds,
    )


class _Short(NamedTuple):
    key: str
    value: str | None
    effect: Effect | None


def _read_short(text: str, at: Field) -> _Short:
    match = _SHORT.fullmatch(text)
    if match is None:
        raise at.error(f"{quoted(text)} cannot be read", "write it like dedicated=ml:NoSchedule")
    effect = match["effect"]
    return _Short(match["key"], match["value"], None if effect is None else _effect(effect, at))


def _effect(text: str, at: Field) -> Effect:
    known = [effect.value for effect in Effect]
    if text in known:
        return Effect(text)
    meant = nearest(text, known)
    hint = f"did you mean {quoted(meant)}? " if meant else ""
    raise at.error(f"unknown effect {quoted(text)}", f"{hint}allowed: {listed(known)}")


def toleration_form(toleration: Toleration) -> str | Plain:
    if toleration == Toleration(exists=True):
        return "*"
    fields = given({"key": toleration.key, "effect": toleration.effect and toleration.effect.value})
    if toleration.exists:
        fields["operator"] = "Exists"
    else:
        fields["value"] = toleration.value
    if toleration.seconds is not None:
        fields["seconds"] = toleration.seconds
    return fields
