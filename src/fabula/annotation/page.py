"""The statistics as a page: tables, and pictures drawn as SVG; one file, nothing from outside, every text escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from fabula.documents.fields import JsonDict
from fabula.report.drawing.charts import draw_histogram, draw_points

STYLE = """body{font:16px/1.5 system-ui,sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem}
body{color:#222;background:#fff}
table{border-collapse:collapse;margin:1rem 0}th,td{padding:.25rem .75rem;text-align:right;border-bottom:1px solid #ccc}
th:first-child,td:first-child{text-align:left}figure{display:inline-block;margin:1rem 1rem 1rem 0}
figcaption{color:#555;font-size:.9rem}svg{background:#fafafa;max-width:100%;height:auto}.words{columns:3 8rem}
.wide{overflow-x:auto}figure{max-width:100%}h1,h2,h3{overflow-wrap:anywhere}
@media (prefers-color-scheme:dark){body{background:#181818;color:#ddd}svg{background:#222}th,td{border-color:#444}
figcaption{color:#aaa}svg text{fill:#ccc}}"""


def text(value: object) -> str:
    """A user's string as HTML text."""
    return escape(str(value).encode("utf-8", "replace").decode("utf-8"))


def number(value: float | None, digits: int = 2) -> str:
    return "–" if value is None else f"{value:,.{digits}f}" if isinstance(value, float) else f"{value:,}"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    top = "".join(f"<th>{text(cell)}</th>" for cell in head)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return f'<div class="wide"><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'


def figure(drawn: str, title: str) -> str:
    return f"<figure>{drawn}<figcaption>{text(title)}</figcaption></figure>"


def make_page(told: JsonDict) -> str:
    """The page of what `fabula annotate stats` found."""
    parts = [f"<h1>{text(told['title'])}</h1>", *draw_tables(told)]
    for name, bins in told["histogram"].items():
        title = f"Confidence of the fine captions of {name}"
        parts.append(figure(draw_histogram(bins, title), title) if bins else "")
    if told.get("picture"):
        p = told["picture"]
        many = f"{p['points']:,} captions of {p['clusters']:,} coarse clusters"
        parts += [f"<h2>Clusters (t-SNE)</h2><p>{many}; the colour is the coarse cluster.</p>"]
        for title, points in (("coarse captions", p["coarse"]), ("fine captions", p["fine"])):
            parts.append(figure(draw_points(points, p["labels"], title), title) if points else "")
    if told.get("new words"):
        parts += draw_words(told["new words"])
    body = "\n".join(parts)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{text(told["title"])}</title>'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f'<meta name="viewport" content="width=device-width"><style>{STYLE}</style></head>'
        f"\n<body>{body}</body></html>\n"
    )


def draw_tables(told: JsonDict) -> list[str]:
    branches = sorted({b for d in told["files"].values() for b in d["branches"]})
    head = ["", "captions", "videos", "span / s", *(f"{b} {x}" for b in branches for x in ("captions", "c")), "c"]
    head += ["words coarse", "words fine", "end after the video", "tell a time"]
    rows = []
    for name, d in told["files"].items():
        of = [d["branches"].get(b, {"captions": 0, "confidence": None}) for b in branches]
        cells = [cell for b in of for cell in (number(b["captions"]), number(b["confidence"]))]
        words = [number(d["words"][side]) for side in ("coarse", "fine")]
        odd = [number(d["beyond the video"]), number(d["tells a time"])]
        first = [text(name), number(d["captions"]), number(d["videos"]), number(d["span"])]
        rows.append([*first, *cells, number(d["confidence"]), *words, *odd])
    parts = ["<h2>Captions</h2>", table(head, rows)]
    equal = [
        [
            text(name),
            *(number(d["exact"][side][key]) for side in ("coarse", "fine") for key in ("classes", "instances")),
        ]
        for name, d in told["files"].items()
    ]
    head = ["", "coarse classes", "coarse instances", "fine classes", "fine instances"]
    parts += ["<h2>Equal captions</h2>", table(head, equal)]
    if told.get("distinct"):
        near = [
            [text(name), *(number(d[side][key]) for side in ("coarse", "fine") for key in ("classes", "instances"))]
            for name, d in told["distinct"].items()
        ]
        eps = next(iter(told["distinct"].values()))["eps"]
        parts += [
            f"<h2>Almost equal captions ({text(told['embedder'])}, cosine distance up to {eps:g})</h2>",
            table(head, near),
        ]
    return parts


def draw_words(told: JsonDict) -> list[str]:
    parts = [f"<h2>What fine captions add</h2><p>Counted on {told['captions']:,} captions.</p>"]
    for kind in ("static", "dynamic"):
        listed = "".join(f"<li>{text(word)} {n}</li>" for word, n in told[kind]["most"])
        each = f"{told[kind]['per caption']:.2f} new words a caption"
        parts.append(f'<h3>{kind}: {each}</h3><ul class="words">{listed}</ul>')
    return parts
