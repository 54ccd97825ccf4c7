"""A result as one HTML file: scores, every video to search, sort and look into, warnings, signatures folded away.

Nothing is loaded from outside. The summary is plain HTML and needs no script; the videos are embedded as packed data
(report/_data.py) that report.js unpacks and draws on demand. Only that script and that style may run: the page's
Content-Security-Policy names their hashes. Every string of a user is escaped here, and is a text node there.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files

from fabula.core.errors import SpecError
from fabula.data.result import Result, Score
from fabula.evaluate.kept import Answers, Described, Filled
from fabula.report import _data
from fabula.report._data import name_corpus, tell_apart
from fabula.report._images import list_images
from fabula.report._queries import list_queries

COLUMNS = 6  # of further numbers in the table of scores

SCRIPTS = {  # what draws a kind of row
    "stories": ("elements.js", "base.js", "player.js", "graph.js", "stories.js", "report.js"),
    "items": ("elements.js", "base.js", "graph.js", "items.js", "report.js"),
    "queries": ("elements.js", "base.js", "player.js", "queries.js", "report.js"),
    "images": ("elements.js", "base.js", "player.js", "images.js", "report.js"),
}
ROWS = {
    "stories": ("Videos", "video"),
    "items": ("Items", "item"),
    "queries": ("Queries", "query"),
    "images": ("Images", "image"),
}


def page(
    result: Result,
    title: str,
    *,
    other: Result | None = None,
    names: Sequence[str] = (),
    media: Mapping[str, str] | None = None,
    notes: Sequence[str] = (),
) -> str:
    """The whole document, from a result that still has what it compared; without, its scores alone.

    With `other`, a second system's result under the same references, videos are compared one by one. `names` are what
    the systems are called, where their files' names would not do. `media` are addresses of films or images by the ids
    of rows, relative to where the page will lie; `notes` are lines of its own above the rows.
    """
    results = [result] if other is None else [result, other]
    fallback = ["predictions 1", "predictions 2"] if other else ["predictions"]
    own = [name_corpus(r.predictions, name) for r, name in zip(results, fallback, strict=True)]
    systems = tell_apart(list(names or own))
    if other is not None:
        check_comparable(result, other)
    data = list_rows(results, systems)
    if data is not None and media:
        data["media"] = dict(media)
    style = read_asset("report.css")
    script = "".join(map(read_asset, SCRIPTS[str(data["kind"])])) if data else ""
    ours = f"style-src '{hash_source(style)}'; script-src '{hash_source(script)}'"
    if media:
        ours += "; media-src 'self' file:; img-src 'self' file:"
    against = ", ".join(name_corpus(ref, "references") for ref in result.refs)
    lead = " and ".join(f"<b>{escape_text(name)}</b>" for name in systems) + (
        f" against <b>{escape_text(against)}</b>" if against else ""
    )
    jump = f' <a href="#rows">{ROWS[str(data["kind"])][0]}</a>' if data else ""
    several = sum(len(r.warnings) for r in results)
    warned = f"{several} warning{'s' * (several != 1)}" if several else "no warnings"
    facts = f"task {result.task} · protocol {result.protocol} · fabula {result.fabula} · {warned}"
    return f"""{draw_head(title, style, ours)}<body>
<header>
<h1>{escape_text(title)}</h1>
<p class="lead">{lead}</p>
<p class="meta">{escape_text(facts)}</p>
<nav aria-label="Parts of this page"><a href="#scores">Scores</a>{jump} <a href="#counts">Counts and warnings</a>
<a href="#signatures">Signatures</a></nav>
</header>
<main>
<section aria-labelledby="scores">
<h2 id="scores">Scores</h2>
{draw_scores(results, systems)}
</section>
{draw_explorer(data, notes)}
<section aria-labelledby="counts">
<h2 id="counts">Counts and warnings</h2>
{"".join(draw_counts(r, name if other else "") for r, name in zip(results, systems, strict=True))}
</section>
<section aria-labelledby="signatures">
<h2 id="signatures">Signatures</h2>
{draw_signatures(results)}
</section>
</main>
{draw_script(data, script)}</body>
</html>
"""


def list_rows(results: Sequence[Result], systems: Sequence[str]) -> dict[str, object] | None:
    """What the script draws, by what the results have kept."""
    first = results[0]
    if isinstance(first.kept, Answers):
        return list_queries(results, systems)
    if isinstance(first.kept, Described):
        return list_images(results, systems)
    if first.items or isinstance(first.kept, Filled):
        return _data.list_items(results, systems)
    if all(r.refs and r.predictions is not None for r in results):
        return _data.list_stories(results, systems)
    return None


def draw_explorer(data: dict[str, object] | None, notes: Sequence[str]) -> str:
    """Where the script draws."""
    if data is None:
        return '<p class="meta">This result was saved without its videos: the scores are all there is to show.</p>'
    what, one = ROWS[str(data["kind"])]
    lines = "".join(f'<p class="meta">{escape_text(line)}</p>' for line in notes)
    return f"""<section aria-labelledby="rows">
<h2 id="rows">{what}</h2>
<noscript><p class="fault">The table and the drawings of each {one} need JavaScript, which is switched off here. The
scores, counts and warnings are complete without it.</p></noscript>
{lines}<div id="app"></div>
</section>"""


def draw_script(data: dict[str, object] | None, script: str) -> str:
    """The script, and what it draws from."""
    if data is None:
        return ""
    packed = _data.pack_data(data)
    return f"""<script type="application/octet-stream" id="data">{packed}</script>
