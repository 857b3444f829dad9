"""Rota decides what runs where and when, and can say why."""

__version__ = "0.2.0"
