"""Events and tables, in SQLite or PostgreSQL: all that Rota knows, and nothing else is kept.

    control ──► commit: one transaction ──► events, jobs, attempts, settings
            ──► load: all that is unfinished, after a restart
    server  ──► queries: pages of jobs and events, beside the writer

`store.py` is the way in; `tables.py` says what is kept, `migrations/` how it came to be.
"""
