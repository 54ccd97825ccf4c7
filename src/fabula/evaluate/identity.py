"""Identity: which people in the clips of a movie are one and the same. FITB where blanks are filled in (LSMDC's files),
iSPICE and the metrics of captions where captions name people (MICap)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fabula import metrics
from fabula.core.errors import InputError, SpecError
from fabula.core.notes import Notes, name_id
from fabula.core.rows import Rows
from fabula.data.identity import Clip, ClipCaptions, ClipSet
from fabula.data.stories import Item
from fabula.documents.document import Document
from fabula.evaluate.kept import Filled
from fabula.evaluate.request import Request
from fabula.evaluate.score import Comparison
from fabula.io import identity
from fabula.io.identity import fillin
from fabula.io.identity.captionsets import Sets, SetText
from fabula.metrics import Metric
from fabula.metrics.captions import Items
from fabula.metrics.identity import ClipSets
from fabula.text.identity import ID, as_text, hide_ids, ids, is_named, label, pattern, respell_ids
from fabula.text.ispice import OFFICIAL_IDS, Boundary, normalise

DEFAULT = ("FITB", "iSPICE", "SPICE(tok=none)", "METEOR", "CIDEr")  # a parser needs sentences


def compare(request: Request, task: str | None = None) -> tuple[Comparison, list[Metric]]:
    notes = Notes()
    return compare_sets(request, gather(request, notes), notes)


def compare_sets(request: Request, found: Gathered, notes: Notes) -> tuple[Comparison, list[Metric]]:
    """Sets that are read and joined; training calls it with sets in memory."""
    scored = [s for s in found.sets if s.blanks >= 2]
    captioned = [s for s in found.sets if s.reference is not None]
    has_text = any(s.candidate is not None or not s.clips for s in captioned)  # no prediction at all is an empty one
    chosen = choose(request, found, bool(scored), has_text)
    boundary = boundary_of(request)
    check_ids(found.sets, found.predictions, request.options.strict, notes)
    if any(metric.param("labels") == "exact" for metric in chosen):
        note_lists(found.sets, notes)
    raw = [Item(s.id, s.candidate, (s.reference or "",)) for s in captioned]
    if has_text:
        note_people(raw, notes)
    if any(metric.name == "SPICE" and metric.param("tok") == "ptb" for metric in chosen):
        notes.add("SPICE(tok=ptb) reads a captionset as one sentence, without full stops; SPICE(tok=none) keeps them")
    renamed = [rename_people(item, boundary) for item in raw]
    own, others, blanks = Items(raw, unit="set"), Items(renamed, unit="set"), ClipSets(scored)

    def rows_of(metric: Metric) -> Rows:
        if metric.reads == "captions":
            return metric.table(own if renames_itself(metric) else others, request.progress)
        try:
            return metric.table(blanks, request.progress)
        except InputError as error:
            raise InputError(
                error.problem, file=found.predictions, video=error.video, noun="clip", hint=error.hint
            ) from None

    counts = count(found, len(scored), has_text)
    filled = Filled({s.id: s for s in scored}, {s.id: s.captions for s in found.sets if s.captions})

    def facts(metric: Metric) -> Mapping[str, object]:
        if metric.reads == "identity":
            return {"skipped": counts["skipped"], "blanks": counts["references"], "missing": counts["missing"]}
        people = request.options.people
        written = {} if people is None else {"people": people.replace("|", "%7C")}
        return {"missing": sum(s.candidate is None for s in captioned), "renamed": boundary, **written}

    def evidence(named: Mapping[str, Metric]) -> dict[str, object]:
        read = {name: renamed for name, m in named.items() if m.reads == "captions" and not renames_itself(m)}
        return {"items": tuple(raw) if has_text else (), "read": read, "kept": filled}

    return Comparison(
        task="identity", rows_of=rows_of, counts=counts, notes=notes, facts=facts, evidence=evidence
    ), chosen


def renames_itself(metric: Metric) -> bool:
    """iSPICE does; for the others people are renamed before."""
    return metric.param("boundary") is not None


# --- what is asked for -----------------------------------------------------------------------------------------------


def choose(request: Request, found: Gathered, blanks: bool, captions: bool) -> list[Metric]:
    """The metrics asked for; unasked, those that the files have something for."""
    wanted = [metrics.metric(name) for name in DEFAULT] if request.metrics is None else request.metrics
    chosen_metrics = replace(request, metrics=wanted).readable("identity", "identity", "captions")
    can = [m for m in chosen_metrics if (blanks if m.reads == "identity" else captions)]
    if not captions and not blanks:
        problem = "no set has two blanks" if any(s.clips for s in found.sets) else "no set has captions on both sides"
        raise InputError(problem, file=found.grouping, hint="there is nothing to compare")
    if len(can) < len(chosen_metrics) and not (request.means_all and can):
        metric = next(m for m in chosen_metrics if m not in can)
        lacking = "blanks that are filled in" if metric.reads == "identity" else "captions of both sides"
        problem = f"{metric.name} reads {lacking}, and there are none"
        raise InputError(problem, file=found.predictions, hint="what can be given is in docs/identity.md")
    return can


def boundary_of(request: Request) -> Boundary:
    """How people are found who are renamed before METEOR and its like: as the protocol's iSPICE does it."""
    own = [m.param("boundary", "word") for m in (request.protocol.metrics if request.protocol else ())]
    return "blank" if "blank" in own else "word"


