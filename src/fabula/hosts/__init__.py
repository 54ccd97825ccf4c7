"""Other people's programs: what they ask for, made of our verbs.

rewards.py     reward functions as TRL and ms-swift call them
bundles.py     scoring bundles for Codabench and EvalAI
lmms_eval/     a folder of tasks for lmms-eval (its --include_path)
swift_plugin.py  a file for ms-swift's --external_plugins
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from fabula.core.errors import SpecError
from fabula.core.registry import close_to, key

PLACES = {"lmms-eval": "lmms_eval", "ms-swift": "swift_plugin.py"}


def where(name: str) -> Path:
    """The path of Fabula's plug-in files for lmms-eval or ms-swift."""
    found = next((place for host, place in PLACES.items() if key(host) == key(name)), None)
    if found is None:
        raise SpecError(f"there are no plug-in files for {name!r}; {close_to(name, list(PLACES))}")
    return Path(str(files(__name__) / found))
