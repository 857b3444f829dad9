"""A whole cluster in one thread, without time: the production server among simulated disks, networks and
nodes on which everything goes wrong, by a seed. What must never happen is watched at every step.

    seed ──► scenario: work and faults ──► world ──► trace, and what was broken of I1 … I5
                                             │
       users ─► Runtime ─► agents' backend ─► rpc ─► network ─► agent ─► keeper ─► kernel
                   └─► Store, SQLite ─► disk                  (all on one VirtualLoop)

Every fourth seed has a scheduler in place of the server, and controllers in place of users: `scheduler/`.
`python -m tests.faults` runs seeds; docs/faults.md says what is simulated, and what is not.
"""
