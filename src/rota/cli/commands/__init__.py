"""One module a command: its arguments and options, and whom it asks. Imported when it is called, or
asked for help, so none imports at its top what only carrying it out needs."""
