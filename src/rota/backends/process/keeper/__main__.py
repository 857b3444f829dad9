"""`python -m rota.backends.process.keeper FOLDER OPTIONS`"""

from __future__ import annotations

import sys

from rota.backends.process.keeper.keeper import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
