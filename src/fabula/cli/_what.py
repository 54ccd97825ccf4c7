"""What to score, and how to resample it: options that several verbs share, declared once."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from fabula.core.errors import SpecError
from fabula.io.segments import REPAIRS
from fabula.stats.bootstrap import METHODS, Resampling

What = dict[str, Any]  # keyword arguments of fabula.score
Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

PATH = click.Path(path_type=Path)
WHAT: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "refs": (("--refs", "-r"), {"multiple": True, "type": PATH, "help": "Reference files or folders."}),
    "task": (
        ("--task",),
        {"help": "fabula list tasks. Default: dense when the predictions have captions, else procedure."},
    ),
    "protocol": (("--protocol", "-p"), {"help": "A published evaluator to reproduce (fabula list protocols)."}),
    "metrics": (("--metrics", "-m"), {"help": 'Metrics, comma separated: "SODA_c,PRF@0.5,SODA_c(refs=best)".'}),
    "repair": (
        ("--repair",),
        {"help": f"What to do with malformed reference segments: {', '.join(REPAIRS)}; several in order."},
    ),
    "strict": (
        ("--strict",),
        {"is_flag": True, "help": "Refuse malformed predicted segments instead of letting them match nothing."},
    ),
    "tok": (
        ("--tok",),
        {"type": click.Choice(["ptb", "none"]), "help": "How captions are tokenised. Default: ptb."},
    ),
    "sets": (("--sets",), {"type": PATH, "help": "Which clips belong together (task identity)."}),
    "people": (
        ("--people",),
        {"help": "Pattern of people in captions, where they are not P1 or [PERSON1] (task identity)."},
    ),
    "spice": (
        ("--spice",),
        {"type": click.Choice(["native", "java"]), "help": "Who parses for SPICE and iSPICE. Default: native."},
    ),
    "format": (
        ("--format",),
        {"help": "Format of the predictions (fabula list formats). Default: known by its shape."},
    ),
    "refs_format": (("--refs-format",), {"help": "Format of the references. Default: known by its shape."}),
}


def what_to_score(*names: str, without: Sequence[str] = (), required: bool = False) -> Decorator:
    """The options of what to score (all, or those named), handed to the verb as one mapping `what`."""
    chosen = [name for name in names or WHAT if name not in without]

    def decorate(verb: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(verb)
        def called(**given: Any) -> Any:
            return verb(what=ready({name: given.pop(name) for name in chosen}), **given)

        for name in reversed(chosen):
            flags, settings = WHAT[name]
            extra: dict[str, Any] = {"required": required} if name == "refs" else {}
            called = click.option(*flags, **settings, **extra)(called)
        return called

    return decorate


def spice_option(verb: Callable[..., Any]) -> Callable[..., Any]:
    """--spice, for verbs that score in a way of their own."""
    flags, settings = WHAT["spice"]
    return click.option(*flags, **settings)(verb)


def ready(what: What) -> What:
    """As fabula.score takes them: a list of references, a list of repairs."""
    for name in ("task", "protocol", "repair", "people", "format", "refs_format"):
        check_said(WHAT[name][0][0], what.get(name))
    if "refs" in what:
        what["refs"] = list(what["refs"])
    if "repair" in what:
        what["repair"] = [way.strip() for way in what["repair"].split(",")] if what["repair"] else ()
    return what


def resampled(draws: int, what: str, seed: str = "the draws") -> Decorator:
    """--resamples, --seed, --level, --method, handed to the verb as one Resampling `how`."""

    def decorate(verb: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(verb)
        def called(*, resamples: int, seed: int, level: float, method: Any, **given: Any) -> Any:
            return verb(how=Resampling(method=method, level=level, resamples=resamples, seed=seed), **given)

        for flag, kind, default, help in (
            ("--method", click.Choice(METHODS), "bca", "Kind of interval."),
            ("--level", float, 0.95, "The level of the intervals."),
            ("--seed", int, 0, f"The seed of {seed}."),
            ("--resamples", click.IntRange(1), draws, what),
        ):
            called = click.option(flag, type=kind, default=default, show_default=True, help=help)(called)
        return called

    return decorate


def check_said(option: str, value: str | None) -> None:
    """Refuse an option with nothing behind it, such as a "$VARIABLE" that is not set."""
    if value is not None and not value.strip():
        raise SpecError(f"nothing follows {option}; name something, or leave it out")


def check_resampled() -> None:
    """Refuse options of intervals where none are asked for."""
    given = click.get_current_context().get_parameter_source
    said = [f"--{n}" for n in ("resamples", "seed", "level", "method") if given(n) is not ParameterSource.DEFAULT]
    if said:
        raise SpecError(f"without --ci there are no intervals, and {', '.join(said)} would not be heeded; add --ci")
