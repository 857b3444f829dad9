"""What runs in the server or the agent: finds the keeper, talks to it, and reads what tasks wrote."""
