"""Where benchmarks find real annotations: the folder given with --data, or ../shared/data beside the project."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any


def options(about: str) -> argparse.Namespace:
    """`--data DIR`, and an honest end where it is not there."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--data", type=Path, default=Path(__file__).resolve().parents[2] / "shared" / "data")
    parser.add_argument("--videos", type=int, help="only the first N videos (a quicker, rougher figure)")
    found = parser.parse_args()
    if not (found.data / "anet_captions").is_dir():
        print(f"no ActivityNet Captions in {found.data}: nothing was measured; name the folder with --data")
        sys.exit(0)
    return found


def load(path: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(path.read_text())
    return document


def ratio(name: str, slow: float, fast: float, slow_name: str, fast_name: str) -> None:
    print(f"{name}: {slow_name} {slow:.3f} s, {fast_name} {fast:.3f} s: {slow / fast:.1f}× faster")
