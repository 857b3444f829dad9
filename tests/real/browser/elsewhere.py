"""Pages of somebody else: another site for a browser, or another program on the same machine."""

from __future__ import annotations

from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread


class Elsewhere:
    def __init__(self) -> None:
        pages = self._pages = dict[str, str]()

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                page = pages.get(self.path)
                body = (page or "").encode()
                self.send_response(200 if page is not None else 404)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                """Nobody reads it."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = Thread(target=self._server.serve_forever)

    def __enter__(self) -> Elsewhere:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def page(self, body: str, *, same_site: bool = False) -> str:
        """Its address. `same_site`: by the name that the server has, on another port. Browsers don't tell
        ports apart when they send cookies."""
        path = f"/{len(self._pages)}"
        self._pages[path] = f"<!doctype html><title>Elsewhere</title>{body}"
        host = "127.0.0.1" if same_site else "evil.localhost"
        return f"http://{host}:{self._server.server_port}{path}"
