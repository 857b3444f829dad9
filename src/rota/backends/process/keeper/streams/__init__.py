"""What tasks read and what they write, as it flows."""
