"""What commands do that ask a running server. `connection.py` says what they need of a client."""
