"""Documents of the REST interface, shared by those who write and those who read them."""
