"""`fabula` and `python -m fabula`: the command line, also for `torchrun -m fabula train …`."""

import os
import signal
import sys
import threading

__all__ = ["main"]


def main() -> None:
    """Run the command line; where a package that it stands on is absent, say so in one line.

    Ctrl-C while modules are loaded ends the process at once: there is nothing to clean up yet, nor a traceback.
    """
    usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # else it is ignored, or somebody else's
    if usual and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, lambda *_: os._exit(130))
    try:
        from fabula.verbs.command_line import main as run
    except ModuleNotFoundError as error:
        name = (error.name or "").partition(".")[0]
        if name in ("", "fabula"):
            raise
        sys.stderr.write(f"fabula: error: the package {name} is absent; pip install {name}\n")
        sys.exit(2)
    run()


if __name__ == "__main__":
    main()
