"""fabula host: a scoring bundle for Codabench or EvalAI."""

from __future__ import annotations

from pathlib import Path

import click

from fabula import __version__, hosts
from fabula.hosts.bundles import KINDS, HostOptions
from fabula.verbs.building.host import host
from fabula.verbs.terminal.console import Several, print_lines, print_note, warn
from fabula.verbs.terminal.flags import flags, refs_option


def print_path(ctx: click.Context, parameter: click.Parameter, name: str | None) -> None:
    """What --where prints; nothing else is done then."""
    if name is not None:
        print_lines([str(hosts.where(name))])
        ctx.exit()


@click.command("host", cls=Several)
@click.argument("kind", type=click.Choice(KINDS))
@refs_option(required=True)
@click.option("--out", "-o", type=click.Path(path_type=Path), required=True, help="Folder to write.")
@click.option(
    "--where",
    type=click.Choice(list(hosts.PLACES)),
    is_eager=True,
    expose_value=False,
    callback=print_path,
    help="Print the path of Fabula's plug-in files for lmms-eval or ms-swift, and exit.",
)
@flags(HostOptions, into="options")
def command(kind: str, refs: tuple[Path, ...], out: Path, options: HostOptions) -> None:
    """Write the scoring bundle of a challenge on Codabench or EvalAI.

    It holds references, a scoring program and a leaderboard; the detailed page is Fabula's report.

    \b
    fabula host codabench --refs test_1.json test_2.json -m SODA_c,SODA_d,METEOR --title "Stories 2027" -o bundle
    fabula host evalai --refs test.json --protocol soda-2021 -o challenge
    python -m lmms_eval --include_path "$(fabula host --where lmms-eval)" --tasks fabula_dense …
    """
    made = host(kind, refs, out, options=options)
    names = ", ".join(sorted(p.name for p in made.iterdir()))
    print_note(f"{made}/: {names}")
    if not options.wheel:
        warn(
            f"the program asks pip for fabula=={__version__} where the server has none, and no index has it; "
            "add --wheel FILE (python -m build --wheel makes it), or choose an image that has Fabula"
        )
