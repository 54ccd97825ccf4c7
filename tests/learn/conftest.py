"""A small training set of our own: the demo's stories with simulated features."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import NamedTuple

import pytest

import fabula
from fabula import demo
from fabula.data.stories import Corpus


class Small(NamedTuple):
    corpus: Corpus  # 8 videos
    annotations: Path
    features: Path


@pytest.fixture(autouse=True, scope="session")
def one_thread() -> None:
    """Small tensors on a busy machine: a second thread only waits for the first."""
    with contextlib.suppress(ImportError):
        import torch

        torch.set_num_threads(1)


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Small:
    pytest.importorskip("safetensors", reason="feature stores need fabula[learn]")
    from fabula.learn.simulate import simulate

    folder = tmp_path_factory.mktemp("small")
    whole, _ = fabula.read(demo.REFERENCES["annotator_1"])
    corpus = Corpus({video: whole[video] for video in list(whole)[:8]}, "demo")
    fabula.write(corpus, folder / "steps.json", "activitynet")
    simulate(corpus, folder / "features.safetensors")
    return Small(corpus, folder / "steps.json", folder / "features.safetensors")
