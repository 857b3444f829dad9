"""What browsers need and programs don't: sessions by cookie, and what keeps other sites from using them.

`hosts.py` says which names the server has, `cookies.py` reads and writes cookies, `forgery.py` refuses what
other sites make a browser send, `return_path.py` where somebody goes on to, `sessions.py` begins and finds
sessions, `html.py` is what is shown. The routes are in `routes/pages.py`. See docs/sign-in.md and
docs/decisions/0021-browser-sign-in.md.
"""
