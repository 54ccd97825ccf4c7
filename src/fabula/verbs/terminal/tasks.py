"""Verbs whose commands are tasks: `fabula train NAME`, `fabula predict NAME`, made of what a task says of itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from fabula.core.registry import close_to
from fabula.learn.tasks import room
from fabula.learn.tasks.base import Task
from fabula.verbs.terminal.console import VerbGroup, warn


class Tasks(VerbGroup):
    """A command per task; only the one that is called is imported."""

    make: Callable[[Task], click.Command]
    offers: Callable[[Task], bool] | None = None  # which tasks have the verb; None: all

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Ours by file name; those of other packages are looked at, and one that cannot be used costs a warning."""
        outside = {plugin.name for plugin, _ in room.others(warn)}
        every = sorted({module.replace("_", "-") for module in room.modules()} | outside)
        return [name for name in every if self.has(name)] if self.offers else every

    def has(self, name: str) -> bool:
        found = room.find(name)
        return found is not None and (self.offers is None or self.offers(found()))

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        found = room.find(name)
        return self.make(found()) if found is not None and self.has(name) else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and not self.has(args[0]):
            known = close_to(args[0], self.list_commands(ctx))
            if room.find(args[0]) is not None:
                ctx.fail(f"the task {args[0]!r} has no {self.name}; {known}")
            ctx.fail(f"no task is called {args[0]!r}; {known}")
        return super().resolve_command(ctx, args)


def task_group(
    name: str, about: str, make: Callable[[Task], click.Command], offers: Callable[[Task], bool] | None = None
) -> click.Group:
    """A verb of tasks, of all or of those that offer it."""
    group = Tasks(name, help=about)
    group.make, group.offers = make, offers
    return group


def help_of(task: Task, verb: str) -> dict[str, Any]:
    """What --help says: the task in one line, its presets, its examples."""
    lines = [task.about]
    if verb == "train" and task.presets:
        lines += ["\b\nPresets:\n" + "\n".join(f"{name}: {p.about}" for name, p in task.presets.items())]
    if verb == "train":
        lines += [
            "Defaults are the values of the model's paper; fabula list settings prints them, and what --set takes."
        ]
    if task.usage:
        lines += ["\b\n" + "\n".join(task.usage)]
    return {"help": "\n\n".join(lines), "short_help": task.about}
