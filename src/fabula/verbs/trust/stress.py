"""fabula.stress: which metric notices what."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Unpack, cast

from fabula import io
from fabula import metrics as metric_room
from fabula.core import spec
from fabula.core.errors import InputError, SpecError
from fabula.core.notes import Progress, silent
from fabula.core.options import split_keywords, with_options
from fabula.data.stories import Corpus
from fabula.diagnosis.stress import TIMED, UNTIMED, Cell, Stress, StressOptions, default, refused, tell_cells
from fabula.diagnosis.stress import stress as perturb_stories
from fabula.metrics import Metric
from fabula.stats.resampling import Resampling
from fabula.text.judges.options import JudgeOptions
from fabula.text.judges.scorer import open_session
from fabula.verbs.keywords import StressKeywords

WITHOUT = ("judge_failed",)  # of JudgeOptions: under stress an unread judgement counts 0

if TYPE_CHECKING:
    from fabula.metrics.moments import MomentMetric
    from fabula.metrics.questions import QuestionMetric


@with_options(StressOptions, JudgeOptions, without=WITHOUT)
def stress(
    metrics: str | Sequence[str | Metric] = (),
    corpus: str | Path | Corpus | None = None,
    *,
    options: StressOptions | None = None,
    ask: JudgeOptions | None = None,
    progress: Progress = silent,
    **keywords: Unpack[StressKeywords],
) -> Stress:
    """Perturb reference stories in controlled ways and measure how each metric reacts: 1 means that it does not.

    Without metrics, those of captions and stories that are mostly asked for; without a corpus, the bundled stories.
    Options are given one by one, or as one object.

    Examples:

        >>> seen = fabula.stress("SODA_d", demo.REFERENCES["annotator_1"], ways=["shift"], resamples=50)
        >>> round(seen.cells["SODA_d"]["shift"].ratio, 2)
        0.6
    """
    options, ask = split_keywords(
        "stress", keywords, options or StressOptions(), ask or JudgeOptions(), without=WITHOUT
    )
    wanted = choose_metrics([metrics] if isinstance(metrics, str) else metrics, options.spice)
    if all(m.reads == "questions" for m in wanted):
        if ask.judge_flags:
            raise SpecError(f"{ask.judge_flags[0]} has no effect: answers are judged by counting words here")
        return stress_questions(wanted, corpus, options, progress)
    if all(m.reads == "moments" for m in wanted):
        return stress_moments(wanted, corpus, options)
    stories, warnings, timed = read_stories(corpus, options.sets)
    if not timed:
        wanted, options = without_times(wanted, options, named=bool(metrics))
    asks = any(metric.uses_llm for metric in wanted)
    if ask.judge_flags and not asks:
        raise SpecError(f"{ask.judge_flags[0]} has no effect: none of these metrics asks a judge")
    with open_session(ask) if asks else nullcontext() as judge:
        found = perturb_stories(
            [metric.with_judge(judge) for metric in wanted],
            stories,
            changes=options.ways or None,
            copies=options.copies,
            seed=options.seed,
            ci=Resampling(resamples=options.resamples, seed=options.seed),
            progress=progress,
        )
    return replace(found, warnings=(*warnings, *found.warnings))


def stress_moments(wanted: Sequence[Metric], corpus: str | Path | Corpus | None, options: StressOptions) -> Stress:
    """Of queries one thing is asked: does refusing pay?"""
    from fabula.core.notes import Notes
    from fabula.diagnosis.refusals import REFUSE, refuse_queries
    from fabula.io.moments import read_queries

    if corpus is None or isinstance(corpus, Corpus):
        raise SpecError("no queries are bundled; name a file of them with --corpus")
    if set(options.ways) - {REFUSE}:
        raise SpecError(f"metrics of moments have one perturbation: --ways {REFUSE}")
    notes = Notes()
    queries = read_queries([corpus], notes)
    how = Resampling(method="percentile", resamples=min(options.resamples, DRAWS), seed=options.seed)
    cells: dict[str, dict[str, Cell | None]] = {}
    for m in wanted:
        found = refuse_queries(cast("MomentMetric", m), queries, options.copies, how)
        cells[str(m)] = {REFUSE: None if found is None else refused(*found, len(queries))}
    text = {str(m): m.signature({"queries": len(queries)}) for m in wanted}
    return Stress(
        cells, text, len(queries), options.copies, options.seed, how, (*notes.lines(), *tell_cells(cells, "queries"))
    )


def stress_questions(
    wanted: Sequence[Metric], corpus: str | Path | Corpus | None, options: StressOptions, progress: Progress
) -> Stress:
    """The same of answers: which rule can be gamed."""
    from fabula.core.notes import Notes
    from fabula.diagnosis.quizzes import stress_answers
    from fabula.io.questions import read_responses

    if corpus is None or isinstance(corpus, Corpus):
        raise SpecError("no questions are bundled; name a file of them with --corpus")
    notes = Notes()
    responses = list(read_responses(corpus, notes, role="references").values())
    found = stress_answers(
        cast("list[QuestionMetric]", wanted),
        responses,
        changes=options.ways or None,
        copies=options.copies,
        how=Resampling(method="percentile", resamples=min(options.resamples, DRAWS), seed=options.seed),
        progress=progress,
    )
    return replace(found, warnings=(*notes.lines(), *found.warnings))


DRAWS = 500  # of answers: each folds whole tables


def choose_metrics(given: Sequence[str | Metric], spice: str | None) -> list[Metric]:
    """Each text may name several; with `spice`, those that parse do it that way."""
    names: list[str | Metric] = []
    for one in given:
        names += spec.split(one) if isinstance(one, str) else [one]
    names = names or [*default()]
    metric_room.check_choice(names, "spice", spice)
    wanted = [metric_room.metric(name) if isinstance(name, str) else name for name in names]
    metric_room.check_parser(wanted, spice)
    return metric_room.set_parser(wanted, spice)


def read_stories(corpus: str | Path | Corpus | None, sets: Path | None = None) -> tuple[Corpus, tuple[str, ...], bool]:
    """The stories to perturb, the notes of the reader, and whether they have times: captionsets have none."""
    if corpus is not None and not isinstance(corpus, Corpus) and (sets is not None or holds_captionsets(Path(corpus))):
        return (*read_untimed(Path(corpus), sets), False)
    if sets is not None:
        raise SpecError("--sets only applies with --corpus, a file of captions of clips")
    if corpus is None:
        return gather_bundled(), (), True
    if isinstance(corpus, Corpus):
        return corpus, (), True
    stories, notes = io.read(corpus)
    return stories, tuple(notes.lines()), True


def holds_captionsets(path: Path) -> bool:
    """Captionsets, or lines of clips."""
    from fabula.checks.identity import knows
    from fabula.documents.document import open_document

    document = open_document(path)
    return not document.holds_only_stories and knows(document)


def read_untimed(path: Path, sets: Path | None) -> tuple[Corpus, tuple[str, ...]]:
    """Captionsets as stories; a caption's place in its set stands for its time, and nothing reads it."""
    from fabula.core.notes import Notes
    from fabula.data.stories import Event, Segment, Story
    from fabula.evaluate.captionsets import read_captionsets
    from fabula.text.identity import as_text

    notes = Notes()
    found = read_captionsets(path, notes, sets=sets)
    stories = {
        id: Story(id, tuple(Event(Segment(k, k + 1), as_text([text])) for k, text in enumerate(one.captions or ())))
        for id, one in found.items()
    }
    if not any(map(len, stories.values())):
        raise InputError("no captions, and so nothing to perturb", file=path, hint="a file of ids alone has no words")
    return Corpus(stories, name=str(path)), tuple(notes.lines())


def without_times(wanted: list[Metric], options: StressOptions, named: bool) -> tuple[list[Metric], StressOptions]:
    """The metrics and the ways that captionsets have something for; what is named and has nothing is refused."""
    timed = [metric.name for metric in wanted if metric.reads != "captions"]
    if timed and named:
        raise SpecError(f"{timed[0]} reads times, which captionsets have not; name metrics of captions")
    if ways := [way for way in options.ways if way in TIMED]:
        raise SpecError(f"{ways[0]!r} changes times, which captionsets have not; leave it out of --ways")
    return [m for m in wanted if m.reads == "captions"], replace(options, ways=options.ways or UNTIMED)


def gather_bundled() -> Corpus:
    """The identity-labelled captionsets and both annotators' demo stories."""
    from fabula import demo

    stories = dict(io.read(demo.CAPTIONSETS)[0].stories)
    for name, path in demo.REFERENCES.items():
        stories |= {f"{v}/{name}": replace(s, id=f"{v}/{name}") for v, s in io.read(path)[0].items()}
    return Corpus(stories, name="bundled")
