"""From a connection to a route and back: nothing here knows what a job is."""
