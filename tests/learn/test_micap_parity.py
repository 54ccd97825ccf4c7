"""MICap against vectors of the published program: batches, memories, logits, losses, gradients, answers, steps."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="models need fabula[learn]")
load_file = pytest.importorskip("safetensors.torch").load_file

from fabula.learn.identity.videosets import Batch, ClipFeatures, Videoset, collate  # noqa: E402
from fabula.learn.models import micap  # noqa: E402

WHERE = Path("shared", "spec", "vectors-models", "micap")  # beside the project
CASES = sorted(case for above in Path(__file__).resolve().parents for case in (above / WHERE).glob("case_*"))
pytestmark = pytest.mark.skipif(not CASES, reason=f"no vectors of the published program in ../{WHERE}")
CLOSE = {"atol": 1e-5, "rtol": 1e-5}


class Case(NamedTuple):
    folder: Path
    config: dict[str, Any]
    raw: dict[str, Any]
    scalars: dict[str, Any]
    arrays: dict[str, Any]  # raw features
    inputs: dict[str, Any]  # the published program's batch
    expected: dict[str, Any]

    def model(self, run: str) -> micap.Model:
        """The state of one run type, with the published program's rules."""
        c = self.config
        known = {"heads": c["heads"], "frames": c["frames"], "faces": c["max_faces"], "blanks": c["max_blanks"],
                 "sep": c["sep"], "people": c["unique_characters"], "dropout": 0.0, "fitb_over": "vocabulary",
                 "compat_last_slot": True, "compat_all_seps": True}  # fmt: skip
        return micap.from_official(load_file(self.folder / f"state_{run}.safetensors"), **known)

    def batch(self, model: micap.Model) -> Batch:
        """Made of the raw features by our own code."""
        sets = []
        for number, group in enumerate(self.raw["groups"]):
            people = iter(self.raw["clusters"][str(group["id"])])
            clips = []
            for k in group["videos"]:
                clip = self.raw["clips"][k]
                faces = clip["faces"]
                c, d = self.config, np.float32
                clips.append(ClipFeatures(
                    clip["clip"], self.array(f"{clip['clip']}.clip", c["clip_dim"]),
                    self.array(f"{clip['clip']}.fc", c["fc_dim"]), self.array(f"{clip['clip']}.face", c["face_dim"]),
                    np.array([json.loads(f["bbox"]) for f in faces], d).reshape(-1, 4),
                    np.array([float(f["frame_num"]) for f in faces]),
                    np.array([next(people, 0) for _ in faces], np.int64)))  # fmt: skip
            tokens = [t for t, m in zip(group["nba_caption"], group["nba_caption_mask"], strict=True) if m]
            blanks = sum(group["nba_blank_mask"])
            text = self.arrays[f"bert.{number}"].numpy()[:blanks]
            sets.append(Videoset(str(group["id"]), tuple(clips), tuple(tokens), text))
        return collate(sets, model.config, full=True, renumber=False)

    def array(self, name: str, dim: int) -> Any:
        return self.arrays[name].numpy() if name in self.arrays else np.zeros((0, dim), np.float32)


@pytest.fixture(scope="module", params=CASES, ids=lambda path: path.name)
def case(request: pytest.FixtureRequest) -> Case:
    folder: Path = request.param
    said = json.loads((folder / "case.json").read_text())
    stores = (load_file(folder / f"{name}.safetensors") for name in ("raw", "inputs", "expected"))
    return Case(folder, said["config"], said["raw"], said["scalars"], *stores)


RUNS = [("joint", "fitb"), ("joint", "caption"), ("fitb", "fitb"), ("fc", "caption")]


def test_config_is_read_from_the_state(case: Case) -> None:
    config, c = case.model("joint").config, case.config
    assert (config.blank, config.start, config.end, config.size) == (c["id_base"], c["start"], c["end"], c["vocab"])
    assert (config.hidden, config.feedforward, config.tokens) == (c["d"], c["ff"], c["max_len"])
    assert (config.encoder_layers, config.decoder_layers) == (c["enc_layers"], c["dec_layers"])
    assert (config.clips, config.segments, config.clusters) == (c["nvid"], c["nseg"], c["clusters"])


