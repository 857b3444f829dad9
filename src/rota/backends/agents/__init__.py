"""Machines that run agents, as a backend: the server's side.

    rota agent ──Attend──► service.py ──► pool.py ◄── backend.py ◄── start, stop, settle, take_up ── dispatch
      keeper   ──Perform─►   door.py        agent.py: one agent; task.py: one of its tasks
      tasks    ──REST────►                  └── reports, output, results ──► dispatch, arrivals.py

Agents dial; nothing here is kept over a restart but what tasks wrote and left: agents say again what they
have. docs/agents.md says what users and operators can rely on. Called by `server` and `dispatch`; the other
side is `rota.agent`.
"""
