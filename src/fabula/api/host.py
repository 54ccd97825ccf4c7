"""fabula.api.host: a scoring bundle for a challenge server, as a folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fabula.core.atomic import beside
from fabula.core.errors import InputError
from fabula.core.options import deal, takes
from fabula.hosts.bundles import HostOptions, make_bundle


@takes(HostOptions)
def host(
    kind: str,
    refs: str | Path | Sequence[str | Path],
    out: str | Path,
    *,
    options: HostOptions | None = None,
    **given: Any,
) -> Path:
    """Write what Codabench or EvalAI is to be given: references, metrics, a program that scores, a leaderboard.

    The folder appears whole or not at all, and none is replaced.
    """
    (options,) = deal("host", given, options or HostOptions())
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
