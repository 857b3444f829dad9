"""`rota scheduler`: between controllers, who own actions, and agents, who perform them. It keeps nothing.

    controllers ──Direct──► service ──► directing ──► control and loop of the server, nothing kept
      (they keep)                                       │
          ▲                                             ▼
          ├──── outbox ◄── notifying ◄─ what became of it, first; then ──► dispatch ──► pool ──► agents
          └──── outbox ◄── arrivals ◄── output, files ◄─────────────────────────────────────────────┘

What must not be forgotten is told to the action's controller, and done once that has recorded it: the
controllers are the store. docs/scheduler.md says what controllers and operators can rely on, decision
0006 why it is built so. Agents join by `enrolment`, with the folder of an `authority`. `client` is the
controllers' side. Started by the CLI.
"""
