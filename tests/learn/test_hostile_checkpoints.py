"""Checkpoints that are damaged, or of something else: one line each, and no memory taken on their word."""

from __future__ import annotations

import json
import random
import struct
from pathlib import Path
from typing import Any

import pytest

from fabula.core.errors import FabulaError, InputError

torch = pytest.importorskip("torch", reason="training needs fabula[learn]")
pytest.importorskip("lightning_fabric", reason="training needs fabula[learn]")

from fabula.learn import checkpoint  # noqa: E402
from fabula.learn.loop import logs  # noqa: E402
from fabula.learn.loop.folder import Place, must_agree, place_of  # noqa: E402
from fabula.learn.models import room  # noqa: E402
from tests.learn.test_hostile_stores import HOSTILE  # noqa: E402

WRONG: list[Any] = [None, -1, 1e308, "x", [], {}, True, 10**30]


@pytest.fixture(scope="module")
def model():
    cls = room.get("procnets")
    return cls(cls.config_class.tiny(feature_dim=4, hidden=8, frames=40))


@pytest.fixture
def kept(model, tmp_path: Path) -> Path:
    path = tmp_path / "kept.safetensors"
    checkpoint.write(path, {f"model.{n}": t for n, t in model.state_dict().items()}, checkpoint.header_of(model))
    return path


def rewrite(path: Path, header: Any, tensors: dict[str, Any] | None = None) -> Path:
    """The same tensors under another header, without seal and digests: as an earlier version might have left them."""
    from safetensors.torch import load_file, save_file

    save_file(load_file(path) if tensors is None else tensors, path, metadata={"fabula": json.dumps(header)})
    return path


def plain(path: Path) -> dict[str, Any]:
    _, header = checkpoint.read(path)
    return {n: v for n, v in header.items() if n not in ("seal", "digests")}


def said(path: Path) -> str:
    with pytest.raises(FabulaError) as error:
        checkpoint.load_model(path)
    line = str(error.value)
    assert "\n" not in line and len(line) <= 500 and str(path) in line, line
    return line


def test_what_was_written_is_read(kept, model):
    again, header = checkpoint.load_model(kept)
    assert header["model"] == "procnets"
    for name, t in model.state_dict().items():
        assert torch.equal(again.state_dict()[name], t)
    checkpoint.load_model(rewrite(kept, plain(kept)))  # one of an earlier version, without digests


@pytest.mark.parametrize("kind", HOSTILE)
def test_safetensors_that_are_none(tmp_path, kind):
    (tmp_path / "x.safetensors").write_bytes(HOSTILE[kind])
    said(tmp_path / "x.safetensors")


def test_pickles_are_not_opened(tmp_path):
    torch.save({"model": torch.zeros(1)}, tmp_path / "x.pt")
    assert "not a readable checkpoint" in said(tmp_path / "x.pt")
    assert "no such run or checkpoint" in said(tmp_path / "nowhere.safetensors")


