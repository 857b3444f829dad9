"""The nouns: frozen records that every other package speaks of. No I/O, no decisions.

Times are whole milliseconds since the epoch, amounts whole base units; both carry the unit in
their name. Records are hashable, so that equal things can be recognised and handled once.
"""
