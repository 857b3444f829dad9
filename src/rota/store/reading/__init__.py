"""What is asked of the database."""
