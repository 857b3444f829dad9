from rota.sdk.async_client import AsyncClient
from rota.sdk.client import Client
from rota.sdk.executor import Executor

__version__: str
__all__ = ["AsyncClient", "Client", "Executor", "__version__"]
