"""The REST interface: requests are read, allowed, handed to the desk, and answered. Nothing is decided here.

`routes/` describes each route as data (`route.py`); `app.py` makes the application of them, `openapi.py`
the document that clients are generated from, `serve.py` runs it on a port.
"""
