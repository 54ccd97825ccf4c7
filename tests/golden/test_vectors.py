"""Numbers of published programs that stand beside the project (../shared/spec/vectors-evaluators); skipped without."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fabula
from fabula.metrics.precision import average_precision, thresholds

FOLDER = Path(__file__).resolve().parents[3] / "shared" / "spec" / "vectors-evaluators"
TIED = (4, 5)  # entries with equal scores among 17 or more detections: torch.sort does not keep their order


def vectors(name: str) -> Any:
    file = FOLDER / name
    if not file.is_file():
        pytest.skip(f"{name} is not in ../shared/spec/vectors-evaluators: numbers of published programs are wanted")
    return json.loads(file.read_text(encoding="utf-8"))


@pytest.mark.parametrize("machine", ["AVX2", "AVX512", "DEFAULT"])
def test_recall_levels_are_those_of_torch(machine: str) -> None:
    levels = np.array(vectors(f"torch_arange_levels_{machine}.json")["levels"], dtype=np.float32)
    assert (thresholds(100, "arange").astype(np.float32) == levels).all()


def test_a_recall_on_a_level_that_torch_puts_above_it_fails() -> None:
    for entry in vectors("densecap_pytorch_levels_minimal.json"):
        ap = average_precision(np.arange(1, entry["hits"] + 1), entry["npos"], grid="arange")
        assert math.isclose(ap, entry["official"]["detmap"], abs_tol=1e-12), entry
        assert average_precision(np.arange(1, entry["hits"] + 1), entry["npos"]) > ap


def write_images(folder: Path, images: list[dict[str, Any]]) -> tuple[Path, Path]:
    """Corners and captions, as the two sides of the task regions."""
    refs, preds = folder / "refs.jsonl", folder / "preds.jsonl"
    boxes = [
        {"image_id": i["id"], "boxes": [b for b, _ in i["refs"]], "captions": [c for _, c in i["refs"]]} for i in images
    ]
    dets = [
        {
            "image_id": i["id"],
            "boxes": [d[0] for d in i["dets"]],
            "captions": [d[2] for d in i["dets"]],
            "scores": [d[1] for d in i["dets"]],
        }
        for i in images
    ]
    for file, lines in ((refs, boxes), (preds, dets)):
        file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return preds, refs


@pytest.mark.parametrize("entry", range(10))
def test_densecap_pytorch(entry: int, tmp_path: Path) -> None:
    given = vectors("densecap_pytorch.json")[entry]
    preds, refs = write_images(tmp_path, given["images"])
    form = {"format": "lines:xyxy", "refs_format": "lines:xyxy"}
    found = fabula.score(preds, [refs], task="regions", protocol="densecap-pytorch", **form)
    if entry in TIED:
        assert any("share their score" in line for line in found.warnings)
        return
    for part in ("map", "detmap"):
        assert math.isclose(found["DenseCap_mAP"].values[part], given["official"][part], abs_tol=1e-12)


@pytest.mark.parametrize("run", ["p01", "skip"])
def test_micap(run: str, tmp_path: Path) -> None:
    """With our own parser, which reads these few captions as the original does."""
    given = vectors("micap_captions.json")["runs"][run]
    files = tmp_path / "preds.jsonl", tmp_path / "refs.jsonl"
    for file, side in zip(files, ("cand", "ref"), strict=True):
        lines = [{"id": entry["id"], "captions": entry[side]} for entry in given["sets"]]
        file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    ask = {"task": "identity", "protocol": "micap", "metrics": ["METEOR", "ROUGE_L", "CIDEr", "SPICE", "iSPICE"]}
    found = fabula.score(files[0], [files[1]], **ask)
    for name, number in given["official"].items():
        ours = next(s.value for n, s in found.scores.items() if n.lower().replace("_l", "") == name)
        assert math.isnan(ours) if number is None else math.isclose(ours, number, abs_tol=1e-9), name
