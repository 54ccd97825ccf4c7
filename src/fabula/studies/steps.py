"""The steps of a study with people: new, serve, results, power, simulate, backup."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean

from fabula.core.errors import InputError, MissingExtra, SpecError, shown
from fabula.core.notes import Progress, announce, silent
from fabula.core.options import MUST, Options, option
from fabula.documents.rows import write_table
from fabula.studies import raters
from fabula.studies.design import Design, make_design
from fabula.studies.items import find_clips, read_gold, read_items
from fabula.studies.plan import Plan, read_plan
from fabula.studies.power import Reach, reach
from fabula.studies.results import Answers, RatingRow, Results, find_results
from fabula.studies.store import NewStudy, Store, check_new, make_study
from fabula.web.binding import Binding, open_socket, run
from fabula.web.media import check_folder, find_fault


@dataclass(frozen=True, kw_only=True)
class NewOptions(Options):
    out: Path = option(MUST, "Folder of the new study.", "-o")


@dataclass(frozen=True, kw_only=True)
class SimulateOptions(Options):
    """Simulated raters, and how many studies of them."""

    mix: str = option(
        "careful=1", "Kinds of raters and their shares: careful=8,hasty=1,random=1,left=2.", shows_default=True
    )
    effect: float = option(0.5, "Advantage of the target, in standard deviations.", shows_default=True)
    bias: float = option(0.4, "How often a biased rater (left) chooses the first description.", shows_default=True)
    studies: int = option(100, "Studies to simulate.", shows_default=True, at_least=1, at_most=100_000)
    seed: int = option(0, "Random seed.", shows_default=True)
    out: Path | None = option(None, "Also write one simulated study to this folder.", "-o")


@dataclass(frozen=True, kw_only=True)
class PowerOptions(Options):
    effect: float | None = option(None, "Print the power for this difference, in units of the primary measure.")


def load(path: str | Path) -> tuple[Plan, Design, Path]:
    """A plan's file with its items, clips and design."""
    path = Path(path)
    plan = read_plan(path)
    clips = path.parent / plan.clips
    if not clips.is_dir():
        raise InputError("no such folder", file=clips, field="clips", hint="say where the videos are: clips = FOLDER")
    items = find_clips(read_items(plan, path.parent), clips)
    if plan.sample > len(items):
        announce(f"{path}: sample = {plan.sample}, and there are {len(items)} items: all of them are taken")
    form = plan.make_form()
    try:
        design = make_design(plan, items)
        gold = find_clips(read_gold(plan, path.parent, design.systems, form), clips)
        for item in gold:
            if set(item.descriptions) != set(design.systems):
                raise SpecError(f"gold item {item.id} needs descriptions of {', '.join(design.systems)}")
        return plan, make_design(plan, items, gold) if gold else design, clips
    except SpecError as error:
        raise InputError(str(error), file=path) from None


def new(plan: str | Path, *, out: str | Path) -> tuple[NewStudy, Design]:
    """Make the folder of a study: its store, and a link for each rater."""
    read, design, clips = load(plan)
    return make_study(Path(out), read, design, clips), design


def serve(study: str | Path, binding: Binding | None = None, ready: Callable[[str, Store], None] | None = None) -> None:
    """Serve a study until Ctrl-C; `ready` is called with the address when it can be reached."""
    try:
        from fabula.studies.server import make_app
    except ImportError:
        raise MissingExtra("fabula study serve", "web") from None
    binding = binding or Binding()
    with Store(Path(study), work=True) as store:
        check_clips(store)
        app = make_app(store, binding)
        bound = open_socket(binding)
        host, port = bound.getsockname()[:2]
        if ready is not None:
            ready(binding.origin or f"http://{f'[{host}]' if ':' in host else host}:{port}", store)
        run(app, bound)


def check_clips(store: Store) -> None:
    """What `new` looked at, once more: a study may have been made, or changed, by somebody else."""
    hint = "put it back, or make the study anew"
    check_folder(store.clips, store.path, "make the study anew with a folder of its videos alone")
    for item in store.items:
        if fault := find_fault(store.clips / item.clip, store.clips):
            raise InputError(f"the clip {fault}", file=store.clips / item.clip, video=item.id, noun="item", hint=hint)


def results(study: str | Path, answers: Sequence[str | Path] = ()) -> Results:
    """What people said. `answers`: backups of the same study, taken elsewhere, whose rows are added."""
    with Store(Path(study)) as store:
        found = Answers.of(store)
        for path in answers:
            found = add_answers(found, Path(path))
    return find_results(found)


def add_answers(found: Answers, path: Path) -> Answers:
    """The answers of another copy of the same study; where both have a place, the later row counts."""
    with Store(path) as other:
        more = Answers.of(other)
    if more.id != found.id:
        problem = f"holds answers of another study ({more.id}, {shown(more.plan.title)}), not of {found.id}"
        raise InputError(problem, file=path, hint="name a copy of this study")
    places = {rater: {answer.slot.place: answer for answer in own} for rater, own in found.by_rater.items()}
    for rater, answers in more.by_rater.items():
        own = places.setdefault(rater, {})
        for answer in answers:
            if answer.slot.place not in own or answer.at > own[answer.slot.place].at:
                own[answer.slot.place] = answer
    merged = {rater: [own[p] for p in sorted(own)] for rater, own in sorted(places.items())}
    return replace(found, by_rater=merged, rows=max(found.rows, more.rows))


