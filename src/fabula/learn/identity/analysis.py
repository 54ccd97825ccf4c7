"""MICap's figures of a trained run (Raajesh et al., CVPR 2024, supplement): Fig. 4 and 5 attention, Fig. 6 clusters.

Fig. 6 uses the trained weights: eps changes the clusters of faces at prediction; nothing is trained again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fabula.core.errors import InputError
from fabula.core.notes import Notes, Progress, silent
from fabula.learn.identity.attention import FaceShares, Shares, share_faces, share_streams
from fabula.learn.identity.grounding import measure_grounding, open_who
from fabula.learn.identity.shown import show_sets
from fabula.learn.identity.windows import answer_sets
from fabula.learn.identity.wordpiece import WHO
from fabula.report.analysis import Analysis
from fabula.report.captionsets import captionset_page
from fabula.report.drawing.panels import Boxes, Curves, Figure, Grid, Panel
from fabula.text.identity import ID, renumber_ids

if TYPE_CHECKING:
    from fabula.learn.identity.clips import Videosets
    from fabula.learn.models.micap import Model
    from fabula.learn.tasks.micap import AnalyseOptions

FACES = (
    "Rows are blanks with their clip, who was filled in and who is right, both numbered by first appearance; attention "
    "of the last decoder layer to faces, scaled to 1 a row: to every face, to each person's faces of a clip, to each "
    "person. In the captions [n] follows who is right for blank n."
)
SETS = "sets.html"
GRID = np.linspace(0, 1, 101)  # where densities are computed


def density(x: Shares) -> Shares:
    """Of shares x [n], on GRID: Gaussians of Silverman's width, mirrored at 0 and 1, so that it integrates to 1 there.

    h = .9 min(σ, IQR / 1.34) n^(−1/5), at least .01
    """
    spread = min(s for s in (x.std(), np.subtract(*np.percentile(x, [75, 25])) / 1.34) if s > 0) if np.ptp(x) else 0.0
    h = max(0.9 * spread * len(x) ** -0.2, 0.01)
    every = np.concatenate([x, -x, 2 - x])
    values: Shares = np.exp(-0.5 * ((GRID[:, None] - every) / h) ** 2).sum(1) / (len(x) * h * np.sqrt(2 * np.pi))
    return values


def draw_streams(
    model: Model, data: Videosets, units: Sequence[int], batch_size: int
) -> tuple[Figure, dict[str, object]]:
    """Fig. 4: where tokens of people look, and other tokens; over videosets."""
    shares = share_streams(model, data, units, batch_size)
    panels: list[Panel] = []
    numbers: dict[str, object] = {}
    for name, rows in (("person tokens", shares.people), ("caption tokens", shares.others)):
        lines = {
            stream: tuple(zip(GRID.tolist(), density(rows[:, k]).tolist(), strict=True))
            for k, stream in enumerate(shares.streams)
            if len(rows)
        }
        panels.append(Curves(f"{name}, {len(rows):,} videosets", "share of attention", "density", lines))
        numbers[name] = {
            stream: {"mean": float(rows[:, k].mean()), "shares": rows[:, k].round(6).tolist()}
            for k, stream in enumerate(shares.streams)
            if len(rows)
        }
    words = (
        "Attention of the last decoder layer to the memory, mean over heads, while captions are told: summed by stream "
        "over a captionset's tokens of people and over its other tokens. Densities over videosets."
    )
    for name, rows in (("tokens of people", shares.people), ("other tokens", shares.others)):
        if not len(rows):
            words += f" No caption of the model has {name}, so there is nothing to draw of them."
    return Figure("fig4", "Fig. 4: where tokens look", words, tuple(panels)), numbers


def draw_faces(
    model: Model, data: Videosets, every: Mapping[int, FaceShares]
) -> tuple[list[Figure], dict[str, object]]:
    """Fig. 5, of some videosets: blanks × faces, × clusters per clip, × clusters."""
    figures: list[Figure] = []
    numbers: dict[str, object] = {}
    for k, (unit, shares) in enumerate(every.items()):
        name = data.windows[unit][0]
        if not shares.faces.size:
            continue
        filled = [int(t) - model.config.blank for t in shares.ids]
        blanks = Blanks.of(data.captions(name), filled)
        panels = grids_of(shares, blanks.rows())
        title = f"Fig. 5: faces looked at, {name}"
        figures.append(Figure(f"fig5-{k + 1}", title, FACES, panels, blanks.lines(data.clips(name))))
        numbers[name] = {
            "filled": filled,
            "truth": list(blanks.truth),
            "clip_of_blank": list(blanks.clip),
            "captions": list(data.captions(name)),
            "faces": shares.faces.round(6).tolist(),
            "cluster": shares.cluster.tolist(),
            "clip": shares.clip.tolist(),
        }
    return figures, numbers


@dataclass(frozen=True)
class Blanks:
    """The blanks of a captionset in order: in which clip, who is right, who was filled in; people by first mention."""

    captions: tuple[str, ...]  # with people numbered by first mention
    clip: tuple[int, ...]
    truth: tuple[str, ...]  # "" where the captions do not say
    filled: tuple[str, ...]

    @classmethod
    def of(cls, captions: Sequence[str], filled: Sequence[int]) -> Blanks:
        renamed = renumber_ids(captions)
        found = [(k, match) for k, text in enumerate(renamed) for match in WHO.finditer(text)]
        people = renumber_ids([f"P{number}" for number in filled])
        truth = tuple(match[0] if ID.fullmatch(match[0]) else "" for _, match in found)
        return cls(tuple(renamed), tuple(k for k, _ in found), truth, tuple(people))

    def rows(self) -> tuple[str, ...]:
        """The name of each row of a grid."""
        both = zip(self.clip, self.filled, self.truth, strict=True)
        return tuple(
            f"blank {k + 1}, clip {clip + 1}: {who}" + (f" (truth {right})" if right else "")
            for k, (clip, who, right) in enumerate(both)
        )

    def lines(self, clips: Sequence[str]) -> tuple[str, ...]:
        """The captions clip by clip, with the number of the blank after each person."""
        number = iter(range(1, len(self.clip) + 1))
        return tuple(
            f"clip {k + 1}, {clips[k]}: {WHO.sub(lambda match: f'{match[0]}[{next(number)}]', text)}"
            for k, text in enumerate(self.captions)
        )


def grids_of(shares: FaceShares, rows: tuple[str, ...]) -> tuple[Panel, ...]:
    clips = [int(c) for c in shares.clip]
    groups = tuple((f"clip {c + 1}", clips.count(c)) for c in sorted(set(clips)))
    pairs, by_pair = shares.by_cluster_and_clip()
    faces = tuple(f"{c}" for c in shares.cluster.tolist())
    of_clips = sorted(range(len(pairs)), key=lambda k: (pairs[k][1], pairs[k][0]))  # clip by clip, as the faces
    in_clip = [pairs[k][1] for k in of_clips]
    return (
        Grid("faces (number: cluster)", rows, faces, cells(shares.faces), groups),
        Grid("clusters per clip", rows, tuple(str(pairs[k][0]) for k in of_clips), cells(by_pair[:, of_clips]),
             tuple((f"clip {c + 1}", in_clip.count(c)) for c in sorted(set(in_clip)))),
        Grid("clusters", rows, tuple(str(k) for k in range(shares.by_cluster().shape[1])), cells(shares.by_cluster())),
    )  # fmt: skip


def cells(x: Shares) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(row) for row in x.tolist())


def draw_eps(
    model: Model, data: Videosets, units: Sequence[int], eps: Sequence[float], batch_size: int, watch: Progress = silent
) -> tuple[Figure, dict[str, object]]:
    """Fig. 6: class accuracy and number of clusters against the distance within which faces are one person's."""
    from fabula.learn.tasks.micap import SetAnswer, score_blanks

    truth = {data.windows[i][0]: data.sets[data.windows[i][0]] for i in units}
    scores, boxes, numbers = list[tuple[float, float]](), {}, dict[str, object]()
    for k, e in enumerate(eps):
        watch("clustering", k, len(eps))
        data.relink = e
        filled = [SetAnswer(*one) for one in answer_sets(model, data, units, batch_size)]
        score = score_blanks(filled, truth)
        count = [len({p for clip in data[i].clips for p in clip.person.tolist()}) for i in units]
        five = tuple(float(q) for q in np.percentile(count, [0, 25, 50, 75, 100]))
        scores.append((e, 100 * score["class"]))
        boxes[e] = five
        numbers[f"{e:g}"] = {**score, "clusters": count}
    data.relink = None
    panels = (
        Curves("class accuracy", "eps (cosine distance)", "class accuracy, %", {"class": tuple(scores)}, marked=True),
        Boxes("clusters of a videoset", "eps (cosine distance)", "clusters", boxes),  # type: ignore[arg-type]
    )
    words = (
        "Blanks filled with faces clustered at each eps, the weights as they are; number of clusters of a videoset: "
        "least, quartiles, most."
    )
    return Figure("fig6", "Fig. 6: how near faces must be", words, panels), numbers