def rename_people(item: Item, boundary: Boundary) -> Item:
    """The item as metrics read it that do not rename people themselves."""
    candidate = None if item.candidate is None else normalise(item.candidate, boundary)
    return Item(item.id, candidate, tuple(normalise(r, boundary) for r in item.references))


def count(found: Gathered, scored: int, said: bool) -> dict[str, int]:
    sets, clips = found.sets, [clip for s in found.sets for clip in s.clips]
    captions = {
        "captionsets": sum(s.reference is not None for s in sets),
        "captionsets_missing": sum(s.reference is not None and s.candidate is None for s in sets),
    }
    if not clips:
        known = sum(s.candidate is not None for s in sets)
        return {
            "sets": len(sets),
            "missing": len(sets) - known,
            "unparsed": 0,
            "unknown": found.unknown,
            "references": captions["captionsets"],
            "predictions": known,
        }
    return {
        "sets": len(sets),
        "skipped": len(sets) - scored,
        "clips": len(clips),
        "missing": sum(clip.given is None for clip in clips),
        "unparsed": 0,
        "unknown": found.unknown,
        "references": sum(s.blanks for s in sets),
        "predictions": sum(len(clip.given or ()) for clip in clips if clip.truth),
        **(captions if said else {}),
    }


# --- what is worth a word --------------------------------------------------------------------------------------------


def check_ids(sets: Sequence[ClipSet], file: object, strict: bool, notes: Notes) -> None:
    """Say where the number of ids is not the number of blanks; with `strict`, refuse."""
    for clip in (c for s in sets for c in s.clips if c.truth):
        given = sum(map(is_named, clip.given or ()))
        if given == len(clip.truth):
            continue
        if strict:
            problem = f"{given} ids for {len(clip.truth)} blanks"
            raise InputError(problem, file=file, video=clip.id, noun="clip", hint="--strict wants an id per blank")
        if given < len(clip.truth):
            what = "fewer predicted ids than blanks (short=zero: a blank without one is wrong in all its pairs)"
        else:
            what = "more predicted ids than blanks (short=zero: the first ones count)"
        notes.add(f"{{n}} clips have {what}", name_id(clip.id))


def note_lists(sets: Sequence[ClipSet], notes: Notes) -> None:
    """`[1, 1]` between commas is `[1` and ` 1]`: two people, if text is taken as it stands."""
    for clip in (c for s in sets for c in s.clips if c.truth and len(c.given or ()) > 1):
        first = (clip.given or ("",))[0]
        if first.startswith("[") and not first.endswith("]"):
            notes.add(
                "{n} clips have their ids in one bracket, as in '[1, 1]'; labels=exact takes '[1' and ' 1]' for two "
                "people, as the published evaluator does; labels=clean takes them for one",
                name_id(clip.id),
            )


