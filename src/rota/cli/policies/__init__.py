"""Commands that try policies on recorded data: sim, replay; and the list of plugins."""