def test_batch(case: Case) -> None:
    model, theirs = case.model("joint"), case.inputs
    ours = case.batch(model)
    exact = {
        "tokens": "nba.gt_captions", "token_clip": "nba.segment_ids", "clips": "slot_sent.sent_num",
        "face_clip": "arc_face.vid_ids", "face_segment": "arc_face.segments", "frame_segment": "video_clip.segments",
        "face_cluster": "arc_face.clusters",
    }  # fmt: skip
    for name, other in exact.items():
        assert getattr(ours, name).tolist() == theirs[other].long().tolist(), name
    masks = {"token_mask": "nba.gt_masks", "face_mask": "arc_face.masks", "frame_mask": "video_clip.masks"}
    for name, other in masks.items():
        assert getattr(ours, name).tolist() == theirs[other].bool().tolist(), name
    assert ours.text_mask.tolist() == theirs["slot.slot_masks"][:, 1:].bool().tolist()
    assert ours.text_clip.tolist() == theirs["slot.slots"].clamp(min=0).tolist()
    assert model.is_person(ours.tokens).tolist() == theirs["nba.blank_masks"].bool().tolist()
    numbers = {"face": "arc_face.feats", "face_box": "arc_face.bbox", "frame": "video_clip.feats", "action": "fc.feats"}
    for name, other in numbers.items():
        torch.testing.assert_close(getattr(ours, name), theirs[other], atol=1e-6, rtol=1e-6)
    torch.testing.assert_close(ours.text[ours.text_mask], theirs["nba.bert_emb"][ours.text_mask])


@pytest.mark.parametrize(("run", "part"), RUNS)
def test_memory_logits_and_losses(case: Case, run: str, part: str) -> None:
    model = case.model(run)
    batch = case.batch(model)
    want = {n.removeprefix(f"{run}.{part}."): t for n, t in case.expected.items() if n.startswith(f"{run}.{part}.")}
    memory = model.encode(batch, part)
    assert memory.real.tolist() == (~want["memory_padding_mask"]).tolist()
    # Their blank slots without a blank hold what the file happened to hold; nobody reads them.
    text = memory.streams.get("text", slice(0, 0))
    read = torch.ones_like(memory.real)
    read[:, text] = memory.real[:, text]
    torch.testing.assert_close(memory.raw[read], want["encoder_input"][read], **CLOSE)
    torch.testing.assert_close(memory.x[read], want["memory"][read], **CLOSE)
    real = batch.token_mask
    torch.testing.assert_close(model.embed(batch.tokens, batch.token_clip)[real], want["decoder_input"][real], **CLOSE)
    h = model.decode(batch.tokens, batch.token_clip, memory)
    torch.testing.assert_close(h[real], want["decoder_output"][real], **CLOSE)
    torch.testing.assert_close(model.head(h)[real], want["logits_all"][real], **CLOSE)
    losses = model.loss(batch, part)
    assert losses["loss"].item() == pytest.approx(case.scalars[f"{run}.{part}.loss"], abs=1e-5, rel=1e-6)
    if part == "caption":
        assert losses["people"].item() == pytest.approx(case.scalars[f"{run}.caption.loss_id"], abs=1e-5, rel=1e-6)
        assert losses["words"].item() == pytest.approx(case.scalars[f"{run}.caption.loss_word"], abs=1e-5, rel=1e-6)


@pytest.mark.parametrize("part", ["fitb", "caption"])
def test_gradients(case: Case, part: str) -> None:
    model = case.model("joint")
    model.loss(case.batch(model), part)["loss"].backward()
    theirs = load_file(case.folder / f"grad_joint_{part}.safetensors")
    ours = {n: p.grad for n, p in model.named_parameters() if p.grad is not None}
    named = {name: t for other, t in theirs.items() if (name := micap.official_name(other))}
    assert {n for n, t in named.items() if t.any()} <= ours.keys()
    for name, grad in ours.items():
        torch.testing.assert_close(grad, named.get(name, torch.zeros_like(grad)), **CLOSE, msg=name)


@pytest.mark.parametrize("run", ["joint", "fitb"])
def test_blanks_are_filled_alike(case: Case, run: str) -> None:
    model = case.model(run)
    filled = [token for one in model.fill(case.batch(model)) for token in one]
    base = model.config.blank if run == "fitb" else 0
    assert [token - base for token in filled] == case.expected[f"{run}.fitb.greedy_ids"].tolist()


@pytest.mark.parametrize("run", ["joint", "fc"])
def test_captions_are_told_alike(case: Case, run: str) -> None:
    model = case.model(run)
    for row, want in zip(model.generate(case.batch(model)), case.expected[f"{run}.caption.greedy_tokens"], strict=True):
        assert [*row, *[0] * (len(want) - len(row))] == want.tolist()


