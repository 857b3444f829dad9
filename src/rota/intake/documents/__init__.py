"""From the text of a file to plain data that remembers where each field was written."""
