"""Pictures in a terminal that can show them: kitty's protocol, iTerm2's, or sixels (DEC, 1982); by the environment.

A terminal is asked nothing: one that does not answer would hang a script. What is not known to show pictures gets none.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Way = Literal["kitty", "iterm", "sixel"]
KITTY_CHUNK = 4096
LEVELS = 6  # of red, green and blue in a sixel's palette
SIXEL = ("sixel", "mlterm", "foot", "yaft", "contour")


def way_of(environment: Mapping[str, str], tty: bool) -> Way | None:
    """How this terminal shows pictures; None: it does not, as far as is known."""
    if not tty or environment.get("TERM", "") in ("", "dumb") or environment.get("TMUX") or environment.get("STY"):
        return None
    term, program = environment["TERM"].lower(), environment.get("TERM_PROGRAM", "").lower()
    if environment.get("KITTY_WINDOW_ID") or "kitty" in term or "ghostty" in (term + program):
        return "kitty"
    if program in ("iterm.app", "wezterm", "mintty") or environment.get("LC_TERMINAL") == "iTerm2":
        return "iterm"
    return "sixel" if any(name in term for name in SIXEL) else None


def show(jpeg: bytes, way: Way, rows: int = 6) -> str:
    """The text that makes a terminal show a picture, so many lines high."""
    if way == "iterm":
        encoded = base64.b64encode(jpeg).decode()
        return f"\033]1337;File=inline=1;size={len(jpeg)};height={rows};preserveAspectRatio=1:{encoded}\a"
    from fabula.library.pictures import read_image

    picture = read_image(jpeg)
    return "".join(kitty(picture, rows)) if way == "kitty" else sixel(picture)


def kitty(picture: NDArray[np.uint8], rows: int) -> Iterator[str]:
    """Raw red, green, blue in chunks."""
    height, width = picture.shape[:2]
    data = base64.b64encode(np.ascontiguousarray(picture).tobytes()).decode()
    chunks = [data[i : i + KITTY_CHUNK] for i in range(0, len(data), KITTY_CHUNK)]
    for n, chunk in enumerate(chunks):
        first = f"a=T,f=24,s={width},v={height},r={rows}," if n == 0 else ""
        yield f"\033_G{first}m={int(n < len(chunks) - 1)};{chunk}\033\\"


def sixel(picture: NDArray[np.uint8]) -> str:
    """Six rows at a time, a mask of pixels a colour; 216 colours."""
    height, width = picture.shape[:2]
    levels = np.round(picture.astype(np.float64) / 255 * (LEVELS - 1)).astype(int)
    colour = levels @ (LEVELS**2, LEVELS, 1)  # [H, W]
    parts = [f'\033Pq"1;1;{width};{height}']
    for c in np.unique(colour).tolist():
        r, g, b = (round(100 * (c // LEVELS**k % LEVELS) / (LEVELS - 1)) for k in (2, 1, 0))
        parts.append(f"#{c};2;{r};{g};{b}")
    for top in range(0, height, 6):
        band = colour[top : top + 6]
        bit = 1 << np.arange(len(band))
        for c in np.unique(band).tolist():
            masks = ((band == c) * bit[:, None]).sum(0)  # [W]
            parts.append(f"#{c}" + "".join(map(chr, 63 + masks)) + "$")
        parts.append("-")
    return "".join(parts) + "\033\\"
