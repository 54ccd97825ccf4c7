"""What `fabula annotate` prints: lines of cells parted by tabs, from what plan, status, ab and stats return."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Found = Mapping[str, Any]


def plan_lines(found: Found) -> Iterator[str]:
    yield "step\tcalls\ttokens in\ttokens out\tcost"
    for name, step in [*found["steps"].items(), *((n, found[n]) for n in ("total", "least", "most"))]:
        cost = f"{step['cost']:.4f}" if found["priced"] else "-"
        yield f"{name}\t{step['calls']:,}\t{step['tokens_in']:,}\t{step['tokens_out']:,}\t{cost}"
    how = f"counted on {found['probed']}" if found["probed"] else "not looked at; --probe counts them"
    frames = f"{found['keyframes']:.2f} keyframes each ({how})"
    yield f"{found['moments']:,} moments, {frames}, about {found['seconds']:,.0f} s"
    if found["answered"]:
        yield f"{found['answered']:,} calls are answered in the store already"
    if not found["priced"]:
        yield "no price was given: say --price IN/OUT for a million tokens"


def status_lines(found: Found) -> Iterator[str]:
    states = ", ".join(f"{count:,} {state}" for state, count in found["states"].items())
    yield f"moments\t{found['moments']:,}" + (f"\t{states} (recipe {found['recipe']})" if found["recipe"] else "")
    if len(found["recipes"]) > 1 and not found["recipe"]:
        yield f"recipes\t{', '.join(found['recipes'])}\t(--recipe says how far each is)"
    if found["steps"]:
        yield ""
        yield "step\tcalls\ttokens in\ttokens out\tcost\tseconds each"
    for name, s in found["steps"].items():
        each = s["seconds"] / s["calls"]
        yield f"{name}\t{s['calls']:,}\t{s['tokens_in']:,.0f}\t{s['tokens_out']:,.0f}\t{s['cost']:.4f}\t{each:.2f}"
    for kind, f in found["failures"].items():
        yield f"tries failed: {kind}\t{f['tries']:,}\t\t\t{f['cost']:.4f}"
    if found["steps"] or found["failures"]:
        yield ""
    more = f" (and {found['uncounted']:,} tries and answers whose tokens nobody counted)" if found["uncounted"] else ""
    yield f"cost\t{found['cost']:.4f}{more}"
    if found["batches"]:
        yield f"batches\t{found['batches']:,} sent and not fetched"
    if found["failed"]:
        yield ""
    for failed in found["failed"]:
        yield f"failed\t{failed['id']}\t{failed['kind']}\t{failed['message']}"


def comparison_lines(found: Found) -> Iterator[str]:
    yield "\tdone\tscore\twords\tcandidates\tdropped"
    for name in ("a", "b"):
        s = found[name]
        score = "-" if s["score"] is None else f"{s['score']:.2f}"
        yield f"{name}\t{s['done']:,}\t{score}\t{s['words']:.2f}\t{s['candidates']:.2f}\t{s['dropped']:.2f}"
    d = found["b − a"]
    if d["score"] is not None:
        wide = "" if d["interval"] is None else f" ({d['interval'][0]:+.2f} to {d['interval'][1]:+.2f})"
        yield f"b − a\t{d['score']:+.2f}{wide}\tb higher {d['b higher']}, equal {d['equal']}, a higher {d['a higher']}"


def stats_lines(found: Found) -> Iterator[str]:
    yield "file\tcaptions\tvideos\tspan\tc\twords coarse\twords fine\tend after the video\ttell a time"
    for name, d in found["files"].items():
        c = "-" if d["confidence"] is None else f"{d['confidence']:.4f}"
        words = f"{d['words']['coarse']:.2f}\t{d['words']['fine']:.2f}"
        odd = f"{d['beyond the video']:,}\t{d['tells a time']:,}"
        yield f"{name}\t{d['captions']:,}\t{d['videos']:,}\t{d['span']:.3f}\t{c}\t{words}\t{odd}"
        for branch, b in d["branches"].items():
            of = "-" if b["confidence"] is None else f"{b['confidence']:.4f}"
            yield f"{name} {branch}\t{b['captions']:,}\t\t\t{of}"
    yield ""
    yield "captions that are equal\tcoarse classes\tinstances\tfine classes\tinstances"
    for name, d in found["files"].items():
        yield pair_line(name, d["exact"])
        yield pair_line(f"{name}, case and full stop aside", d["exact, case and full stop aside"])
    if found.get("distinct"):
        yield ""
        yield f"almost equal ({found['embedder']})\tcoarse classes\tinstances\tfine classes\tinstances"
        for name, d in found["distinct"].items():
            yield pair_line(name, d)
    if found.get("new words"):
        yield ""
        for kind in ("static", "dynamic"):
            words = found["new words"][kind]
            most = ", ".join(word for word, _ in words["most"][:12])
            yield f"new {kind} words\t{words['per caption']:.2f} a caption\t{most}"


def pair_line(name: str, d: Found) -> str:
    return "\t".join([name, *(f"{d[side][key]:,}" for side in ("coarse", "fine") for key in ("classes", "instances"))])
