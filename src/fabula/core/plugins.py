"""Things of other packages, offered by entry points: read when somebody asks for one, checked before it is used.

    [project.entry-points."fabula.metrics"]
    CountMatch = "count_metrics.count_match:Metric"

What is broken costs one line that names package and entry point. Ours come first: a name of ours stays ours.

The other way round, the packages of Fabula's extras: Fabula is on no index, so a hint that names an extra of it would
fail; the packages are, and a hint that names those that are absent works in a clone and beside a wheel alike.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fabula.core.errors import SpecError
from fabula.core.printable import one_line

if TYPE_CHECKING:  # loading it takes as long as all of ours
    from importlib.metadata import Distribution, EntryPoint

REQUIREMENT = re.compile(r"\s*([A-Za-z0-9][\w.-]*)\s*(?:\[([^\]]*)\])?")
MARKER = re.compile(r"extra\s*==\s*['\"]([^'\"]+)")
Check = Callable[[object], str | None]  # what is wrong with a thing; None: nothing


class PluginError(SpecError):
    """Something of another package that cannot be used; the message names the package and the entry point."""


@dataclass(frozen=True, slots=True)
class Plugin:
    """One entry point. What it names is not imported before `load`."""

    name: str
    group: str
    package: str  # name and version, as pip lists it
    point: EntryPoint

    def refuse(self, problem: str) -> PluginError:
        where = f"{self.package}: the entry point {self.name!r} of {self.group} ({self.point.value})"
        return PluginError(f"{where} {problem}; mend or uninstall that package")

    def load(self, check: Check | None = None) -> Any:
        try:
            thing = self.point.load()
        except KeyboardInterrupt:  # of the person who waits
            raise
        except BaseException as error:  # somebody else's module does what it likes when it is imported
            raise self.refuse(f"cannot be loaded ({type(error).__name__}: {one_line(str(error))})") from None
        try:
            problem = check(thing) if check else None
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            problem = f"cannot be used ({type(error).__name__}: {one_line(str(error))})"
        if problem:
            raise self.refuse(problem)
        return thing


def list_plugins(group: str, warn: Callable[[str], None] = lambda line: None) -> list[Plugin]:
    """The entry points of a group, by name. A package whose list of them cannot be read is skipped, with a warning."""
    from importlib.metadata import distributions, entry_points

    try:
        points = list(entry_points(group=group))
    except Exception:  # one unreadable file spoils the list of all: ask package by package
        points = [point for dist in distributions() for point in read_points(dist, group, warn)]
    found = {(p.name, p.value): Plugin(p.name, group, name_package(p.dist), p) for p in points}
    return [found[key] for key in sorted(found)]


def read_points(dist: Distribution, group: str, warn: Callable[[str], None]) -> Iterator[EntryPoint]:
    try:
        yield from dist.entry_points.select(group=group)
    except Exception as error:
        warn(f"{name_package(dist)}: its entry points cannot be read ({type(error).__name__}: {one_line(str(error))})")


def name_package(dist: Distribution | None) -> str:
    if dist is None:
        return "a package without a name"
    try:
        return f"{dist.metadata['Name']} {dist.version}"
    except Exception:
        return "a package without a name"


def check_class(thing: object, base: type, noun: str) -> str | None:
    """A plug-in that must be a class on top of ours."""
    if not isinstance(thing, type) or not issubclass(thing, base):
        return f"leads to {describe(thing)}, where a {noun} is a class on top of {base.__module__}.{base.__name__}"
    return None


def check_object(thing: object, base: type, noun: str) -> str | None:
    """A plug-in that must be an object of ours."""
    if not isinstance(thing, base):
        return f"leads to {describe(thing)}, where a {noun} is an object of {base.__module__}.{base.__name__}"
    return None


def check_has(thing: object, names: tuple[str, ...], noun: str) -> str | None:
    """A plug-in that must have these attributes."""
    missing = [name for name in names if not hasattr(thing, name)]
    return f"leads to {describe(thing)}, which lacks {', '.join(missing)} of a {noun}" if missing else None


def describe(thing: object) -> str:
    return f"the class {thing.__name__}" if isinstance(thing, type) else f"an object of type {type(thing).__name__}"


# ── extras: packages that Fabula uses where they are there ─────────────────────────────────────────────────────────


def read_extras() -> dict[str, dict[str, str]]:
    """Extra → package → its requirement as pip takes it ("httpx>=0.27"); an extra inside another is resolved."""
    from importlib.metadata import PackageNotFoundError, metadata, requires

    try:
        names = metadata("fabula").get_all("Provides-Extra") or []
        lines = requires("fabula") or []
    except PackageNotFoundError:  # run from its sources, not installed
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
    from importlib.metadata import PackageNotFoundError, version

    try:
        version(package)
    except PackageNotFoundError:
        return False
    return True


def pip_line(extra: str) -> str:
    """`pip install …` of the packages of an extra that are absent; of all of them where none is."""
    packages = read_extras().get(extra)
    if not packages:
        return f"pip install '.[{extra}]' in a clone of Fabula"
    absent = [requirement for package, requirement in packages.items() if not is_installed(package)]
    return "pip install " + " ".join(f"'{requirement}'" for requirement in absent or packages.values())
