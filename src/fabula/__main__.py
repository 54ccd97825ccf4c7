"""`fabula`, `python -m fabula`: the command line, also for `torchrun -m fabula train …`."""

import os
import signal
import threading

__all__ = ["main"]


def main() -> None:
    """Ctrl-C while modules are loaded ends the process at once: there is nothing to clean up yet, nor a traceback."""
    usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # else it is ignored, or somebody else's
    if usual and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, lambda *_: os._exit(130))
    from fabula.cli import main as run

    run()


if __name__ == "__main__":
    main()
