"""How commands reach a server: the connection, its errors as exit codes, jobs by their names, completion."""
