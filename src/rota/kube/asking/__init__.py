"""Questions about a live cluster: why a pod waits, and when it starts."""
