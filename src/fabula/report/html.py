"""A result as one HTML file: scores with their signatures, warnings, and the timeline of every video, worst first.

Nothing is loaded from outside, nothing runs in it, and every string of a user is escaped. Numbers come from the Result,
pairs from `match.ordered` on the IoU of `pair.tiou`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path

from fabula.core.notes import Notes
from fabula.core.nouns import Corpus, Event, Story
from fabula.core.result import Result, Score
from fabula.io.ids import reconcile
from fabula.match.ordered import ordered
from fabula.pair.tiou import tiou
from fabula.report._timeline import Strip, clock, safe, timeline, when

LIMIT = 200  # videos drawn
LEGEND = (
    ("reference", "reference event"),
    ("prediction", "predicted event"),
    ("prediction lone", "an event without a partner"),
    ("other", "a further reference set"),
)


def page(result: Result, refs: Sequence[Corpus], pred: Corpus, title: str, limit: int = LIMIT) -> str:
    """The whole document. `refs` and `pred` are the corpora that the result was made from."""
    sets = [refs[0], *(reconcile(ref, refs[0], Notes()) for ref in refs[1:])]
    pred = reconcile(pred, [v for ref in sets for v in ref], Notes())
    order, values = worst_first(result, sets)
    shown = order[:limit]
    first = next(iter(result.scores), "")
    told = f"Worst first by {safe(first)}" if values.get(first) else "In the order of the references"
    if len(shown) < len(order):
        told += f"; {len(shown):,} of {len(order):,} are shown"
    videos = "".join(video(v, n, sets, pred, chips(v, result, values)) for n, v in enumerate(shown, 1))
    against = ", ".join(file_name(ref, "references") for ref in sets)
    style = files("fabula.report").joinpath("report.css").read_text("utf-8")
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{safe(title)}</title>
<style>
{style}</style>
</head>
<body>
<header>
<h1>{safe(title)}</h1>
<p class="lead"><b>{safe(file_name(pred, "predictions"))}</b> against <b>{safe(against)}</b></p>
<p class="meta">task {safe(result.task)} · protocol {safe(result.protocol)} · fabula {safe(result.fabula)}</p>
</header>
<main>
<section aria-labelledby="scores">
<h2 id="scores">Scores</h2>
{score_table(list(result.scores.items()))}
</section>
<section aria-labelledby="counts">
<h2 id="counts">Counts and warnings</h2>
<dl class="counts">{"".join(f"<div><dt>{safe(k)}</dt><dd>{n:,}</dd></div>" for k, n in result.counts.items())}</dl>
{warnings(result.warnings)}
</section>
<section aria-labelledby="videos">
<h2 id="videos">Videos</h2>
<p class="meta">{told}. Lines join the ordered one-to-one pairs of the largest total IoU; the number is the IoU.</p>
<ul class="legend">{"".join(f'<li><i class="{kind}"></i>{words}</li>' for kind, words in LEGEND)}</ul>
{videos}
</section>
</main>
</body>
</html>
"""


def worst_first(result: Result, refs: Sequence[Corpus]) -> tuple[list[str], dict[str, Mapping[str | int, float]]]:
    """Videos by the first metric's number, then those it did not count; and every metric's number by video."""
    values: dict[str, Mapping[str | int, float]] = {
        name: result.rows[name].by_key(score.primary)
        for name, score in result.scores.items()
        if name in result.rows and score.primary in result.rows[name].columns
    }
    leading = values.get(next(iter(result.scores), ""), {})
    videos = list(dict.fromkeys(v for ref in refs for v in ref))
    return sorted(videos, key=lambda v: (v not in leading, leading.get(v, 0.0))), values


def file_name(corpus: Corpus, otherwise: str) -> str:
    return Path(corpus.name).stem or otherwise


def number(value: float | None, score: Score) -> str:
    return "–" if value is None else f"{value * score.scale:.2f}"


def breakable(signature: str) -> str:
    """A signature that a narrow page breaks between choices, not within them."""
    return safe(signature).replace("|", "|<wbr>").replace(",", ",<wbr>")


def score_table(scores: Sequence[tuple[str, Score]]) -> str:
    """One line a metric: its primary number, the others, and the signature under its name."""
    others = list(dict.fromkeys(f for _, s in scores for f in s.values if f != s.primary))
    interval = any(s.ci for _, s in scores)
    heads = ["Score", *(["Interval"] if interval else []), *(f.capitalize() for f in others)]
    lines = []
    for name, s in scores:
        low, high = s.ci[s.primary] if s.ci else (None, None)
        cells = [f"<td><b>{number(s.value, s)}</b></td>"]
        cells += [f"<td>{number(low, s)} to {number(high, s)}</td>" if s.ci else "<td>–</td>"] if interval else []
        cells += [f"<td>{number(s.values.get(f) if f != s.primary else None, s)}</td>" for f in others]
        what = "" if s.primary == "value" else f" <small>{safe(s.primary)}</small>"
        lines.append(
            f'<tr><th scope="row">{safe(name)}{what}<code>{breakable(s.signature)}</code></th>{"".join(cells)}</tr>'
        )
    columns = "".join(f'<th scope="col">{safe(head)}</th>' for head in heads)
    caption = "Fractions are printed × 100. The line under a name says how its number was made."
    return (
        f'<div class="wide"><table class="scores"><caption>{caption}</caption><thead><tr><th scope="col">Metric</th>'
        f"{columns}</tr></thead><tbody>{''.join(lines)}</tbody></table></div>"
    )


