"""Identity: which people in the clips of a movie are one and the same. Fill-in-the-blanks files of LSMDC."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fabula.core.errors import InputError, SpecError
from fabula.core.identity import ClipSet
from fabula.core.notes import Notes, named
from fabula.core.result import Result
from fabula.core.rows import Rows
from fabula.io import fillin
from fabula.metrics import Metric, fitb
from fabula.tasks._task import Request, Task, measured, wrong_task
from fabula.text.identity import named as someone


def run(request: Request) -> Result:
    predictions, refs = request.paths("identity")
    if len(refs) != 1:
        raise SpecError(f"fill-in-the-blanks takes one reference file with --refs, {len(refs)} were given")
    if request.sets is None:
        raise SpecError("which clips belong together is not said; name the file of sets with --sets (valSets.csv)")
    notes = Notes()
    files = predictions, refs[0], Path(request.sets)
    sets, given = read(files, notes)
    check(sets, predictions, request.strict, notes)
    if any(getattr(metric, "labels", "") == "exact" for metric in request.chosen("identity")):
        say_lists(sets, notes)
    scored = [s for s in sets if s.blanks >= 2]
    if not scored:
        raise InputError("no set has two blanks", file=files[2], hint="there is nothing to compare")

    def rows_of(metric: Metric) -> Rows:
        if not isinstance(metric, fitb.Metric):
            raise wrong_task(metric, "identity")
        try:
            return metric.rows(scored)
        except InputError as error:
            raise InputError(error.problem, file=predictions, video=error.video, noun="clip", hint=error.hint) from None

    clips = [clip for s in sets for clip in s.clips]
    counts = {
        "sets": len(sets),
        "skipped": len(sets) - len(scored),
        "clips": len(clips),
        "missing": sum(clip.given is None for clip in clips),
        "unparsed": 0,
        "unknown": given - sum(clip.given is not None for clip in clips),
        "references": sum(s.blanks for s in sets),
        "predictions": sum(len(clip.given or ()) for clip in clips if clip.truth),
    }
    facts = {"skipped": counts["skipped"], "blanks": counts["references"], "missing": counts["missing"]}
    return measured(request, "identity", rows_of, facts, counts, notes)


def read(files: tuple[Path, Path, Path], notes: Notes) -> tuple[list[ClipSet], int]:
    """The sets to score, and how many clips the predictions name."""
    predictions, refs, grouping = files
    truth, sets = fillin.references(refs, notes), fillin.read_sets(grouping, notes)
    given = fillin.predictions(predictions, notes)
    return fillin.joined(truth, given, sets, (refs, predictions, grouping), notes), len(given)


def check(sets: Sequence[ClipSet], file: Path, strict: bool, notes: Notes) -> None:
    """Say where the number of ids is not the number of blanks; with `strict`, refuse."""
    for clip in (c for s in sets for c in s.clips if c.truth):
        given = sum(map(someone, clip.given or ()))
        if given == len(clip.truth):
            continue
        if strict:
            problem = f"{given} ids for {len(clip.truth)} blanks"
            raise InputError(problem, file=file, video=clip.id, noun="clip", hint="--strict wants an id per blank")
        if given < len(clip.truth):
            what = "fewer predicted ids than blanks (short=zero: a blank without one is wrong in all its pairs)"
        else:
            what = "more predicted ids than blanks (short=zero: the first ones count)"
        notes.add(f"{{n}} clips have {what}", named(clip.id))


def say_lists(sets: Sequence[ClipSet], notes: Notes) -> None:
    """`[1, 1]` between commas is `[1` and ` 1]`: two people, if text is taken as it stands."""
    for clip in (c for s in sets for c in s.clips if c.truth and len(c.given or ()) > 1):
        first = (clip.given or ("",))[0]
        if first.startswith("[") and not first.endswith("]"):
            notes.add(
                "{n} clips have their ids in one bracket, as in '[1, 1]'; labels=exact takes '[1' and ' 1]' for two "
                "people, as the published evaluator does; labels=clean takes them for one",
                named(clip.id),
            )


TASK = Task(name="identity", about="who is who across the clips of a movie: fill-in-the-blanks", run=run)
