"""A scoring bundle for a challenge server, as a folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Unpack

from fabula.core.atomic import beside
from fabula.core.errors import InputError
from fabula.core.options import read_keywords, with_options
from fabula.hosts.bundles import HostOptions, make_bundle
from fabula.verbs.keywords import HostKeywords


@with_options(HostOptions)
def host(
    kind: str,
    refs: str | Path | Sequence[str | Path],
    out: str | Path,
    *,
    options: HostOptions | None = None,
    **keywords: Unpack[HostKeywords],
) -> Path:
    """Write a scoring bundle for Codabench or EvalAI: references, metrics, a scoring program, a leaderboard.

    The folder appears whole or not at all, and none is replaced.
    """
    options = read_keywords("host", keywords, options or HostOptions())
    several = [refs] if isinstance(refs, str | Path) else refs
    files, target = make_bundle(kind, [Path(ref) for ref in several], options), Path(out)
    if target.exists():
        raise InputError("exists already", file=target, hint="choose another folder")
    try:
        with beside(target) as folder:
            made = folder / "bundle"
            for name, data in files.items():
                (made / name).parent.mkdir(parents=True, exist_ok=True)
                (made / name).write_bytes(data)
            made.replace(target)
    except OSError as error:
        raise InputError(f"cannot be written ({error.strerror})", file=target, hint="check the folder") from None
    return target
