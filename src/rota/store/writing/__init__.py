"""What is written to the database, and removed from it."""
