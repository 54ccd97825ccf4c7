"""A result as one HTML file: scores with their signatures, warnings, and every video to search, sort and look into.

Nothing is loaded from outside. The summary is plain HTML and needs no script; the videos are embedded as packed data
(report/_data.py) that report.js unpacks and draws on demand. Only that script and that style may run: the page's
Content-Security-Policy names their hashes. Every string of a user is escaped here, and is a text node there.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from html import escape
from importlib.resources import files

from fabula.core.errors import SpecError
from fabula.core.nouns import Corpus
from fabula.core.result import Result, Score
from fabula.report import _data
from fabula.report._data import file_name

ROWS = {"stories": ("Videos", "video"), "items": ("Items", "item")}


def page(
    result: Result,
    refs: Sequence[Corpus],
    pred: Corpus | None,
    title: str,
    *,
    other: Result | None = None,
    names: Sequence[str] = (),
) -> str:
    """The whole document. `refs` and `pred` are the corpora that the result was made from; for captions there are none.

    With `other`, a second system's result under the same references, videos are compared one by one. `names` are what
    the systems are called, where their files' names would not do.
    """
    results = [result] if other is None else [result, other]
    preds = [p for p in (pred, other.predictions if other else None) if p is not None]
    fallback = [f"predictions {k}" if other else "predictions" for k in (1, 2)][: len(results)]
    guessed = [file_name(preds[k] if k < len(preds) else None, name) for k, name in enumerate(fallback)]
    systems = _data.distinct(list(names or guessed))
    if other is not None:
        comparable(result, other)
    data = None
    if result.items:
        data = _data.items(results, systems)
    elif refs and len(preds) == len(results):
        data = _data.stories(results, systems, refs, preds)
    style, script = asset("report.css"), "".join(map(asset, ("graph.js", "video.js", "report.js")))
    policy = f"default-src 'none'; style-src '{digest(style)}'; script-src '{digest(script)}'; base-uri 'none'"
    against = ", ".join(file_name(ref, "references") for ref in refs)
    lead = " and ".join(f"<b>{safe(name)}</b>" for name in systems) + (
        f" against <b>{safe(against)}</b>" if against else ""
    )
    jump = f' <a href="#rows">{ROWS[str(data["kind"])][0]}</a>' if data else ""
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{safe(title)}</title>
<style>{style}</style>
</head>
<body>
<header>
<h1>{safe(title)}</h1>
<p class="lead">{lead}</p>
<p class="meta">task {safe(result.task)} · protocol {safe(result.protocol)} · fabula {safe(result.fabula)}</p>
<nav aria-label="Parts of this page"><a href="#scores">Scores</a> <a href="#counts">Counts and warnings</a>{jump}</nav>
</header>
<main>
<section aria-labelledby="scores">
<h2 id="scores">Scores</h2>
{score_table(results, systems)}
</section>
<section aria-labelledby="counts">
<h2 id="counts">Counts and warnings</h2>
{"".join(noticed(r, name if other else "") for r, name in zip(results, systems, strict=True))}
</section>
{explorer(data, script)}
</main>
</body>
</html>
"""


def explorer(data: dict[str, object] | None, script: str) -> str:
    """Where the script draws, and what it draws from."""
    if data is None:
        return '<p class="meta">This result was saved without its videos: the scores are all there is to show.</p>'
    what, one = ROWS[str(data["kind"])]
    return f"""<section aria-labelledby="rows">
<h2 id="rows">{what}</h2>
<noscript><p class="fault">The table and the drawings of each {one} need JavaScript, which is switched off here. The
scores, counts and warnings above are complete without it.</p></noscript>
<div id="app"></div>
</section>
<script type="application/octet-stream" id="data">{_data.packed(data)}</script>
<script>{script}</script>"""


def asset(name: str) -> str:
    return files("fabula.report").joinpath(name).read_text("utf-8")


def digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")


def safe(text: str) -> str:
    """A user's string as HTML text: tags stay words, lone surrogates become question marks."""
    return escape(text.encode("utf-8", "replace").decode("utf-8"))


def comparable(a: Result, b: Result) -> None:
    """Two results can stand side by side when they measured the same thing in the same way."""
    if (a.task, a.protocol, list(a.scores)) != (b.task, b.protocol, list(b.scores)):
        seen = " and ".join(f"{r.task}, {r.protocol}: {', '.join(r.scores)}" for r in (a, b))
        raise SpecError(f"the two results do not hold the same metrics ({seen}); score both with the same options")


def number(value: float | None, score: Score, sign: str = "") -> str:
    return "–" if value is None else f"{value * score.scale:{sign}.2f}"


def breakable(signature: str) -> str:
    """A signature that a narrow page breaks between choices, not within them."""
    return safe(signature).replace("|", "|<wbr>").replace(",", ",<wbr>")


def interval(score: Score) -> str:
    """The interval of the primary number, in small print under it."""
    if not score.ci or score.primary not in score.ci:
        return ""
    low, high = score.ci[score.primary]
    return f"<small>{number(low, score)} to {number(high, score)}</small>"


def score_table(results: Sequence[Result], systems: Sequence[str]) -> str:
    """One line a metric: each system's primary number with its interval, the first's others, and the signature."""
    first, *rest = results
    others = [] if rest else list(dict.fromkeys(f for s in first.scores.values() for f in s.values if f != s.primary))
    heads = [*systems, "Difference"] if rest else ["Score", *(f.capitalize() for f in others)]
    lines = []
    for name, s in first.scores.items():
        cells = [f"<td><b>{number(r[name].value, s)}</b>{interval(r[name])}</td>" for r in results]
        cells += [f"<td>{number(r[name].value - s.value, s, '+')}</td>" for r in rest]
        cells += [f"<td>{number(s.values.get(f) if f != s.primary else None, s)}</td>" for f in others]
        what = "" if s.primary == "value" else f" <small>{safe(s.primary)}</small>"
        signatures = dict.fromkeys(r[name].signature for r in results)
        codes = "".join(f"<code>{breakable(signature)}</code>" for signature in signatures)
        lines.append(f'<tr><th scope="row">{safe(name)}{what}{codes}</th>{"".join(cells)}</tr>')
    columns = "".join(f'<th scope="col">{safe(head)}</th>' for head in heads)
    caption = "Fractions are printed × 100. The line under a name says how its number was made."
    return (
        f'<div class="wide"><table class="scores"><caption>{caption}</caption><thead><tr><th scope="col">Metric</th>'
        f"{columns}</tr></thead><tbody>{''.join(lines)}</tbody></table></div>"
    )


def noticed(result: Result, name: str) -> str:
    """Counts and warnings of one system; its name where there are two."""
    head = f"<h3>{safe(name)}</h3>" if name else ""
    counts = "".join(f"<div><dt>{safe(k)}</dt><dd>{n:,}</dd></div>" for k, n in result.counts.items())
    return f'{head}<dl class="counts">{counts}</dl>{warnings(result.warnings)}'


def warnings(lines: Sequence[str]) -> str:
    if not lines:
        return '<p class="meta">No warnings.</p>'
    return f'<ul class="warnings">{"".join(f"<li>{safe(line)}</li>" for line in lines)}</ul>'
