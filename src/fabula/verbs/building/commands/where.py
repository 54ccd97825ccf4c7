"""fabula where: the earlier name of `fabula host --where`."""

from __future__ import annotations

import click

from fabula import hosts
from fabula.verbs.terminal.console import print_lines


@click.command("where", hidden=True)
@click.argument("name", type=click.Choice(list(hosts.PLACES)))
def command(name: str) -> None:
    """Print the path of Fabula's plug-in files for lmms-eval or ms-swift.

    \b
    python -m lmms_eval --include_path "$(fabula host --where lmms-eval)" --tasks fabula_dense …
    swift rlhf --external_plugins "$(fabula host --where ms-swift)" --reward_funcs fabula_soda_c …
    """
    print_lines([str(hosts.where(name))])
