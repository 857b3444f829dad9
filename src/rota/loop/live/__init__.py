"""The loop of a live cluster: something changed, decide, carry out; and what stands beside it."""
