"""The command line in a forked process: on a terminal of its own, without the seconds that a new Python takes."""

import os
import sys
import traceback
from collections.abc import Sequence
from typing import NoReturn

from fabula.verbs.command_line import main


def run_here(arguments: Sequence[str]) -> NoReturn:
    """The command line in this process, on the terminal that is file 0, 1 and 2; ends the process."""
    code: object = 1
    try:
        sys.stdin, sys.stdout, sys.stderr = (os.fdopen(file, mode) for file, mode in enumerate("rww"))
        sys.argv = ["fabula", *arguments]
        main()
        code = 0
    except SystemExit as ended:
        code = ended.code or 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code if isinstance(code, int) else 1)
