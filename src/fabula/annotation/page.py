"""The statistics as a page: tables, and pictures drawn as SVG; one file, nothing from outside, every text escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

WIDE, HIGH = 640, 220
STYLE = """body{font:16px/1.5 system-ui,sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem}
body{color:#222;background:#fff}
table{border-collapse:collapse;margin:1rem 0}th,td{padding:.25rem .75rem;text-align:right;border-bottom:1px solid #ccc}
th:first-child,td:first-child{text-align:left}figure{display:inline-block;margin:1rem 1rem 1rem 0}
figcaption{color:#555;font-size:.9rem}svg{background:#fafafa;max-width:100%;height:auto}.words{columns:3 8rem}
.wide{overflow-x:auto}figure{max-width:100%}h1,h2,h3{overflow-wrap:anywhere}
@media (prefers-color-scheme:dark){body{background:#181818;color:#ddd}svg{background:#222}th,td{border-color:#444}
figcaption{color:#aaa}svg text{fill:#ccc}}"""


def text(value: Any) -> str:
    """A user's string as HTML text."""
    return escape(str(value).encode("utf-8", "replace").decode("utf-8"))


def number(value: float | None, digits: int = 2) -> str:
    return "–" if value is None else f"{value:,.{digits}f}" if isinstance(value, float) else f"{value:,}"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    top = "".join(f"<th>{text(cell)}</th>" for cell in head)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return f'<div class="wide"><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'


def draw_histogram(bins: Sequence[tuple[float, int]], title: str) -> str:
    """Figure 4."""
    if not bins:
        return ""
    top, step = max(n for _, n in bins), WIDE / len(bins)
    width = bins[1][0] - bins[0][0] if len(bins) > 1 else 1.0
    bars = "".join(
        f'<rect x="{i * step:.1f}" y="{HIGH - HIGH * n / top:.1f}" width="{step * 0.9:.1f}"'
        f' height="{HIGH * n / top:.1f}" fill="#4477aa"><title>{left:g} to {left + width:g}: {n}</title></rect>'
        for i, (left, n) in enumerate(bins)
    )
    marks = "".join(
        f'<text x="{i * step:.1f}" y="{HIGH + 16}" font-size="11">{left:g}</text>'
        for i, (left, _) in enumerate(bins)
        if i % max(1, len(bins) // 10) == 0
    )
    return frame(WIDE, HIGH + 24, bars + marks, title)


def frame(width: int, height: int, drawn: str, title: str) -> str:
    label = text(title)
    svg = f'<svg viewBox="0 0 {width} {height}" width="{width}" role="img" aria-label="{label}">{drawn}</svg>'
    return f"<figure>{svg}<figcaption>{label}</figcaption></figure>"


def draw_points(points: Sequence[Sequence[float]], labels: Sequence[int], title: str) -> str:
    """Figure 5: points in the colour of their coarse cluster."""
    if not points:
        return ""
    xs, ys = ([p[k] for p in points] for k in (0, 1))
    low, spans = (min(xs), min(ys)), (max(max(xs) - min(xs), 1e-9), max(max(ys) - min(ys), 1e-9))
    side = 460
    dots = "".join(
        f'<circle cx="{8 + (x - low[0]) / spans[0] * (side - 16):.1f}"'
        f' cy="{8 + (y - low[1]) / spans[1] * (side - 16):.1f}" r="2" fill="hsl({label * 137 % 360} 60% 50%)"/>'
        for (x, y), label in zip(points, labels, strict=True)
    )
    return frame(side, side, dots, title)


def make_page(description: dict[str, Any]) -> str:
    """The page of what `fabula annotate stats` found."""
    parts = [f"<h1>{text(description['title'])}</h1>", *draw_tables(description)]
    for name, bins in description["histogram"].items():
        parts.append(draw_histogram(bins, f"Confidence of the fine captions of {name}"))
    if description.get("picture"):
        p = description["picture"]
        many = f"{p['points']:,} captions of {p['clusters']:,} coarse clusters"
        parts += [f"<h2>Clusters (t-SNE)</h2><p>{many}; the colour is the coarse cluster.</p>"]
        parts += [draw_points(p[side], p["labels"], f"{side} captions") for side in ("coarse", "fine")]
    if description.get("new words"):
        parts += draw_words(description["new words"])
    body = "\n".join(parts)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{text(description["title"])}</title>'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f'<meta name="viewport" content="width=device-width"><style>{STYLE}</style></head>'
        f"\n<body>{body}</body></html>\n"
    )


def draw_tables(description: dict[str, Any]) -> list[str]:
    branches = sorted({b for d in description["files"].values() for b in d["branches"]})
    head = ["", "captions", "videos", "span / s", *(f"{b} {x}" for b in branches for x in ("captions", "c")), "c"]
    head += ["words coarse", "words fine", "end after the video", "tell a time"]
    rows = []
    for name, d in description["files"].items():
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
        for name, d in description["files"].items()
    ]
    head = ["", "coarse classes", "coarse instances", "fine classes", "fine instances"]
    parts += ["<h2>Equal captions</h2>", table(head, equal)]
    if description.get("distinct"):
        near = [
            [text(name), *(number(d[side][key]) for side in ("coarse", "fine") for key in ("classes", "instances"))]
            for name, d in description["distinct"].items()
        ]
        eps = next(iter(description["distinct"].values()))["eps"]
        parts += [
            f"<h2>Almost equal captions ({text(description['embedder'])}, cosine distance up to {eps:g})</h2>",
            table(head, near),
        ]
    return parts


def draw_words(description: dict[str, Any]) -> list[str]:
    parts = [f"<h2>What fine captions add</h2><p>Counted on {description['captions']:,} captions.</p>"]
    for kind in ("static", "dynamic"):
        listed = "".join(f"<li>{text(word)} {n}</li>" for word, n in description[kind]["most"])
        each = f"{description[kind]['per caption']:.2f} new words a caption"
        parts.append(f'<h3>{kind}: {each}</h3><ul class="words">{listed}</ul>')
    return parts
