"""`python -m rota`, for where no console script is installed."""

from rota.cli.main import run

run()
