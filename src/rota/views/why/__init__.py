"""`rota why`: one job, each node's verdict on it, the scores, and what would help."""
