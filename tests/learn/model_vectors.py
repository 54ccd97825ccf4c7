"""States, inputs and outputs of published models that stand beside the project (spec/vectors-models)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

PLACE = Path("shared") / "spec" / "vectors-models"
FOLDER = next((p / PLACE for p in Path(__file__).resolve().parents if (p / PLACE).is_dir()), None)


def cases(model: str) -> list[Any]:
    """Every case of a model, or one that is skipped and says why."""
    found = sorted((FOLDER / model).glob("case_*")) if FOLDER is not None else []
    missing = pytest.mark.skip(reason=f"../{PLACE} is not here: numbers of the published {model} are wanted")
    return [pytest.param(f, id=f.name) for f in found] or [pytest.param(Path(), marks=missing, id="none")]


def tensors(case: Path, name: str) -> dict[str, Any]:
    from safetensors.torch import load_file

    return load_file(case / f"{name}.safetensors")


def numbers(case: Path, name: str) -> Any:
    return json.loads((case / f"{name}.json").read_text(encoding="utf-8"))
