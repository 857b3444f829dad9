"""Commands and reports in; lifecycle asked; one transaction; instructions out."""
