"""Where tasks run: one folder a backend, all behind the interface of `backend.py`."""