def backup(study: str | Path, target: str | Path) -> None:
    """A copy of a study as of now, while it is served."""
    with Store(Path(study)) as store:
        store.backup(Path(target))


def power(plan: str | Path) -> tuple[Reach, Design]:
    """What a plan can find."""
    read, design, _ = load(plan)
    return reach(read, design), design


def read_mix(text: str) -> dict[str, float]:
    found = {}
    for part in text.split(","):
        kind, _, share = part.partition("=")
        try:
            found[kind.strip()] = float(share or 1)
        except ValueError:
            raise SpecError(f"--mix {shown(text)}; it looks like careful=8,random=2") from None
    return found


def simulate(
    plan: str | Path, *, options: SimulateOptions | None = None, progress: Progress = silent
) -> dict[str, object]:
    """Many simulated studies of a plan: what it finds, whom its rule leaves out, whether places matter."""
    options = options or SimulateOptions()
    if options.out is not None:
        check_new(options.out)  # before the work, and once more after it
    read, design, clips = load(plan)
    mix = read_mix(options.mix)
    world = raters.World(options.effect, read.power.rater, read.power.item, options.bias)
    reached = reach(read, design)
    quick = replace(read, analysis=replace(read.analysis, resamples=1))  # the intervals of α are not looked at
    excluded: dict[str, list[int]] = {}
    values, firsts, hits, failed = [], [], 0, 0
    for k in range(options.studies):
        progress("studies", k, options.studies)
        answers, kinds = raters.simulate(quick, design, mix, world, options.seed + k)
        try:
            found = find_results(answers)
        except InputError:  # the rule leaves nobody in
            failed += 1
            continue
        for c in found.conduct:
            excluded.setdefault(kinds[c.rater], []).append(int(c.excluded))
        line = next(
            x for x in found.lines if x.measure == read.primary and x.system == design.systems[-1] and not x.kind
        )
        values.append(line.estimate.value)
        firsts += [s.estimate.value for s in found.sides if s.measure == read.primary]
        duels = [d for d in found.duels if d.measure == read.primary and d.b == design.systems[-1]]
        hits += any(d.p_holm is not None and d.p_holm < read.analysis.alpha for d in duels)
    progress("studies", options.studies, options.studies)
    if options.out is not None:
        write_simulated(options.out, read, design, clips, mix, world, options.seed)
    done = max(1, options.studies - failed)
    return {
        "simulated": True,
        "studies": options.studies,
        "without a rater left": failed,
        "raters": design.raters,
        "measure": read.primary,
        "system": design.systems[-1],
        "value": mean(values) if values else None,
        "first description ahead": mean(firsts) if firsts else None,
        "found": hits / done,
        "power": reached.power(options.effect * reached.sigma) if read.form != "rank" else None,
        "left out": {kind: {"raters": len(own), "share": mean(own)} for kind, own in sorted(excluded.items())},
    }


def write_simulated(
    out: Path, plan: Plan, design: Design, clips: Path, mix: Mapping[str, float], world: raters.World, seed: int
) -> None:
    """One simulated study on disk, marked as such for good."""
    answers, _ = raters.simulate(plan, design, mix, world, seed)
    rng = random.Random(seed)
    rows = [
        (g.slot.rater, g.slot.place, f"{rng.getrandbits(128):032x}", json.dumps(dict(g.answer)), g.seconds, g.at)
        for own in answers.by_rater.values()
        for g in own
    ]
    make_study(out, plan, design, clips, rows)


def write_ids(study: str | Path, found: Results, path: Path) -> int:
    """The ids that raters entered, with their codes and answers: for payment, apart from all results."""
    if path.suffix != ".csv":
        raise SpecError(f"{path}: ids are written as .csv")
    with Store(Path(study)) as store:
        rows = [
            {"rater": c.rater + 1, "id": store.rater_id(c.rater) or "", "code": store.code(c.rater),
             "answers": c.answers, "left_out": "; ".join(c.why)}
            for c in found.conduct
        ]  # fmt: skip
    write_table(rows, path, ("rater", "id", "code", "answers", "left_out"))
    return sum(bool(row["id"]) for row in rows)


COLUMNS = ("study", "rater", "item", "kind", "question", "measure", "system", "position", "value", "seconds", "at",
           "excluded", "simulated")  # fmt: skip


def write_ratings(table: Sequence[RatingRow], path: Path) -> None:
    """One line an answer and system: .csv, or .parquet through Arrow."""
    if path.suffix not in (".csv", ".parquet"):
        raise SpecError(f"{path}: answers are written as .csv or .parquet; choose one by the file's ending")
    write_table([row.to_dict() for row in table], path, COLUMNS)
