"""The reliability diagram of a calibration as SVG: how often captions of a probability are true."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from fabula.learn.noise.calibrate import Bin, ece

SIDE, EDGE = 320, 44
COLOURS = ("#4477aa", "#cc6677", "#117733", "#999933")


def draw_reliability(curves: Mapping[str, Sequence[Bin]], title: str) -> str:
    """A curve for each set of bins; on the diagonal a probability is exact."""
    wide, high = SIDE + 2 * EDGE, SIDE + 2 * EDGE + 18 * len(curves)

    def at(p: float, true: float) -> str:
        return f"{EDGE + p * SIDE:.1f},{EDGE + (1 - true) * SIDE:.1f}"

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" width="{wide}" role="img"'
        f' font-family="sans-serif" font-size="12"><title>{escape(title)}</title>',
        f'<rect width="{wide}" height="{high}" fill="#ffffff"/>',
        f'<text x="{EDGE}" y="20" font-size="13">{escape(title)}</text>',
        f'<rect x="{EDGE}" y="{EDGE}" width="{SIDE}" height="{SIDE}" fill="none" stroke="#999999"/>',
        f'<polyline points="{at(0, 0)} {at(1, 1)}" stroke="#bbbbbb" stroke-dasharray="4 4"/>',
    ]
    for k in range(6):
        v = k / 5
        x, y = EDGE + v * SIDE, EDGE + (1 - v) * SIDE
        parts.append(f'<text x="{x:.1f}" y="{EDGE + SIDE + 16}" text-anchor="middle">{v:.1f}</text>')
        parts.append(f'<text x="{EDGE - 6}" y="{y + 4:.1f}" text-anchor="end">{v:.1f}</text>')
    parts.append(f'<text x="{EDGE + SIDE / 2}" y="{EDGE + SIDE + 32}" text-anchor="middle">probability</text>')
    middle = EDGE + SIDE / 2
    parts.append(
        f'<text x="12" y="{middle}" text-anchor="middle" transform="rotate(-90 12 {middle})">share that is true</text>'
    )
    for n, (name, bins) in enumerate(curves.items()):
        colour = COLOURS[n % len(COLOURS)]
        line = " ".join(at(b.probability, b.true) for b in bins)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="1.5"/>')
        for b in bins:
            cx, cy = at(b.probability, b.true).split(",")
            label = f"probability {b.probability:.3f}: {b.true:.1%} of {b.captions:,} captions are true"
            parts.append(f'<circle cx="{cx}" cy="{cy}" r="3" fill="{colour}"><title>{label}</title></circle>')
        low = EDGE + SIDE + 52 + 18 * n
        parts.append(f'<rect x="{EDGE}" y="{low - 9}" width="10" height="10" fill="{colour}"/>')
        parts.append(f'<text x="{EDGE + 16}" y="{low}">{escape(name)}: ECE {ece(bins):.3f}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"
