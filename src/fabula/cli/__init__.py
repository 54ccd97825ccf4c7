"""The command line: one file per verb; the only room that prints."""

from __future__ import annotations

import sys

import click

from fabula import __version__
from fabula.cli._console import say
from fabula.cli.baseline import baseline
from fabula.cli.convert import convert
from fabula.cli.demo import demo
from fabula.cli.doctor import doctor
from fabula.cli.list import list_
from fabula.cli.protocols import protocols
from fabula.cli.score import score
from fabula.cli.serve import serve
from fabula.core.errors import FabulaError

__all__ = ["fabula", "main"]


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="fabula %(version)s")
def fabula() -> None:
    """Score, match and build data for systems that tell the story of a video.

    \b
    fabula score preds.json --refs val_1.json val_2.json     every metric of the task, one table
    fabula score preds.json --refs val_1.json --protocol soda-2021
    fabula protocols preds.json --refs val_1.json            under every published evaluator, and why they differ
    fabula serve preds.json --refs val_1.json                look at timelines and pairs in a browser
    fabula list metrics                                      what there is
    fabula demo                                              try it on the bundled stories
    """


for command in (score, protocols, serve, list_, baseline, convert, doctor, demo):
    fabula.add_command(command)


def main() -> None:
    """Errors a user can mend cost one line and exit code 2."""
    try:
        fabula.main(standalone_mode=False)
    except FabulaError as error:
        say(f"error: {error}", style="red")
        sys.exit(2)
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except (KeyboardInterrupt, click.Abort):
        say("stopped; nothing was written")
        sys.exit(130)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(141)
