"""The second kind of world: `rota scheduler`, which keeps nothing, between two controllers, which keep all,
and three machines.

    scenario: actions and faults ──► world ──► trace, and what was broken of I0 … I5
                                       │
    Controller ─► SchedulerClient ─► network ─► Scheduler ─► network ─► agents ─► tasks
      └─► ActionLedger, which survives it     (both unchanged)

The rest of `faults` is shared by both kinds. Which one a seed runs, `seeds.py` says.
"""
