"""The REST interface: requests are read, allowed, handed to desks of `loop/desk/`, and answered. It decides
nothing.

`routes/` describes each route as data (`route.py`); `app.py` makes the application of them, `openapi.py`
the document that clients are generated from, `serve.py` runs it on a port.
"""
