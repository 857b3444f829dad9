"""A whole cluster in one thread, without time: the production server among simulated disks, networks and
nodes on which everything goes wrong, by a seed. What must never happen is watched at every step.

    seed ──► scenario: work and faults ──► world ──► trace, and what was broken of I1 … I5
                                             │
       users ─► Runtime (unchanged) ─► SimulatedBackend ─► network ─► agents ─► tasks
                     └─► SimulatedStore ─► disk         (all on one VirtualLoop)

`python -m rota.faults` runs seeds; docs/faults.md says what is simulated, and what is not.
"""
