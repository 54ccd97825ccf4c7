"""`python -m fabula`: the command line, also for `torchrun -m fabula train …`."""

from fabula.cli import main

if __name__ == "__main__":
    main()
