"""Results as text, LaTeX and a page with pictures. Shares are printed × 100."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from typing import Any

from fabula.report.compare import p_value, tex
from fabula.report.drawing.charts import draw_counts, draw_estimates
from fabula.report.html import draw_head, escape_text, hash_source
from fabula.stats.twoway import Estimate
from fabula.studies.results import Line, Results

STYLE = files("fabula.studies").joinpath("results.css").read_text("utf-8")


def number(x: float | None, share: bool, sign: bool = False) -> str:
    if x is None or x != x:
        return "–"
    digits = 1 if share else 2
    return f"{round(x * (100 if share else 1), digits) + 0.0:{'+' if sign else ''}.{digits}f}"  # + 0.0: no -0.00


def bounds(e: Estimate, share: bool, sign: bool = False) -> str:
    if e.interval is None:
        return "–"
    return f"{number(e.interval.low, share, sign)} to {number(e.interval.high, share, sign)}"


def name_of(line: Line) -> str:
    return f"{line.letter} ({line.measure})" if line.letter != line.measure else line.measure


def rule(r: Results) -> str:
    x = r.plan.exclude
    return (
        f"left out is who passes fewer than {x.checks:.0%} of the checks, gives more than {x.hurried:.0%} of the "
        f"answers within {r.plan.shortest:g} s of the clip's end, or takes the same side more than {x.same:.0%} "
        f"of the time"
    )


def analysis(r: Results) -> str:
    a = r.plan.analysis
    return (
        f"primary measure {r.plan.primary}; means clustered by rater and item, {a.level:.0%} intervals (t with "
        f"Satterthwaite's degrees of freedom; Wilson for shares); differences tested two-sided, Holm over pairs, "
        f"α = {a.alpha:g}; Krippendorff's α with {a.resamples:,} draws of items"
    )


def clock(at: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(at)) if at > 1e6 else "–"


def plain(r: Results) -> Iterator[str]:
    """Tab-separated tables and the lines that say how."""
    c = r.counts
    yield f"study {r.id}\t{r.plan.title}" + ("\tSIMULATED RATERS" if r.simulated else "")
    yield f"{c['raters']} raters, {c['left out']} left out, {c['questions']} questions, {c['answers']} answers"
    yield ""
    yield "measure\tsystem\titems\tvalue\tlow\thigh\tanswers"
    for x in r.lines:
        e = x.estimate
        low, high = (number(v, x.share) for v in e.interval) if e.interval else ("–", "–")
        yield f"{name_of(x)}\t{x.system}\t{x.kind or 'all'}\t{number(e.value, x.share)}\t{low}\t{high}\t{e.answers}"
    yield ""
    yield "measure\tdifference\tdelta\tlow\thigh\tp\tp (Holm)"
    for d in r.duels:
        share = d.measure not in ("accuracy", "rank", "detail", "fluency")
        e = d.estimate
        low, high = (number(v, share, True) for v in e.interval) if e.interval else ("–", "–")
        ps = "\t".join("–" if p is None else p_value(p) for p in (d.p, d.p_holm))
        yield f"{d.measure}\t{d.b} − {d.a}\t{number(e.value, share, True)}\t{low}\t{high}\t{ps}"
    yield ""
    yield "Krippendorff's α\tnominal\tordinal\tlow\thigh\titems"
    for a in r.agreement:
        low, high = (number(v, False) for v in a.interval) if a.interval else ("–", "–")
        yield f"{a.measure}\t{number(a.nominal, False)}\t{number(a.ordinal, False)}\t{low}\t{high}\t{a.items}"
    if r.sides:
        yield ""
        yield "first description ahead\tshare\tlow\thigh"
        for s in r.sides:
            low, high = (number(v, True) for v in s.estimate.interval) if s.estimate.interval else ("–", "–")
            yield f"{s.measure}\t{number(s.estimate.value, True)}\t{low}\t{high}"
    out = [c for c in r.conduct if c.excluded]
    yield ""
    for person in out:
        yield f"left out: rater {person.rater + 1}\t{'; '.join(person.why)}"
    yield f"rule: {rule(r)}"
    yield f"analysis: {analysis(r)}"
    yield f"plan fixed {clock(r.created)}, first answer {clock(r.first)}"


def latex(r: Results) -> Iterator[str]:
    """A booktabs table, a line a system, as in VERIFIED's Table 3."""
    yield f"% study {r.id}{' SIMULATED RATERS' if r.simulated else ''}: {rule(r)}"
    yield f"% {analysis(r)}"
    columns = list(dict.fromkeys((x.measure, x.kind) for x in r.lines))
    held = {(x.measure, x.kind, x.system): x for x in r.lines}
    yield r"\begin{tabular}{l" + "r" * len(columns) + "}"
    yield r"\toprule"
    heads = []
    for measure, kind in columns:
        letter = {"static": "$R_s$ (\\%)", "dynamic": "$R_d$ (\\%)", "accuracy": "$S$"}.get(measure, tex(measure))
        heads.append(letter + (f" {tex(kind)}" if kind else ""))
    yield " & ".join(["System", *heads]) + r" \\"
    yield r"\midrule"
    for system in dict.fromkeys(x.system for x in r.lines):
        cells = []
        for measure, kind in columns:
            x = held.get((measure, kind, system))
            if x is None:
                cells.append("--")
                continue
            e = x.estimate
            small = (
                ""
                if e.interval is None
                else rf" {{\scriptsize [{number(e.interval.low, x.share)}, {number(e.interval.high, x.share)}]}}"
            )
            cells.append(number(e.value, x.share) + small)
        yield " & ".join([tex(system), *cells]) + r" \\"
    yield r"\bottomrule"
    yield r"\end{tabular}"


