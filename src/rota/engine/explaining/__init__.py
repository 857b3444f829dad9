"""Why a job waits, and the smallest change that would help."""