def analyse(model: Model, data: Videosets, options: AnalyseOptions, watch: Progress = silent) -> Analysis:
    """All figures that the model and the data have."""
    units = list(range(len(data)))
    notes: list[str] = []
    summary: tuple[str, ...] = ()
    figures: list[Figure] = []
    numbers: dict[str, object] = {"videosets": len(units)}
    short = [i for i in units if len(data.clips(data.windows[i][0])) <= data.config.clips]
    if not short:
        raise InputError(
            "every videoset is longer than the model's window",
            hint=f"attention is looked at in sets of at most {data.config.clips} clips",
        )
    if len(short) < len(units):
        notes.append(f"{len(units) - len(short)} videosets of more than {data.config.clips} clips are left out")
        units = short
    if "caption" in model.passes:
        watch("attention", 0, 3)
        figure, numbers["streams"] = draw_streams(model, data, units, options.batch_size)
        figures.append(figure)
    else:
        notes.append("the model tells no captions: no Fig. 4")
    chosen, shares = choose_sets(data, units, options.sets, options.most), dict[int, FaceShares]()
    if "fitb" in model.passes and "face" in model.inputs:
        watch("attention", 1, 3)
        shares = {unit: share_faces(model, data, unit) for unit in chosen}
        face_figures, numbers["faces"] = draw_faces(model, data, shares)
        figures += face_figures
        if options.who is not None:
            watch("grounding", 0, 1)
            who = open_who(options.who, options.truth, options.cast, data.streams)
            grounding = measure_grounding(model, data, units, who)
            numbers["grounding"], summary = grounding.to_dict(), (grounding.describe(),)
        figure, numbers["eps"] = draw_eps(model, data, units, options.eps, options.batch_size, watch)
        figures.append(figure)
    else:
        notes.append("the model fills in no blanks, or sees no faces: no Fig. 5 and 6")
        if options.who is not None:
            notes.append("no grounding: --who is for a model that fills in blanks and sees faces")
    pages: dict[str, tuple[str, str]] = {}
    if chosen:
        own = Notes()
        shown = show_sets(model, data, chosen, shares, options.films, own)
        pages[SETS] = "Captionsets with their clips", captionset_page(shown, "Captionsets of a run", own.lines())
        notes += own.lines()
    return Analysis("Where MICap looks", tuple(figures), numbers, tuple(notes), summary, pages)


def choose_sets(data: Videosets, units: Sequence[int], names: Sequence[str], most: int) -> list[int]:
    """The videosets of Fig. 5: those that are named, or those with the most blanks."""
    place = {data.windows[i][0]: i for i in units}
    unknown = [name for name in names if name not in place]
    if unknown:
        raise InputError("no such videoset in the data", video=unknown[0], noun="captionset", hint="check --sets")
    if names:
        return [place[name] for name in names]
    blanks = {n: sum(len(WHO.findall(c)) for c in data.captions(n)) for n in place}
    return [place[name] for name in sorted(place, key=lambda n: -blanks[n])[:most]]
