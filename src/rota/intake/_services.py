"""A job's image, and the containers that run beside it."""

import re

from rota.intake.checking.fields import Field
from rota.intake.checking.wording import quoted
from rota.intake.forms.jobs import RunForm, ServiceForm
from rota.intake.parts.amounts import read_resources, resources_form
from rota.intake.parts.writing import Plain, given
from rota.model.run import Service

_IMAGE = re.compile(r"[a-z0-9][A-Za-z0-9._:/@+-]{0,499}", re.ASCII)
_NAME = re.compile(r"[a-z]([a-z0-9-]{0,38}[a-z0-9])?", re.ASCII)
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_TAKEN = ("setup", "runner", "log-collector")


def read_image(text: str, at: Field) -> str:
    if text and not _IMAGE.fullmatch(text):
        raise at.error(
            f"{quoted(text)} is not the name of an image", "write it like python:3.12 or ghcr.io/team/tool:1"
        )
    return text


def read_services(form: RunForm, at: Field) -> tuple[Service, ...]:
    if form.services and not form.image:
        raise at.error("services run beside a container, and the job has none", "give it an image")
    return tuple(_service(name, one, at.at(name)) for name, one in sorted(form.services.items()))


def _service(name: str, form: ServiceForm, at: Field) -> Service:
    if not _NAME.fullmatch(name) or name in _TAKEN:
        raise at.error(
            f"{quoted(name)} can't be the name of a service",
            "use lower-case letters, digits and -, as in db; setup, runner and log-collector are taken",
        )
    if not form.image:
        raise at.at("image").error("is empty", "name the image of the service")
    for variable, value in form.environment.items():
        if not _VARIABLE.fullmatch(variable):
            raise at.at("environment", variable).error(
                f"{quoted(variable)} is not a name of a variable", "use letters, digits and _"
            )
        _refuse_nul(value, at.at("environment", variable))
    for field in ("command", "ready"):
        for index, word in enumerate(getattr(form, field)):
            _refuse_nul(word, at.at(field, index))
    return Service(
        name,
        read_image(form.image, at.at("image")),
        form.command,
        tuple(sorted(form.environment.items())),
        form.ready,
        read_resources(form.resources, at.at("resources")),
    )


def _refuse_nul(text: str, at: Field) -> None:
    if "\0" in text:
        raise at.error("contains a null character", "remove it")


def services_form(services: tuple[Service, ...]) -> Plain:
    return {
        one.name: given(
            {
                "image": one.image,
                "command": list(one.command),
                "environment": dict(one.environment),
                "ready": list(one.ready),
                "resources": resources_form(one.requests),
            }
        )
        for one in services
    }