def test_every_cut_and_many_flips(kept, tmp_path):
    data, rng = kept.read_bytes(), random.Random(3)
    path = tmp_path / "x.safetensors"
    for size in [0, 1, 7, 8, 9, *(rng.randrange(len(data)) for _ in range(20))]:
        path.write_bytes(data[:size])
        said(path)
    for _ in range(60):
        bent = bytearray(data)
        bent[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        path.write_bytes(bytes(bent))
        try:
            checkpoint.load_model(path)
        except FabulaError as error:
            assert "\n" not in str(error) and len(str(error)) <= 500
        else:  # blanks that pad the header
            head = 8 + struct.unpack("<Q", data[:8])[0]
            assert bytes(bent)[head:] == data[head:]


@pytest.mark.parametrize("text", ["5", "[]", "null", '"x"', "{", "", "[" * 100_000, "{}", '{"model": "procnets"}'])
def test_headers_that_are_none(kept, text):
    from safetensors.torch import load_file, save_file

    save_file(load_file(kept), kept, metadata={"fabula": text})
    said(kept)


def test_every_value_of_the_header(kept):
    header = plain(kept)
    for name in ("format", "model", "config"):
        for wrong in WRONG:
            if name == "format" and wrong is True:
                continue
            said(rewrite(kept, {**header, name: wrong}))
        said(rewrite(kept, {n: v for n, v in header.items() if n != name}))


def test_every_value_of_the_config(kept, model):
    """What makes the same model is taken; what does not is refused, before there is any such model."""
    header = plain(kept)
    for name, value in header["config"].items():
        for wrong in [*WRONG, 10**9, 0]:
            rewrite(kept, {**header, "config": {**header["config"], name: wrong}})
            try:
                again, _ = checkpoint.load_model(kept)
            except FabulaError as error:
                assert "\n" not in str(error) and len(str(error)) <= 500
            else:
                assert type(wrong) in (type(value), int)
                assert {n: t.shape for n, t in again.state_dict().items()} == {
                    n: t.shape for n, t in model.state_dict().items()
                }


def test_weights_that_do_not_fit(kept, model):
    header = plain(kept)
    own = {f"model.{n}": t.clone() for n, t in model.state_dict().items()}
    first = next(iter(own))
    for bad, why in [
        (torch.zeros(3, 3, 3), "the weights do not fit"),
        (own[first].double(), "of float64"),
        (own[first].to(torch.complex64), "of complex64"),
        (torch.full_like(own[first], float("nan")), "not finite"),
    ]:
        assert why in said(rewrite(kept, header, {**own, first: bad}))
    assert "nothing in the file" in said(rewrite(kept, header, {n: t for n, t in own.items() if n != first}))
    assert "nothing in the model" in said(rewrite(kept, header, {**own, "model.more": torch.zeros(1)}))
    assert "another model" in said(rewrite(kept, {**header, "model": "nobody"}))


def test_more_than_the_memory(kept, monkeypatch):
    monkeypatch.setattr(checkpoint, "available", lambda: 100)
    assert "of memory are free" in said(kept)


def test_places_that_are_none():
    import dataclasses

    good = dataclasses.asdict(Place(epoch=1, sums={"loss": 2.0}))
    assert place_of(good, Path("x")) == Place(epoch=1, sums={"loss": 2.0})
    for name in good:
        for wrong in ["x", -1, [], True, 10**400]:
            with pytest.raises(InputError, match="has no training state"):
                place_of({**good, name: wrong}, Path("x"))
        with pytest.raises(InputError):
            place_of({n: v for n, v in good.items() if n != name}, Path("x"))
    for wrong in WRONG:
        with pytest.raises(InputError):
            place_of(wrong, Path("x"))


def test_optimisers_that_do_not_fit(model):
    def fresh():
        made = torch.optim.Adam(model.parameters(), 1e-3)
        for p in model.parameters():
            p.grad = torch.zeros_like(p)
        return made

    optimizer = fresh()
    optimizer.step()
    tensors, told = checkpoint.optimizer_tensors(optimizer)
    told = json.loads(json.dumps(told))
    checkpoint.restore_optimizer(fresh(), tensors, {"optimizer": told}, "x")
    some = next(n for n in tensors if n.endswith("exp_avg"))
    spoilt = [
        (tensors, {}),
        *((tensors, {"optimizer": wrong}) for wrong in WRONG),
        *((tensors, {"optimizer": {**told, part: wrong}}) for wrong in WRONG for part in told if wrong != told[part]),
        ({n: t for n, t in tensors.items() if n != some}, {"optimizer": told}),
        ({**tensors, some: torch.zeros(7, 7)}, {"optimizer": told}),
        ({**tensors, "optimizer.99999.step": torch.zeros(())}, {"optimizer": told}),
        ({**tensors, "optimizer.": torch.zeros(())}, {"optimizer": told}),
    ]
    for some_tensors, header in spoilt:
        with pytest.raises(InputError):
            checkpoint.restore_optimizer(fresh(), some_tensors, header, "x")


@pytest.mark.parametrize("document", [5, [], None, {}, {"config": 5, "settings": {}}, {"config": {}, "settings": []}])
def test_a_config_of_a_run_that_is_none(document):
    wanted = {"model": "pdvc", "config": {"hidden": 8}, "settings": {"lr": 1}}
    with pytest.raises(InputError):
        must_agree(document, wanted, Path("config.json"))


@pytest.mark.parametrize("data", [b"", b"\xff\xfe", b"a,b\n1,2\n", b"step\n\0\n", b"step,loss\n1,2\n2,\n\xff"])
def test_tables_that_are_none(tmp_path, data):
    path = tmp_path / "steps.csv"
    path.write_bytes(data)
    try:
        logs.cut(path, "step", 5)
    except InputError as error:
        assert "is damaged" in str(error) and "--overwrite" in str(error)
    else:
        assert not path.exists() or path.read_text().startswith("step")


def test_half_a_line_is_dropped(tmp_path):
    path = tmp_path / "steps.csv"
    path.write_text("step,loss\n1,0.5\n2,0.25\n3,0.1\n1")
    logs.cut(path, "step", 2)
    assert path.read_text() == "step,loss\n1,0.5\n2,0.25\n"
