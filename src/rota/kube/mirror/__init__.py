"""The cluster as a state for `decide`: pods, gangs, volumes and budgets, kept current by informers."""
