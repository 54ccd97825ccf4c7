"""fabula convert: one format into another, saying what was fixed and what was lost."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from fabula.core.errors import SpecError
from fabula.core.options import Options, option, same_as
from fabula.verbs.building.commands.parse import convert_answers
from fabula.verbs.building.convert import ConvertOptions, convert
from fabula.verbs.building.parse import ParseOptions
from fabula.verbs.terminal.console import Several, print_note, warn
from fabula.verbs.terminal.flags import flags, path_argument
from fabula.verbs.terminal.out import check_outputs


@dataclass(frozen=True, kw_only=True)
class Answers(Options):
    """What applies to free-form answers alone."""

    answers: bool = option(False, "SOURCE holds free-form answers of a language model.")
    audit: Path | None = same_as(ParseOptions, "audit", needs="answers")
    unit: str | None = same_as(ParseOptions, "unit", needs="answers")
    refs: tuple[Path, ...] = option(
        (), "Files that hold the durations of the videos.", "-r", several=True, needs="answers"
    )
    refs_format: str | None = same_as(ParseOptions, "refs_format", needs="answers")


@click.command("convert", cls=Several)
@path_argument("source")
@path_argument("target")
@flags(ConvertOptions, into="options")
@flags(Answers, into="free")
def command(source: Path, target: Path, options: ConvertOptions, free: Answers) -> None:
    """Convert SOURCE into TARGET.

    \b
    fabula convert youcookii_annotations_trainval.json yc2.jsonl.gz
    fabula convert preds.jsonl submission.json --to submission
    fabula convert preds.json captions/ --to vtt
    fabula convert LSMDC16_annos_val.csv val.jsonl --to captionsets --sets valSets.csv
    fabula convert filled.jsonl submission.csv --to fillin
    fabula convert --answers answers.jsonl events.jsonl --audit audit.json --unit percent --refs val_1.json
    """
    if free.answers:
        return convert_free(source, target, options, free)
    if target.is_dir() and writes_folders(options):
        if source.exists() and target.samefile(source):
            raise SpecError(f"TARGET {target} is the folder that is read; give it another name")
    else:
        check_outputs([source, options.sets], TARGET=target)
    done = convert(source, target, options=options)
    for line in done.warnings:
        warn(line)
    corpus = done.corpus
    if done.sets is not None:
        clips = sum(len(one.clips or one.captions or ()) for one in done.sets.values())
        return print_note(f"{len(done.sets):,} captionsets of {clips:,} clips → {done.to} ({target})")
    print_note(f"{len(corpus):,} videos, {corpus.events:,} events: {corpus.format} → {done.to} ({target})")


def writes_folders(options: ConvertOptions) -> bool:
    """Whether the format has a file for each film."""
    from fabula import io

    return options.to is not None and io.find(options.to)[0].texts


def convert_free(source: Path, target: Path, options: ConvertOptions, free: Answers) -> None:
    """Free-form answers become events, in Fabula's own format unless another is named."""
    if options.from_ is not None:
        raise SpecError("--from does not apply with --answers; leave one of them out")
    check_outputs([source, *free.refs], free, TARGET=target)
    to = {} if options.to is None else {"to": options.to}
    wanted = ParseOptions(audit=free.audit, unit=free.unit, refs_format=free.refs_format, **to)
    convert_answers(source, target, free.refs, wanted)