def note_people(items: Sequence[Item], notes: Notes) -> None:
    """Captions that name nobody, or more people than iSPICE counts."""
    for item in items:
        people = [len(set(ids(text))) for text in (item.candidate or "", *item.references)]
        if not people[-1]:
            notes.add(
                "{n} reference captionsets name nobody, and iSPICE is 0 there; people are P1 or [PERSON1], or what "
                "--people says",
                name_id(item.id),
            )
        if max(people) > OFFICIAL_IDS:
            notes.add(
                f"{{n}} captionsets have more than {OFFICIAL_IDS} people; iSPICE(ids=any) counts them all",
                name_id(item.id),
            )


# --- what is compared ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Gathered:
    """The sets to score, and how many predicted ones are not among them (clips, where the files are of clips)."""

    sets: list[ClipSet]
    unknown: int
    predictions: Path | Document
    grouping: Path | Document  # the file that would have to group blanks


def gather(request: Request, notes: Notes) -> Gathered:
    predictions, refs = request.paths("identity")
    inline = not refs and identity.is_pairs(predictions)
    if len(refs) != 1 and not inline:
        raise SpecError(f"the task identity takes one reference file with --refs, {len(refs)} were given")
    grouping = request.options.sets
    if not inline and all(identity.is_table(f) and identity.holds_ids(f) for f in (predictions, refs[0])):
        if grouping is None:
            raise SpecError("the sets of clips are missing; name their file with --sets (valSets.csv)")
        return clip_by_clip((predictions, refs[0], grouping), request, notes)
    if grouping is not None and (inline or not any(map(identity.is_table, (predictions, refs[0])))):
        notes.add("--sets is not read: the files say themselves which clips belong together", name_id(grouping.name))
    if inline:
        truth, answers = identity.read_inline(predictions, notes)
    else:
        truth = identity.read_sets(refs[0], notes, request.options.refs_format, grouping)
        answers = identity.read_sets(predictions, notes, request.options.format, grouping)
    truth = request.limit(truth, notes)
    unknown = sum(id not in truth for id in answers)
    return Gathered(
        join_sets(truth, answers, request.options.people, predictions, notes), unknown, predictions, predictions
    )


def clip_by_clip(
    files: tuple[Path | Document, Path | Document, Path | Document], request: Request, notes: Notes
) -> Gathered:
    """LSMDC's three files: predictions, references, sets; a set is called as its first clip."""
    predictions, refs, grouping = files
    truth, sets = fillin.read_references(refs, notes), fillin.read_grouping(grouping, notes)
    sets = [*request.limit({clips[0]: clips for clips in sets}, notes).values()]
    given = fillin.read_predictions(predictions, notes)
    found = fillin.join_labels(truth, given, sets, (refs, predictions, grouping), notes)
    known = sum(clip.given is not None for s in found for clip in s.clips)
    return Gathered(found, len(given) - known, predictions, grouping)


def join_sets(truth: Sets, given: Sets, people: str | None, file: object, notes: Notes) -> list[ClipSet]:
    """Both sides met by the names of their sets."""
    if not truth:
        raise InputError("the references have no captionset", hint="check the reference file")
    if given and not any(id in truth for id in given):
        both = f"predictions have {next(iter(given))!r}, references {next(iter(truth))!r}"
        raise InputError("no predicted captionset is among the references", file=file, hint=f"compare the ids: {both}")
    for id in given:
        if id not in truth:
            notes.add("{n} predicted captionsets are not in the references and are not scored", name_id(id))
    for id in truth:
        if id not in given:
            notes.add("{n} captionsets have no prediction (see missing=… in each signature)", name_id(id))
    written = pattern(people)
    truth, given = ({id: rewrite(t, written) for id, t in side.items()} for side in (truth, given))
    filled = fills(truth, given)
    own = [] if filled else fill_themselves(truth, given)
    for id in own:
        notes.add(
            "{n} predicted captionsets fill blanks of their own words, not of the references': no FITB", name_id(id)
        )
    blanks = filled or (not own and any(t.blanks is not None for t in given.values()))
    return [make_set(id, ref, given.get(id), blanks, filled) for id, ref in truth.items()]


