"""What may be done about malformed reference segments, by the names that --repair takes (data/segments.py does it)."""

from __future__ import annotations

REPAIRS = {
    "swap": "exchange the ends of a reversed segment",
    "clip": "let a segment that starts before 0 start at 0",
    "drop": "leave the event out",
    "keep": "keep it as an event that matches nothing",
}
