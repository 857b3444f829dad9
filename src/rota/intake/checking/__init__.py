"""From plain data to typed records, or to every reason why not, in words for whoever wrote the data."""
