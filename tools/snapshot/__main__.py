"""python -m tools.snapshot"""

import sys

from tools.snapshot.compare import main

if __name__ == "__main__":
    sys.exit(main())