<script>{script}</script>
"""


def read_asset(name: str) -> str:
    return files("fabula.report").joinpath(name).read_text("utf-8")


def draw_head(title: str, style: str, allowed: str) -> str:
    """A document up to its body: its name, its style, and a policy: only what is `allowed` runs or is loaded."""
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; {allowed}; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{escape_text(title)}</title>
<style>{style}</style>
</head>
"""


def hash_source(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")


def escape_text(text: str) -> str:
    """A user's string as HTML text: tags stay words, lone surrogates become question marks."""
    return escape(text.encode("utf-8", "replace").decode("utf-8"))


def check_comparable(a: Result, b: Result) -> None:
    """Two results can stand side by side when they measured the same thing in the same way."""
    if (a.task, a.protocol, list(a.scores)) != (b.task, b.protocol, list(b.scores)):
        both = " and ".join(f"{r.task}, {r.protocol}: {', '.join(r.scores)}" for r in (a, b))
        raise SpecError(f"the two results do not hold the same metrics ({both}); score both with the same options")
    if [ref.stories for ref in a.refs] != [ref.stories for ref in b.refs] or list_kept(a) != list_kept(b):
        raise SpecError("the two results do not have the same references; score both against the same files")


def list_kept(result: Result) -> list[object]:
    """The queries, images or sets that a result compared with."""
    compared = result.kept
    if isinstance(compared, Answers):
        return list(compared.queries.values())
    if isinstance(compared, Described):
        return list(compared.refs)
    return [] if compared is None else list(compared.sets)


def show_number(value: float | None, score: Score, sign: str = "") -> str:
    return "–" if value is None else f"{value * score.scale:{sign}.2f}"


def show_signature(signature: str) -> str:
    """A signature that a narrow page breaks between choices, not within them."""
    return escape_text(signature).replace("|", "|<wbr>").replace(",", ",<wbr>")


def show_interval(score: Score) -> str:
    """The interval of the primary number, in small print under it."""
    if not score.ci or score.primary not in score.ci:
        return ""
    low, high = score.ci[score.primary]
    return f"<small>{show_number(low, score)} to {show_number(high, score)}</small>"


def draw_scores(results: Sequence[Result], systems: Sequence[str]) -> str:
    """One line a metric: each system's primary number with its interval, and the first's others."""
    first, *rest = results
    others = [] if rest else list(dict.fromkeys(f for s in first.scores.values() for f in s.values if f != s.primary))
    heads = [*systems, "Difference"] if rest else ["Score"]
    several = len(others) > COLUMNS  # too many for columns: in words, line by line
    heads += [] if several else [f.capitalize() for f in others]
    lines = []
    for name, s in first.scores.items():
        cells = [f"<td><b>{show_number(r[name].value, s)}</b>{show_interval(r[name])}</td>" for r in results]
        cells += [f"<td>{show_number(r[name].value - s.value, s, '+')}</td>" for r in rest]
        if several:
            numbers = (f"{escape_text(f)} {show_number(v, s)}" for f, v in s.values.items() if f != s.primary)
            cells.append(f'<td class="others">{" · ".join(numbers)}</td>')
        else:
            cells += [f"<td>{show_number(s.values.get(f) if f != s.primary else None, s)}</td>" for f in others]
        what = "" if s.primary == "value" else f" <small>{escape_text(s.primary)}</small>"
        lines.append(f'<tr><th scope="row">{escape_text(name)}{what}</th>{"".join(cells)}</tr>')
    columns = "".join(f'<th scope="col">{escape_text(head)}</th>' for head in heads)
    columns += '<th scope="col" class="others">Other numbers</th>' if several else ""
    caption = 'Fractions are printed × 100. How each number was made: <a href="#signatures">signatures</a>.'
    return (
        '<div class="wide" tabindex="0" role="region" aria-label="Scores"><table class="scores">'
        f'<caption>{caption}</caption><thead><tr><th scope="col">Metric</th>{columns}</tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table></div>"
    )


def draw_signatures(results: Sequence[Result]) -> str:
    """Folded away: every choice that made each number."""
    lines = []
    for name in results[0].scores:
        codes = dict.fromkeys(r[name].signature for r in results)
        codes_html = "".join(f"<dd><code>{show_signature(signature)}</code></dd>" for signature in codes)
        lines.append(f"<dt>{escape_text(name)}</dt>{codes_html}")
    many = f"{len(lines)} signature{'s' * (len(lines) != 1)}: every choice that made each number"
    return f'<details class="signatures"><summary>{many}</summary><dl>{"".join(lines)}</dl></details>'


def draw_counts(result: Result, name: str) -> str:
    """Counts and warnings of one system; its name where there are two."""
    head = f"<h3>{escape_text(name)}</h3>" if name else ""
    counts = "".join(f"<div><dt>{escape_text(k)}</dt><dd>{n:,}</dd></div>" for k, n in result.counts.items())
    return f'{head}<dl class="counts">{counts}</dl>{draw_warnings(result.warnings)}'


def draw_warnings(lines: Sequence[str]) -> str:
    if not lines:
        return '<p class="meta">No warnings.</p>'
    return f'<ul class="warnings">{"".join(f"<li>{escape_text(line)}</li>" for line in lines)}</ul>'
