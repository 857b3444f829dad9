"""Tasks as processes of this machine, kept by a process of its own that outlives the server.

    ProcessBackend ──unix socket──► keeper ──► tasks
      backend.py       frames.py      keeper.py    each a session of its own
      log_reader.py ◄──── files ◄──── log_writer.py

The keeper starts, limits, ends and reaps tasks and writes down what it does in a journal: a server
that restarts finds its tasks by the keeper, a keeper that restarts finds them by the journal.
docs/process-backend.md says what users and operators can rely on. Called by `server` and `dispatch`.
"""
