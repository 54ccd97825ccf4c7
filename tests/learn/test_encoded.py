"""Encoded corpora in the cache folder: found again, never where anything differs or is damaged, bounded."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="training needs fabula[learn]")

from fabula.core.errors import SpecError  # noqa: E402
from fabula.core.notes import Notes  # noqa: E402
from fabula.learn.loop import processes  # noqa: E402
from fabula.learn.models import hero, xml  # noqa: E402
from fabula.learn.retrieval import encoded, search  # noqa: E402
from fabula.learn.retrieval.data import Clips  # noqa: E402
from fabula.learn.retrieval.search import Corpus  # noqa: E402
from fabula.media.stores.features import Features, write_features  # noqa: E402


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FABULA_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(encoded, "LEAST", 0)
    return tmp_path / "cache" / "corpora"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    items = [(f"v{i}", rng.standard_normal((n, 8), dtype=np.float32)) for i, n in enumerate([5, 12, 30, 3])]
    write_features(tmp_path / "store.safetensors", items, {})
    return tmp_path / "store.safetensors"


def model_of(seed: int = 0, **changes: Any) -> Any:
    torch.manual_seed(seed)
    return xml.Model(xml.Config.tiny(feature_dim=8, query_dim=8, max_clips=12, hidden=16, **changes)).eval()


class Counted:
    """Encodes, and counts how often."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.times = 0
        monkeypatch.setattr(encoded, "encode_corpus", self)

    def __call__(self, *given: Any) -> Corpus:
        self.times += 1
        return search.encode_corpus(*given)


def corpus_of(model: Any, store: Path, notes: Notes | None, names: list[str] | None = None, **more: Any) -> Corpus:
    clips = Clips([Features(store)], model.config, keep=False)
    return encoded.encode_clips(
        model, clips, names or list(clips), {"v0": 4.5}, **{"batch_size": 3, **more}, cache=notes
    )


def same(a: Corpus, b: Corpus) -> bool:
    ours, other = ((*vars(c.rows).values(), c.durations, c.owner, c.offset, c.extent) for c in (a, b))
    return a.names == b.names and all(torch.equal(x, y) for x, y in zip(ours, other, strict=True))


def test_a_corpus_is_encoded_once(cache: Path, store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counted, notes = Counted(monkeypatch), Notes()
    first = corpus_of(model_of(), store, notes)
    assert first.durations.tolist() == [4.5, 12.0, 30.0, 3.0]
    assert same(first, corpus_of(model_of(), store, notes)) and counted.times == 1
    assert (
        same(first, corpus_of(model_of(alpha=3.0, nms=0.1), store, notes)) and counted.times == 1
    )  # not the encoder's
    assert same(first, corpus_of(model_of(), store, notes, batch_size=2)) and counted.times == 1  # pads are hidden
    assert same(first, corpus_of(model_of(), store, None)) and counted.times == 2
    assert len(list(cache.iterdir())) == 1 and not notes.lines()


def test_what_differs_is_encoded_again(cache: Path, store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counted, notes = Counted(monkeypatch), Notes()
    cases = [
        lambda: corpus_of(model_of(), store, notes),
        lambda: corpus_of(model_of(1), store, notes),
        lambda: corpus_of(model_of(normalize=False), store, notes),
        lambda: corpus_of(model_of(max_length=4), store, notes),  # windows share fewer clips
        lambda: corpus_of(model_of(pads="seen"), store, notes),
        lambda: corpus_of(model_of(pads="seen"), store, notes, batch_size=2),
        lambda: corpus_of(model_of(), store, notes, ["v1", "v0"]),
    ]
    for case in cases * 2:
        case()
    assert counted.times == len(cases) == len(list(cache.iterdir()))
    os.utime(store, ns=(1, 1))
    cases[0]()
    assert counted.times == len(cases) + 1


@pytest.mark.parametrize("damage", ["flip", "cut", "empty", "open"])
def test_a_damaged_file_is_not_used(damage: str, cache: Path, store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counted, notes = Counted(monkeypatch), Notes()
    first = corpus_of(model_of(), store, notes)
    [file] = cache.iterdir()
    data = bytearray(file.read_bytes())
    data[-100] ^= 1
    file.write_bytes({"flip": bytes(data), "cut": bytes(data[:-64]), "empty": b"", "open": file.read_bytes()}[damage])
    if damage == "open":
        file.chmod(0o666)
    assert same(first, corpus_of(model_of(), store, notes)) and counted.times == 2
    assert any("other users" in line for line in notes.lines()) == (damage == "open")
    if damage != "open":
        assert same(first, corpus_of(model_of(), store, notes)) and counted.times == 2  # written again


def test_a_folder_that_cannot_be_written_is_noted(cache: Path, store: Path) -> None:
    cache.parent.mkdir()
    cache.write_text("no folder")
    notes = Notes()
    corpus_of(model_of(), store, notes)
    assert "cannot be left" in notes.lines()[0]


def test_the_oldest_go_and_small_and_large_ones_stay_out(
    cache: Path, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes = Notes()
    monkeypatch.setattr(encoded, "COUNT", 2)
    for seed in range(4):
        corpus_of(model_of(seed), store, notes)
    assert len(list(cache.iterdir())) == 2
    monkeypatch.setattr(encoded, "ALL", 1)
    corpus_of(model_of(9), store, notes)
    assert len(list(cache.iterdir())) == 1
    for name, value in (("LEAST", 1 << 30), ("MOST", 1)):
        monkeypatch.setattr(encoded, name, value)
        corpus_of(model_of(10), store, notes)
    assert len(list(cache.iterdir())) == 1


def test_one_tensor_for_both_is_one_again(cache: Path, store: Path) -> None:
    """HERO's, of another store that holds no path of its own."""
    torch.manual_seed(0)
    words = ("<s>", "<pad>", "a", "<unk>")
    model: Any = hero.Model(hero.Config.tiny(feature_dim=8, max_clips=12, vocabulary=words)).eval()
    a, b = (corpus_of(model, store, Notes()) for _ in range(2))
    assert (a.rows.spans is a.rows.search) == (b.rows.spans is b.rows.search) and same(a, b)


def test_bf16_needs_a_processor_that_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    cpu = torch.device("cpu")
    monkeypatch.setattr(processes, "has_bf16", lambda device: False)
    with processes.reduce_precision("32", cpu):
        assert not torch.is_autocast_enabled("cpu")
    with pytest.raises(SpecError, match=r"no instructions for it.*use 32"):
        processes.reduce_precision("bf16", cpu)
    monkeypatch.setattr(processes, "has_bf16", lambda device: True)
    model = model_of()
    with processes.reduce_precision("bf16", cpu):
        rows = search.encode_corpus(model, [("a", torch.randn(5, 8), 5.0)]).rows
    plain = search.encode_corpus(model, [("a", torch.randn(5, 8), 5.0)]).rows
    assert rows.search.dtype == rows.spans.dtype == plain.search.dtype == torch.float32
    assert isinstance(processes.has_bf16(cpu), bool)


def test_who_predicts_loads_neither_lightning_nor_the_compiler() -> None:
    """Both cost more than torch itself."""
    code = (
        "import sys, torch; import fabula.learn.run, fabula.learn.retrieval.queries, fabula.learn.checkpoint as c\n"
        "from fabula.learn.models import xml\n"
        "with torch.device('meta'), c.WithoutDraws(): xml.Model(xml.Config.tiny(feature_dim=8, query_dim=8))\n"
        "print([m for m in ('lightning_fabric', 'torchmetrics', 'torch._dynamo', 'sympy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
