"""`rota replay`: recorded cycles decided again, and what would differ."""
