"""Sign-in by OpenID Connect: a provider identifies a user, and Rota gives the user a token for some hours.

`id_token.py` checks what the provider signed, `provider.py` asks it for its keys, `groups.py` says what its
groups may do here, `desk.py` is what the routes call. See docs/sign-in.md.
"""
