"""Events and tables, in SQLite or PostgreSQL: all that Rota knows, and nothing else is kept."""