def warnings(lines: Sequence[str]) -> str:
    if not lines:
        return '<p class="meta">No warnings.</p>'
    return f'<ul class="warnings">{"".join(f"<li>{safe(line)}</li>" for line in lines)}</ul>'


def chips(video: str, result: Result, values: Mapping[str, Mapping[str | int, float]]) -> str:
    """The numbers of one video, as a line."""
    items = [
        f"<li>{safe(name)} <b>{number(by_video[video], result.scores[name])}</b></li>"
        for name, by_video in values.items()
        if video in by_video
    ]
    return f'<ul class="chips">{"".join(items) or "<li>not scored</li>"}</ul>'


def video(id: str, n: int, refs: Sequence[Corpus], pred: Corpus, numbers: str) -> str:
    """One video: its numbers, its timeline, what cannot be drawn, and the pairs as a table."""
    stories = [(file_name(ref, f"references {k}"), ref[id]) for k, ref in enumerate(refs, 1) if id in ref]
    told = pred.get(id, Story(id))
    (name, ref), *rest = [(name, sound(story)) for name, story in stories]
    guess = sound(told)
    iou = tiou(ref.spans, guess.spans)  # [G, P]
    pairs = ordered(iou)[1]
    strips = [
        Strip(name, "reference", ref.events, frozenset(i for i, _ in pairs)),
        Strip(file_name(pred, "predictions"), "prediction", guess.events, frozenset(j for _, j in pairs)),
        *(Strip(name, "other", story.events) for name, story in rest),
    ]
    ends = [e.segment.end for strip in strips for e in strip.events]
    extent = max([*ends, *(story.duration or 0.0 for _, story in stories)], default=0.0) or 1.0
    missing = "" if id in pred else '<p class="fault">This video has no prediction.</p>'
    drawing = timeline(strips, pairs, iou, extent, f"v{n}", f"Timeline of {safe(id)}")
    return f"""<article aria-labelledby="v{n}">
<h3 id="v{n}">{safe(id)} <small>{clock(extent)}</small></h3>
{numbers}
{missing}{drawing}
{malformed([*stories, (file_name(pred, "predictions"), told)])}
{pair_table(ref, guess, dict(pairs), {(i, j): f"{iou[i, j]:.2f}" for i, j in pairs})}
</article>
"""


def sound(story: Story) -> Story:
    """The events that are a stretch of time, in order."""
    return Story(story.id, tuple(e for e in story.events if e.segment.sound), story.duration).in_order()


def malformed(stories: Iterable[tuple[str, Story]]) -> str:
    items = [
        f"<li>{safe(name)}: [{e.segment.start:g}, {e.segment.end:g}] {safe(e.caption or '')}</li>"
        for name, story in stories
        for e in story.events
        if not e.segment.sound
    ]
    return f'<p class="fault">No stretch of time, matches nothing:</p><ul>{"".join(items)}</ul>' if items else ""


def pair_table(ref: Story, pred: Story, partner: Mapping[int, int], iou: Mapping[tuple[int, int], str]) -> str:
    """Every event of both sides once, in time: pairs on one line, the others alone."""
    lines: list[tuple[float, str]] = []
    for i, event in enumerate(ref.events):
        j = partner.get(i)
        right = "<td></td><td><i>no partner</i></td>" if j is None else f"<td>{iou[i, j]}</td>{cell(pred.events[j])}"
        lines.append((event.segment.start, f"<tr>{cell(event)}{right}</tr>"))
    for j in set(range(len(pred))) - set(partner.values()):
        event = pred.events[j]
        lines.append((event.segment.start, f"<tr><td><i>no partner</i></td><td></td>{cell(event)}</tr>"))
    heads = "".join(f'<th scope="col">{head}</th>' for head in ("Reference", "IoU", "Prediction"))
    body = "".join(line for _, line in sorted(lines, key=lambda pair: pair[0]))
    return (
        f'<details><summary>Events in words</summary><div class="wide"><table class="pairs"><thead><tr>{heads}</tr>'
        f"</thead><tbody>{body}</tbody></table></div></details>"
    )


def cell(event: Event) -> str:
    return f"<td><small>{when(event)}</small> {safe(event.caption or '')}</td>"
