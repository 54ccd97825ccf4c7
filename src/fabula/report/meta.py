"""Metrics against people as text, LaTeX and JSON. Correlations × 100."""

from __future__ import annotations

from collections.abc import Iterator

from fabula.core.printable import printable
from fabula.report.compare import p_value, tex
from fabula.stats.meta import STATISTICS, Meta, Statistic

NAMES = {"tau_b": "τ-b", "tau_c": "τ-c", "spearman": "ρ", "pearson": "r", "accuracy": "accuracy"}
KAPPAS = {"none": "κ", "linear": "κ linear", "quadratic": "κ quadratic"}


def cell(s: Statistic | None) -> str:
    if s is None or s.value != s.value:
        return "–"
    wide = "" if s.interval is None else f" [{100 * s.interval.low:.2f}, {100 * s.interval.high:.2f}]"
    return f"{100 * s.value:.2f}{wide}"


def plain(m: Meta) -> Iterator[str]:
    """Tab-separated tables and the line that says how."""
    yield "\t".join(["segments", *(NAMES[s] for s in STATISTICS), "calibrated", "ties up to"])
    for line in sorted(m.lines, key=lambda x: -x.segment[m.statistic].value):
        tie = ["–"] * 2 if line.epsilon is None else [f"{100 * (line.calibrated or 0):.2f}", f"{line.epsilon:.4g}"]
        yield "\t".join([printable(line.metric), *(cell(line.segment[s]) for s in STATISTICS), *tie])
    if any(line.system for line in m.lines):
        yield ""
        shown = [s for s in STATISTICS if s in m.lines[0].system]
        yield "\t".join(["systems", *(NAMES[s] for s in shown)])
        for line in m.lines:
            yield "\t".join([printable(line.metric), *(cell(line.system[s]) for s in shown)])
    judges = [line for line in m.lines if line.kappa]
    if judges:
        yield ""
        kinds = list(judges[0].kappa)
        yield "\t".join(["judge and people", *(KAPPAS[k] for k in kinds)])
        for line in judges:
            yield "\t".join([printable(line.metric), *(cell(line.kappa[k]) for k in kinds)])
    if m.contests:
        yield ""
        yield f"{NAMES[m.statistic]}: difference\tdelta\tlow\thigh\tp\tp (Holm)\t"
        for c in m.contests:
            star = "*" if c.p_holm < m.how.alpha else ""
            ends = ["–", "–"] if c.interval is None else [f"{100 * x:+.2f}" for x in c.interval]
            numbers = "\t".join([f"{100 * c.delta:+.2f}", *ends])
            yield f"{printable(c.b)} − {printable(c.a)}\t{numbers}\t{p_value(c.p)}\t{p_value(c.p_holm)}\t{star}"
    yield ""
    yield m.signature


def latex(m: Meta) -> Iterator[str]:
    yield "% " + m.signature
    yield r"\begin{tabular}{l" + "r" * len(STATISTICS) + "}"
    yield r"\toprule"
    heads = {"tau_b": r"$\tau_b$", "tau_c": r"$\tau_c$", "spearman": r"$\rho$", "pearson": "$r$", "accuracy": "Acc."}
    yield " & ".join(["Metric", *(heads[s] for s in STATISTICS)]) + r" \\"
    yield r"\midrule"
    for line in sorted(m.lines, key=lambda x: -x.segment[m.statistic].value):
        cells = []
        for s in STATISTICS:
            one = line.segment[s]
            bounds = one.interval
            small = "" if bounds is None else rf" {{\scriptsize [{100 * bounds.low:.1f}, {100 * bounds.high:.1f}]}}"
            cells.append("--" if one.value != one.value else f"{100 * one.value:.1f}{small}")
        yield " & ".join([tex(line.metric), *cells]) + r" \\"
    yield r"\bottomrule"
    yield r"\end{tabular}"


def as_json(m: Meta) -> dict[str, object]:
    def statistic_json(s: Statistic, name: str = "value") -> dict[str, object]:
        value = None if s.value != s.value else s.value
        return {name: value, "ci": None if s.interval is None else list(s.interval)}

    return {
        "signature": m.signature,
        "statistic": m.statistic,
        "metrics": {
            line.metric: {
                "segment": {name: statistic_json(s) for name, s in line.segment.items()},
                "system": {name: statistic_json(s) for name, s in line.system.items()},
                "kappa": {name: statistic_json(s) for name, s in line.kappa.items()},
                "epsilon": line.epsilon,
                "calibrated": line.calibrated,
            }
            for line in m.lines
        },
        "differences": [
            {"a": c.a, "b": c.b}
            | statistic_json(Statistic(c.delta, c.interval), "delta")
            | {"p": c.p, "p_holm": c.p_holm}
            for c in m.contests
        ],
        "notes": list(m.notes),
    }
