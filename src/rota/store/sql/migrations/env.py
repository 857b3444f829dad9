"""Read by Alembic; `rota.store.sql.migrate` gives it the connection."""

from alembic import context

context.configure(**context.config.attributes)
context.run_migrations()
