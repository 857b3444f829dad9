"""Rota decides what runs where and when, and can say why."""

__version__ = "0.7.0"
__all__ = ["AsyncClient", "Client", "Executor", "__version__"]

# What needs HTTP is imported by those who use it: every command begins with `import rota`.
# `__init__.pyi` says the same to type checkers.
_IMPORTED_WHEN_USED = {
    "AsyncClient": "rota.sdk.async_client",
    "Client": "rota.sdk.client",
    "Executor": "rota.sdk.executor",
}


def __getattr__(name: str) -> object:
    module = _IMPORTED_WHEN_USED.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(module), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