def rewrite(told: SetText, people: re.Pattern[str]) -> SetText:
    return told if told.captions is None else replace(told, captions=tuple(respell_ids(told.captions, people)))


def fills(truth: Sets, given: Sets) -> bool:
    """True where predictions are the references' own words with people filled in: their ids are the answer to FITB."""
    both = [(truth[id].captions, t.captions) for id, t in given.items() if id in truth]
    return bool(both) and all(a and b and list(map(hide_ids, a)) == list(map(hide_ids, b)) for a, b in both)


def fill_themselves(truth: Sets, given: Sets) -> list[str]:
    """The sets whose blanks are the ids in captions of their own words, if that is so in the whole file.

    A file may also have captions of its own and, apart from them, what belongs into the references' blanks; and one
    that has as many ids as blanks in every clip fills the references', however it spells their words.
    """
    both = {id: t for id, t in given.items() if id in truth and t.captions and t.blanks is not None}
    if any(sum(t.blanks or (), ()) != sum(ids_in(replace(t, blanks=None), True) or (), ()) for t in both.values()):
        return []
    if all(count_ids(t) == count_ids(truth[id]) for id, t in both.items()):
        return []
    words = {id: list(map(hide_ids, t.captions or ())) for id, t in both.items()}
    return [id for id, w in words.items() if truth[id].captions and w != list(map(hide_ids, truth[id].captions or ()))]


def count_ids(told: SetText) -> list[int]:
    return list(map(len, ids_in(told, True) or ()))


def make_set(id: str, ref: SetText, pred: SetText | None, blanks: bool, filled: bool) -> ClipSet:
    text = None if ref.captions is None else as_text(ref.captions)
    said = None if pred is None or pred.captions is None else as_text(pred.captions)
    clips: tuple[Clip, ...] = ()
    if blanks:
        truth = ids_in(ref, True) or ()
        given = None if pred is None else ids_in(pred, filled)
        if given is not None and len(given) != len(truth):  # not clip by clip: one for all
            truth, given = (sum(truth, ()),), (sum(given, ()),)
        several = [None] * len(truth) if given is None else list(given)
        clips = tuple(Clip(f"{id} {k}", t, g) for k, (t, g) in enumerate(zip(truth, several, strict=True), 1))
    return ClipSet(clips, name=id, candidate=said, reference=text, captions=pair_captions(ref, pred))


def pair_captions(ref: SetText, pred: SetText | None) -> tuple[ClipCaptions, ...]:
    """The captions of each clip; where only blanks are filled in, the reference's words with the people given."""
    truth, given = ref.captions or (), pred.captions if pred is not None else None
    if given is None and pred is not None and pred.blanks is not None:
        given = fill_captions(truth, pred.blanks)
    n = max(len(truth), len(given or ()))
    names = next((c for c in (ref.clips, None if pred is None else pred.clips) if c and len(c) == n), None)
    sides = ((*side, *[None] * (n - len(side))) for side in (truth, given or ()))
    both = zip(names or [f"clip {k + 1}" for k in range(n)], *sides, strict=True)
    return tuple(ClipCaptions(*one) for one in both)


def fill_captions(captions: Sequence[str], blanks: Sequence[Sequence[str]]) -> tuple[str, ...] | None:
    """Captions with other people in their ids' places, where there are as many."""
    people = [label(id) for clip in blanks for id in clip]
    if len(people) != sum(len(ids(caption)) for caption in captions):
        return None
    who = iter(people)
    return tuple(ID.sub(lambda _: next(who), caption) for caption in captions)


def ids_in(told: SetText, captions: bool) -> tuple[tuple[str, ...], ...] | None:
    """The ids of a side, clip by clip: those it fills in, or those its captions name."""
    if told.blanks is not None or not captions or told.captions is None:
        return told.blanks
    return tuple(tuple(ids(caption)) for caption in told.captions)
