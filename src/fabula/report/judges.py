"""A judge checked or attacked, and several judges side by side, as text and JSON. Scores are ×100."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from math import isfinite, nan

from fabula.diagnosis.attacks import Attack, Attacked
from fabula.diagnosis.judges import Checked, CheckPlan
from fabula.diagnosis.panel import Difference, Panel
from fabula.diagnosis.voices import Beside, Estimate
from fabula.report.table import plain_rows
from fabula.stats.choose import name_methods
from fabula.stats.resampling import Resampling


def number(value: float, scale: float = 100.0, signed: bool = False) -> str:
    return (f"{value * scale:+.1f}" if signed else f"{value * scale:.1f}") if isfinite(value) else "-"


def bounded(of: Estimate, scale: float = 100.0, signed: bool = False) -> str:
    value = number(of.value, scale, signed)
    if not isfinite(of.low):
        return value
    return f"{value} [{number(of.low, scale, signed)}, {number(of.high, scale, signed)}]"


def name_intervals(how: Resampling, of: Sequence[Estimate]) -> str:
    return how.named(name_methods(e.ci_method for e in of))


def alpha(of: Estimate) -> str:
    if not isfinite(of.value):
        return "-"
    return f"{of.value:.2f}" + (f" [{of.low:.2f}, {of.high:.2f}]" if isfinite(of.low) else "")


CHECK = ("compared with", "varied", "pairs", "unread", "mean", "equal %", "shift", "|shift|", "alpha")


def line_of(b: Beside) -> list[str]:
    compared = [bounded(b.equal), bounded(b.shift, signed=True), bounded(b.gap), alpha(b.alpha)]
    return [b.name, b.kind, str(b.pairs), str(b.unread), number(b.mean), *compared]


def checked(check: Checked) -> Iterator[str]:
    yield from plain_rows(
        CHECK,
        [
            ["(itself)", "", str(check.read), str(check.base.unread), number(check.base.mean), *[""] * 4],
            *map(line_of, check.beside),
        ],
    )
    of = [e for b in check.beside for e in (b.equal, b.shift, b.gap, b.alpha)]
    yield ""
    yield f"judge:{check.judge}|model:{check.model}|prompt:{check.prompt}|pairs:{check.pairs} of {check.of}|" + (
        f"ids:{check.ids}|calls:{check.calls}|asked:{check.asked}|record:{check.record}"
        f"|ci:{name_intervals(check.how, of)}"
    )


def checked_json(check: Checked) -> dict[str, object]:
    names = ("judge", "model", "prompt", "pairs", "of", "ids", "calls", "asked", "record")
    base = {"mean": check.base.mean, "unread": check.base.unread, "missing": check.base.missing}
    document = {name: getattr(check, name) for name in names} | {"base": base, "ci": asdict(check.how)}
    return only_finite(document | {"beside": [asdict(b) for b in check.beside], "warnings": list(check.warnings)})


def planned(plan: CheckPlan) -> Iterator[str]:
    yield f"{plan.judgements:,} judgements of {plan.pairs:,} pairs by {plan.calls:,} calls" + (
        f", {plan.recorded:,} of them on record" if plan.recorded else ""
    )
    cost = "no price is known: say --price IN/OUT" if plan.cost is None else f"cost at most {plan.cost:.4f}"
    yield f"{plan.tokens_in:,} tokens in, at most {plan.tokens_out:,} out; {cost}"


ATTACK = ("attack", "kind", "tried", "unread", "plain", "under it", "gain", "rose", "to full marks", "recognised")


def line_of_attack(a: Attack) -> list[str]:
    means = [number(a.plain), number(a.after), bounded(a.gain, signed=True)]
    known = str(a.known) if a.kind == "injection" else ""
    return [a.name, a.kind, str(a.attempts), str(a.unread), *means, str(a.succeeded), str(a.full), known]


def attacked(attack: Attacked) -> Iterator[str]:
    yield from plain_rows(
        ATTACK,
        [line_of_attack(a) for a in attack.attacks],
    )
    tried, rose, full = attack.injections
    yield ""
    both = f"predictions {number(attack.right)}, wrong captions {number(attack.wrong)}"
    yield f"{both}; {attack.unread} judgements unread"
    if tried:
        yield f"{tried} attempts to instruct the judge: {rose} raised the score, {full} to full marks"
    who = f"judge:{attack.judge}|model:{attack.model}|prompt:{attack.prompt}"
    intervals = name_intervals(attack.how, [a.gain for a in attack.attacks])
    yield f"{who}|pairs:{attack.pairs}|record:{attack.record}|ci:{intervals}"


def attacked_json(attack: Attacked) -> dict[str, object]:
    document = asdict(attack) | {"injections": dict(zip(("tried", "rose", "full"), attack.injections, strict=True))}
    return only_finite({("ci" if k == "how" else k): v for k, v in document.items()})


def only_finite(document: dict[str, object]) -> dict[str, object]:
    """The same with null where a number is none."""
    return {k: finite(v) for k, v in document.items()}


def finite(value: object) -> object:
    if isinstance(value, dict):
        return only_finite(value)
    if isinstance(value, list | tuple):
        return [finite(v) for v in value]
    return None if isinstance(value, float) and not isfinite(value) else value


# ── several judges side by side ─────────────────────────────────────────────────────────────────────────────────────

SEATS = ("judge", "metric", "score", "unparsed", "calls", "spared")
SHOWN = 3  # videos, and judgements, that a sentence names


def panel(judges: Panel) -> Iterator[str]:
    """A line a judge."""
    lines = []
    for seat in (s for s in judges.seats if s.result is not None):
        for label, score in seat.result.scores.items() if seat.result else ():
            fields = dict(part.partition(":")[::2] for part in score.signature.split("|")[1:])
            value = f"{score.value * score.scale:.2f}"
            lines.append([seat.name, label.partition("(")[0], value, *(fields.get(k, "") for k in SEATS[3:])])
    yield from plain_rows(SEATS, lines)


def differences(judges: Panel) -> Iterator[str]:
    """What parts each judge from the first, and where it shows."""
    yield ""
    for seat in judges.seats:
        if seat.result is None:
            yield f"{seat.name}: not computed: {seat.refused}"
    for d in judges.differences():
        yield from tell_difference(d)


def tell_difference(d: Difference) -> Iterator[str]:
    shift = Estimate(d.value - d.base, *(d.interval or (nan, nan)))
    why = f" ({d.reason})" if d.reason else ""
    yield f"{d.here.name}: {d.value * 100:.2f}, {d.there.name} {d.base * 100:.2f}: {bounded(shift, signed=True)}{why}"
    parts = [f"{what} {a or '-'} for {b or '-'}" for what, (a, b) in d.facts.items()]
    yield f"  differs: {', '.join(parts) or 'nothing but what was said'}"
    if d.most:
        named = ", ".join(f"{unit} ({a * 100:.1f} for {b * 100:.1f})" for unit, a, b in d.most[:SHOWN])
        yield f"  {len(d.most)} videos or items are responsible, most of all {named}"
    if d.judgements:
        yield f"  {d.differing} of {d.judgements} judgements differ"
        for one in d.disputed[:SHOWN]:
            values = f"{one.here * 10:g} for {one.there * 10:g}"
            yield f"    {values}: {one.pair.prediction!r} against {one.pair.reference!r}"


def panel_json(judges: Panel) -> dict[str, object]:
    seats = [
        {
            "name": seat.name,
            **seat.facts,
            "refused": seat.refused or None,
            "scores": {} if seat.result is None else {k: s.values for k, s in seat.result.scores.items()},
            "signatures": {} if seat.result is None else {k: s.signature for k, s in seat.result.scores.items()},
        }
        for seat in judges.seats
    ]
    apart = [
        {
            "here": d.here.name,
            "there": d.there.name,
            "metric": d.metric,
            "value": d.value,
            "base": d.base,
            "ci": list(d.interval) if d.interval else None,
            "ci_method": d.ci_method,
            "facts": d.facts,
            "units": d.most,
            "judgements": d.judgements,
            "differing": d.differing,
            "disputed": [asdict(one) for one in d.disputed],
        }
        for d in judges.differences()
    ]
    return only_finite({"task": judges.task, "seats": seats, "differences": apart, "warnings": list(judges.warnings)})