def test_an_id_in_the_last_slot(case: Case) -> None:
    """The published program counts it as a word; here it is a person, unless its rule is asked for."""
    model = case.model("joint")
    batch = case.batch(model)
    for ours, theirs in (("tokens", "gt_captions"), ("token_clip", "segment_ids")):
        setattr(batch, ours, case.inputs[f"edge.nba.{theirs}"])
    batch.token_mask = case.inputs["edge.nba.gt_masks"].bool()
    fitb, caption = model.loss(batch, "fitb"), model.loss(batch, "caption")
    assert fitb["loss"].item() == pytest.approx(case.scalars["edge.fitb.loss"], abs=1e-5)
    assert caption["people"].item() == pytest.approx(case.scalars["edge.caption.loss_id"], abs=1e-5)
    assert caption["words"].item() == pytest.approx(case.scalars["edge.caption.loss_word"], abs=1e-5)
    right = micap.Model(replace(model.config, compat_last_slot=False))
    right.load_state_dict(model.state_dict())
    assert right.loss(batch, "fitb")["loss"].item() != pytest.approx(case.scalars["edge.fitb.loss"], abs=1e-5)
    # The right rule by pencil: one id more among the ids.
    h = model.decode(batch.tokens, batch.token_clip, model.encode(batch, "fitb"))
    rows = [(b, t) for b in range(len(batch.names)) for t in range(1, batch.tokens.shape[1])
            if batch.token_mask[b, t] and model.is_person(batch.tokens[b, t])]  # fmt: skip
    each = [-model.head(h[b, t - 1]).log_softmax(-1)[batch.tokens[b, t]].item() for b, t in rows]
    assert len(each) == case.scalars["edge.fitb.count_id"] + 1
    assert right.loss(batch, "fitb")["loss"].item() == pytest.approx(sum(each) / len(each), abs=1e-5)


def step(model: micap.Model, batch: Batch, part: str, optimizer: Any, to_none: bool = True) -> float:
    """One pass as the published loop does it: gradients within ±.1, then a step."""
    optimizer.zero_grad(set_to_none=to_none)
    loss = model.loss(batch, part)["loss"]
    loss.backward()
    torch.nn.utils.clip_grad_value_(model.parameters(), model.recipe["clip_value"])
    optimizer.step()
    return loss.item()


def test_two_steps_of_sgd(case: Case) -> None:
    model = case.model("joint").train()
    batch = case.batch(model)
    theirs = load_file(case.folder / "joint_sgd.safetensors")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    for part in model.passes:
        step(model, batch, part, optimizer)
        after = {n.removeprefix(f"after_{part}_step."): t for n, t in theirs.items() if n.startswith(f"after_{part}_")}
        ours = model.state_dict()
        for name, t in after.items():
            torch.testing.assert_close(ours[micap.official_name(name)], t, **CLOSE, msg=f"{part} {name}")


@pytest.mark.parametrize("zero", ["torch1.13_zero", "torch2_none"])
def test_six_steps_of_adam(case: Case, zero: str) -> None:
    model = case.model("joint").train()
    batch = case.batch(model)
    log = case.scalars[f"joint_train.adam.{zero}.losses_fitb_caption_per_iteration"]
    recipe = model.recipe
    optimizer = torch.optim.Adam(model.parameters(), lr=recipe["lr"], betas=recipe["betas"])
    if zero == "torch1.13_zero":
        for p in model.parameters():
            p.grad = torch.zeros_like(p)
    for want in log:
        ours = [step(model, batch, part, optimizer, zero != "torch1.13_zero") for part in model.passes]
        assert ours == pytest.approx(want, abs=2e-5)


@pytest.mark.parametrize("zero", ["torch1.13_zero", "torch2_none"])
def test_parameters_after_adam(case: Case, zero: str) -> None:
    """Where the gradient is more than rounding: Adam makes a whole step of any gradient, however small."""
    model = case.model("joint").train()
    batch = case.batch(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    sure = {n: torch.ones_like(p, dtype=torch.bool) for n, p in model.named_parameters()}
    for p in model.parameters():
        p.grad = torch.zeros_like(p)
    for part in model.passes:
        step(model, batch, part, optimizer, zero == "torch2_none")
        begin = f"joint_adam.{zero}.after_{part}_step."
        for name, p in model.named_parameters():
            sure[name] &= True if p.grad is None else (p.grad.abs() > 1e-6) | (p.grad == 0)
        for theirs, want in case.expected.items():
            if theirs.startswith(begin):
                name = micap.official_name(theirs.removeprefix(begin))
                ours = model.get_parameter(name).detach()
                torch.testing.assert_close(ours[sure[name]], want[sure[name]], **CLOSE, msg=theirs)