# ── the page ───────────────────────────────────────────────────────────────────────────────────────────────────────


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    top = "".join(f'<th scope="col">{escape_text(h)}</th>' for h in head)
    lines = []
    for first, *rest in rows:
        cells = "".join(f'<td class="n">{escape_text(cell)}</td>' for cell in rest)
        lines.append(f'<tr><th scope="row" class="l">{escape_text(first)}</th>{cells}</tr>')
    body = "".join(lines)
    return f'<div class="wide"><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'


def draw_intervals(lines: Sequence[tuple[str, Estimate]], low: float, high: float, null: float | None) -> str:
    return f'<div class="wide">{draw_estimates(lines, low, high, null)}</div>'


def draw_marks(r: Results, measure: str) -> str:
    """How often each mark was given, a row per system."""
    rows = {
        system: Counter(int(t.value) for t in r.table if t.measure == measure and t.system == system and not t.excluded)
        for system in r.systems
    }
    drawn = draw_counts(rows, [1, 2, 3, 4, 5], "Marks of each system")
    return f'<p>How often each mark was given ({escape_text(measure)}):</p><div class="wide">{drawn}</div>'


def page(r: Results) -> str:
    """One file, nothing from outside, every text escaped."""
    c = r.counts
    parts = [f"<h1>{escape_text(r.plan.title)}</h1>"]
    lead = f"{c['raters']} raters ({c['left out']} left out), {c['questions']} questions, {c['answers']} answers"
    lead += f"; study {r.id}"
    parts.append(f'<p class="meta">{escape_text(lead)}</p>')
    parts += [f'<p class="warn">{escape_text(w)}</p>' for w in r.warnings]
    shares = [x for x in r.lines if x.share]
    marks = [x for x in r.lines if not x.share]
    parts.append("<h2>What the raters said</h2>")
    parts.append(
        table(
            ["measure", "system", "items", "value", "interval", "answers"],
            [
                [name_of(x), x.system, x.kind or "all", number(x.estimate.value, x.share), bounds(x.estimate, x.share),
                 str(x.estimate.answers)]
                for x in r.lines
            ],
        )
    )  # fmt: skip
    if shares:
        null = 0.5 if r.plan.form == "preference" else None
        named = [(f"{name_of(x)} {x.system} {x.kind}".strip(), x.estimate) for x in shares]
        parts.append(draw_intervals(named, 0, 1, null))
    if marks:
        low, high = (1.0, 5.0) if r.plan.form != "rank" else (1.0, float(max(2, len(r.systems))))
        named = [(f"{name_of(x)} {x.system} {x.kind}".strip(), x.estimate) for x in marks]
        parts.append(draw_intervals(named, low, high, None))
        if r.plan.form != "rank":
            parts += [draw_marks(r, m) for m in dict.fromkeys(x.measure for x in marks)]
    rows = []
    for d in r.duels:
        share = any(x.share and x.measure == d.measure for x in r.lines)
        ps = ["–" if p is None else p_value(p) for p in (d.p, d.p_holm)]
        rows.append(
            [f"{d.measure}: {d.b} − {d.a}", number(d.estimate.value, share, True), bounds(d.estimate, share, True), *ps]
        )
    if rows:
        parts += [
            "<h2>Differences between systems</h2>",
            table(["difference", "delta", "interval", "p", "p (Holm)"], rows),
        ]
    parts.append("<h2>Agreement (Krippendorff's α)</h2>")
    parts.append(
        table(
            ["measure", "nominal", "ordinal", "interval (ordinal)", "items"],
            [
                [a.measure, number(a.nominal, False), number(a.ordinal, False),
                 "–" if a.interval is None else " to ".join(number(v, False) for v in a.interval), str(a.items)]
                for a in r.agreement
            ],
        )
    )  # fmt: skip
    if r.sides:
        parts.append(
            "<h2>Does the place matter?</h2><p>How often the first description came off better: ½ if it does not.</p>"
        )
        parts.append(draw_intervals([(s.measure, s.estimate) for s in r.sides], 0, 1, 0.5))
    parts.append("<h2>Raters</h2>")
    parts.append(
        table(
            ["rater", "answers", "checks passed", "hurried", "same", "left out because"],
            [
                [str(p.rater + 1), str(p.answers), f"{p.passed} of {p.checks}", f"{p.hurried:.0%}", f"{p.same:.0%}",
                 "; ".join(p.why) or "–"]
                for p in r.conduct
            ],
        )
    )  # fmt: skip
    parts.append("<h2>Written before the first answer</h2>")
    times = f"Plan fixed {clock(r.created)}; first answer {clock(r.first)}."
    parts += [f"<p>{escape_text(text)}</p>" for text in (f"Rule: {rule(r)}.", f"Analysis: {analysis(r)}.", times)]
    head = draw_head(r.plan.title, STYLE, f"style-src '{hash_source(STYLE)}'")
    return f"{head}<body>{''.join(parts)}</body></html>\n"


