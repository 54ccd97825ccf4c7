"""`python -m tools.fuzz`: see the package's first page."""

import sys

from tools.fuzz.campaign import main

sys.exit(main(sys.argv[1:]))
