"""The documentation as a site: pages from docs/, and references made from the code. Called by `make docs`."""