# ── plans and simulated studies, as lines ───────────────────────────────────────────────────────────────────────────


def power_lines(found: Mapping[str, Any], systems: int) -> Iterator[str]:
    yield f"measure\t{found['measure']}"
    yield f"raters\t{found['raters']}"
    yield f"items\t{found['items']}"
    yield f"answers of a comparison\t{found['answers of a comparison']}"
    smallest = found["smallest difference"]
    if smallest is None:
        yield "smallest difference\tnone: a single rater, or a single item, tells of nobody else"
    else:
        yield f"smallest difference\t{smallest:.3f}\tfound four times in five at α = {found['alpha']:g}"
        if found["measure"] in ("static", "dynamic", "better"):
            yield f"as a share\t{50 + 50 * smallest:.1f} % of the choices instead of 50 %"
    if "power" in found:
        yield f"power of {found['effect']:g}\t{found['power']:.3f}"
    if systems > 2:
        yield "note\tof one pair of systems; Holm's correction over all pairs costs some of it"


def simulation_lines(found: Mapping[str, Any]) -> Iterator[str]:
    yield f"SIMULATED\t{found['studies']} studies of {found['raters']} raters"
    if found["without a rater left"]:
        yield f"studies in which nobody was left\t{found['without a rater left']}"
    if found["value"] is not None:
        yield f"{found['measure']} of {found['system']}\t{found['value']:.3f}"
    if found["first description ahead"] is not None:
        yield f"first description ahead\t{found['first description ahead']:.3f}"
    yield f"difference found\t{found['found']:.3f}"
    if found["power"] is not None:
        yield f"power by formula, careful raters\t{found['power']:.3f}"
    yield ""
    yield "rater\tleft out\tof"
    for kind, x in found["left out"].items():
        yield f"{kind}\t{x['share']:.3f}\t{x['raters']}"
