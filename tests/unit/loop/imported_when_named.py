"""A plugin's module that nobody should import unasked."""

from rota.engine.plugin import Plugin


class Other(Plugin):
    pass
