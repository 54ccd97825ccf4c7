"""The command line: one file per verb, `command` in it, loaded when it is called; the only room that prints."""

from __future__ import annotations

import gc
import importlib
import pkgutil
import sys

import click

from fabula import __version__
from fabula.cli._console import say
from fabula.core.errors import FabulaError

__all__ = ["fabula", "main"]

SELDOM = (500_000, 20, 50)  # stories are many small objects without cycles: what they are made of is not walked often


class Verbs(click.Group):
    """A verb is a file of this folder. Only the one that is called is imported."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(m.name for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_"))

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in self.list_commands(ctx):
            return None
        command: click.Command = importlib.import_module(f"{__name__}.{name}").command
        return command


@click.command(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="fabula %(version)s")
def fabula() -> None:
    """Score, match and build data for systems that tell the story of a video.

    \b
    fabula score preds.json --refs val_1.json val_2.json     every metric of the task, one table
    fabula score preds.json --refs val_1.json --protocol soda-2021
    fabula protocols preds.json --refs val_1.json            under every published evaluator, and why they differ
    fabula compare a.json b.json --refs val_1.json           paired tests over videos
    fabula diagnose preds.json --refs val_1.json             what each kind of error costs
    fabula stress                                            which metric notices what
    fabula serve preds.json --refs val_1.json                look at timelines and pairs in a browser
    fabula list metrics                                      what there is
    fabula demo                                              try it on the bundled stories
    """


def main() -> None:
    """Errors a user can mend cost one line and exit code 2."""
    gc.set_threshold(*SELDOM)
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
    finally:
        gc.freeze()  # the process ends: nobody needs to look once more for cycles in what is left
