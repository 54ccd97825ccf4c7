"""Fabula's optional dependencies (extras): the packages of each one, which are absent, the pip line for them.

The package is on no index, so a hint that names an extra of it would fail. The packages of an extra are on the index:
the hint names those that are absent, and works in a clone and beside a wheel alike.
"""

from __future__ import annotations

import importlib.metadata
import re

REQUIREMENT = re.compile(r"\s*([A-Za-z0-9][\w.-]*)\s*(?:\[([^\]]*)\])?")
MARKER = re.compile(r"extra\s*==\s*['\"]([^'\"]+)")


def read_extras() -> dict[str, dict[str, str]]:
    """Extra → package → its requirement as pip takes it ("httpx>=0.27"); an extra inside another is resolved."""
    try:
        names = importlib.metadata.metadata("fabula").get_all("Provides-Extra") or []
        lines = importlib.metadata.requires("fabula") or []
    except importlib.metadata.PackageNotFoundError:  # run from its sources, not installed
        return {}
    own: dict[str, list[str]] = {extra: [] for extra in names}
    for line in lines:
        requirement, _, marker = line.partition(";")
        if (extra := MARKER.search(marker)) and extra[1] in own:
            own[extra[1]].append(requirement.strip())

    def resolve(extra: str) -> dict[str, str]:
        packages: dict[str, str] = {}
        for requirement in own.get(extra, ()):
            name, inner = REQUIREMENT.match(requirement).groups()  # type: ignore[union-attr]
            if name.lower() == "fabula":
                for other in (inner or "").split(","):
                    packages |= resolve(other.strip())
            else:
                packages[name] = requirement
        return packages

    return {extra: resolve(extra) for extra in own}


def is_installed(package: str) -> bool:
    try:
        importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def pip_line(extra: str) -> str:
    """`pip install …` of the packages of an extra that are absent; of all of them where none is."""
    packages = read_extras().get(extra)
    if not packages:
        return f"pip install '.[{extra}]' in a clone of Fabula"
    absent = [requirement for package, requirement in packages.items() if not is_installed(package)]
    return "pip install " + " ".join(f"'{requirement}'" for requirement in absent or packages.values())
