"""`fabula` and `python -m fabula`: the command line, also for `torchrun -m fabula train …`."""

import sys


def main() -> None:
    """Run the command line; where a package that it stands on is absent, say so in one line."""
    try:
        from fabula.cli import main as run
    except ModuleNotFoundError as error:
        name = (error.name or "").partition(".")[0]
        if name in ("", "fabula"):
            raise
        print(f"fabula: error: the package {name} is absent; pip install {name}", file=sys.stderr)
        sys.exit(2)
    run()


if __name__ == "__main__":
    main()
