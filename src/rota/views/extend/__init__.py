"""`rota extend`: may a running job run longer, what would that cost, and who would wait longer for it."""
