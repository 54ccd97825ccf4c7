"""MICap: what it may see and what it may not, its shapes, its decoding."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="models need fabula[learn]")

from fabula.core.errors import InputError, SpecError  # noqa: E402
from fabula.learn.identity.videosets import Batch, ClipFeatures, Videoset, collate  # noqa: E402
from fabula.learn.models import micap, room  # noqa: E402

SMALL = micap.Config.tiny(
    text_dim=6, action_dim=5, face_dim=4, frame_dim=3, words=20, sep=3, tokens=24, hidden=16, heads=2, feedforward=16
)


def person(k: int) -> int:
    return SMALL.blank + k


def clip_of(draw: np.random.Generator, name: str, faces: int = 2, frames: int = 4) -> ClipFeatures:
    def some(*shape: int) -> np.ndarray:
        return draw.normal(size=shape).astype(np.float32)

    box = np.abs(some(faces, 4)) * 100
    return ClipFeatures(
        name, some(frames, 3), some(7, 5), some(faces, 4), box, np.arange(faces) * 3.0, np.arange(faces)
    )


def videoset(name: str = "a", clips: int = 3, seed: int = 0) -> Videoset:
    draw = np.random.default_rng(seed)
    said = [SMALL.start]
    for k in range(clips):
        said += [person(1 + k % 2), 5 + k, 8, person(3), SMALL.sep]
    said += [SMALL.end]
    text = draw.normal(size=(2 * clips, 6)).astype(np.float32)
    return Videoset(name, tuple(clip_of(draw, f"{name}{k}") for k in range(clips)), tuple(said), text)


def made(config: micap.Config = SMALL) -> micap.Model:
    torch.manual_seed(1)
    return micap.Model(config).eval()


@pytest.fixture
def batch() -> Batch:
    return collate([videoset("a", 3), videoset("b", 2, seed=5)], SMALL)


def test_published_sizes() -> None:
    """592 tokens of memory, 575 without text; tables of 4, 6, 5, 400, 120 and 30538 rows."""
    with torch.device("meta"):
        model = micap.Model(micap.Config())
    shapes = {n: tuple(p.shape) for n, p in model.named_parameters()}
    rows = {"kind": 4, "clip": 6, "segment": 5, "cluster": 400, "position": 120, "word": 30538}
    assert {n: shapes[f"{n}.weight"] for n in rows} == {n: (k, 512) for n, k in rows.items()}
    assert shapes["head.weight"] == (30538, 512)
    dims = {"text": 1536, "action": 1024, "face": 512, "frame": 512}
    assert {n: shapes[f"inputs.{n}.weight"] for n in dims} == {n: (512, c) for n, c in dims.items()}
    D, FF = 512, 2048
    attention, feed, norm = 4 * D * D + 4 * D, 2 * D * FF + FF + D, 2 * D
    layers = 2 * (attention + feed + 2 * norm) + 3 * (2 * attention + feed + 3 * norm)
    tables = (4 + 6 + 5 + 400 + 120 + 30538) * D + sum(c * D + D for c in dims.values()) + 4 * D + D
    assert sum(p.numel() for p in model.parameters()) == layers + tables + 30538 * D + 30538
    config = micap.Config()
    assert (config.blank, config.start, config.end) == (30524, 30536, 30537)
    empty = np.zeros((0, 1), np.float32)
    none = ClipFeatures("x", *[empty] * 4, np.zeros(0), np.zeros(0, np.int64))
    b = collate([Videoset("x", (none,), (config.start, config.end))], config, full=True)
    assert sum(b.stream(s)[1].shape[1] for s in micap.STREAMS) == 17 + 25 + 300 + 250 == 592
    assert (b.tokens.shape[1], b.face.shape, b.frame.shape) == (120, (1, 300, 512), (1, 5, 50, 512))


def test_registered() -> None:
    assert room.get("micap") is micap.Model


def test_streams_of_the_two_passes(batch: Batch) -> None:
    model = made()
    assert list(model.encode(batch, "fitb").streams) == ["text", "action", "face", "frame"]
    assert list(model.encode(batch, "caption").streams) == ["action", "face", "frame"]
    assert model.passes == ("fitb", "caption")


def test_captions_are_told_without_text(batch: Batch) -> None:
    model = made()
    said, loss = model.generate(batch), model.loss(batch, "caption")["loss"]
    batch.text += 7
    assert model.generate(batch) == said and torch.equal(model.loss(batch, "caption")["loss"], loss)


def test_blanks_are_filled_without_seeing_the_truth(batch: Batch) -> None:
    """Whatever stands in the blanks, the answer is the same."""
    model = made()
    filled = model.fill(batch)
    blanks = model.is_person(batch.tokens)
    for other in (SMALL.blank, person(1), person(11)):
        changed = replace(batch, tokens=torch.where(blanks, other, batch.tokens))
        assert model.fill(changed) == filled


def test_a_blank_is_filled_without_seeing_the_future(batch: Batch) -> None:
    model = made()
    filled = model.fill(batch)
    later = torch.where(batch.token_mask & (torch.arange(batch.tokens.shape[1]) > 8), 17, batch.tokens)
    again = model.fill(replace(batch, tokens=later))
    assert [one[:3] for one in filled] == [one[:3] for one in again]  # blanks at 1, 4, 6; the fourth is behind
    far = batch.tokens.clone()
    far[:, 9:] = 17
    logits = [
        model.head(model.decode(t, batch.token_clip, model.encode(batch, "fitb")))[:, :9] for t in (batch.tokens, far)
    ]
    torch.testing.assert_close(*logits)


def test_filling_is_one_blank_after_another(batch: Batch) -> None:
    """Against a slow loop over single tokens: what was chosen is read before the next blank."""
    model = made()
    memory = model.encode(batch, "fitb")
    for b, answer in enumerate(model.fill(batch)):
        tokens = batch.tokens[b].clone()
        found = []
        for t in range(1, int(batch.token_mask[b].sum())):
            if model.is_person(tokens[t]):
                one = micap.Memory(memory.x[[b]], memory.real[[b]], memory.streams, memory.raw[[b]])
                h = model.decode(tokens[None, :t], batch.token_clip[None, b, :t], one)[0, -1]
                tokens[t] = SMALL.blank + 1 + int(model.head(h)[SMALL.blank + 1 : SMALL.start].argmax())
                found.append(int(tokens[t]))
        assert list(answer) == found


def test_padding_says_nothing() -> None:
    model = made()
    sets = [videoset("a", 3), videoset("b", 2, seed=5)]
    short, full = collate(sets, SMALL), collate(sets, SMALL, full=True)
    assert short.face.shape[1] < full.face.shape[1]
    assert model.fill(short) == model.fill(full) and model.generate(short) == model.generate(full)
    for part in model.passes:
        torch.testing.assert_close(model.loss(short, part)["loss"], model.loss(full, part)["loss"])
    alone = [model.generate(collate([one], SMALL))[0] for one in sets]
    assert alone == model.generate(short)


def test_telling_with_kept_keys_is_telling_anew(batch: Batch) -> None:
    model = made()
    memory = model.encode(batch, "caption")
    for b, row in enumerate(model.generate(batch)):
        tokens = torch.tensor(row)[None]
        clip = (tokens == SMALL.sep).cumsum(1)
        one = micap.Memory(memory.x[[b]], memory.real[[b]], memory.streams, memory.raw[[b]])
        best = model.head(model.decode(tokens, clip, one)).argmax(-1)[0]
        free = [t for t in range(1, len(row)) if clip[0, t - 1] < batch.clips[b]]
        assert [row[t] for t in free] == [int(best[t - 1]) for t in free]


def test_beams_find_what_enumeration_finds() -> None:
    """A vocabulary of few words and captionsets of four tokens, all of them laid out."""
    config = replace(SMALL, words=4, people=2, tokens=4, beam=200, sep=3)
    model = made(config)
    some = collate([replace(videoset("a", 1), tokens=(config.start, config.end), text=None)], config)
    memory = model.encode(some, "caption")

    def score(row: tuple[int, ...]) -> float:
        tokens = torch.tensor(row)[None]
        logp = model.head(model.decode(tokens, (tokens == 3).cumsum(1).clamp(max=5), memory)).log_softmax(-1)[0]
        free = [t for t in range(1, len(row)) if 3 not in row[:t]]  # behind the only [SEP], END costs nothing
        return sum(float(logp[t - 1, row[t]]) for t in free) / (len(row) - 1)

    every = range(config.size)
    rows = {(config.start, *rest) for n in (1, 2, 3) for rest in itertools.product(every, repeat=n)}
    whole = [r for r in rows if r[-1] == config.end and config.end not in r[:-1]]
    whole = [r for r in whole if 3 not in r or r.index(3) == len(r) - 2]
    with torch.no_grad():
        assert model.generate(some)[0] == max(whole, key=score)
        greedy = made(replace(config, beam=1)).generate(some)[0]
        one = made(replace(config, beam=2, length_power=0.0)).generate(some)[0]
    assert greedy[0] == one[0] == config.start


@pytest.mark.parametrize("beam", [1, 3])
def test_a_captionset_goes_on_as_it_began(batch: Batch, beam: int) -> None:
    """What is given stands; begun as it would be said anyway, the rest is the same."""
    model = made(replace(SMALL, beam=beam))
    said = model.generate(batch)
    again = model.generate(batch, [row[: 1 + len(row) // 2] for row in said])
    for row, whole in zip(again, said, strict=True):
        assert row == whole if beam == 1 else row[: len(whole) // 2] == whole[: len(whole) // 2]
    n = min(map(len, said)) - 1  # begun alike long, they are read at once
    assert model.generate(batch, [row[:n] for row in said]) == said or beam > 1
    other = [(model.config.start, 7, model.config.sep)] * len(said)
    assert all(row[:3] == other[0] for row in model.generate(batch, other))


def test_configurations_of_the_tables(batch: Batch) -> None:
    for changes in ({"streams": "text", "task": "fitb"}, {"encoder": False}, {"task": "fitb"}, {"task": "caption"},
                    {"streams": "action,face"}, {"caption_loss": "mean"}, {"face_clusters": "clip"},
                    {"classifier": "separate"}):  # fmt: skip
        config = replace(SMALL, **changes)
        model = made(config)
        b = collate([videoset("a", 3)], config)
        for part in model.passes:
            assert torch.isfinite(model.loss(b, part)["loss"])
        sum(model.loss(b, part)["loss"] for part in model.passes).backward()
        assert all(p.grad is not None for p in model.parameters()), changes  # nothing is built that nobody reads
        answer = model.predict(b)[0]
        assert (answer.filled is not None, answer.caption_tokens is not None) == (
            "fitb" in model.passes,
            "caption" in model.passes,
        )


def test_a_classifier_for_blanks_alone(batch: Batch) -> None:
    """Section 3.2: W^P apart from W^V*; the words' classifier has no part in blanks, and the other way round."""
    model = made(replace(SMALL, classifier="separate"))
    h = model.decode(batch.tokens, batch.token_clip, model.encode(batch, "fitb"))
    p = model.person_head(h).log_softmax(-1)
    rows = [(b, t) for b in range(2) for t in range(1, int(batch.token_mask[b].sum()))
            if model.is_person(batch.tokens[b, t])]  # fmt: skip
    mean = -sum(p[b, t - 1, batch.tokens[b, t] - SMALL.blank - 1] for b, t in rows) / len(rows)
    torch.testing.assert_close(model.loss(batch, "fitb")["loss"], mean)
    model.loss(batch, "fitb")["loss"].backward()
    assert model.head.weight.grad is None and model.person_head.weight.grad is not None
    with torch.no_grad():
        model.person_head.bias[6] += 100
    assert {t for one in model.fill(batch) for t in one} == {person(7)}
    with pytest.raises(SpecError, match="for task=joint"):
        replace(SMALL, classifier="separate", task="fitb")


def test_losses_are_weighed(batch: Batch) -> None:
    plain, weighed = made(), made(replace(SMALL, fitb_weight=0.25, caption_weight=3.0))
    for part, weight in (("fitb", 0.25), ("caption", 3.0)):
        a, b = plain.loss(batch, part), weighed.loss(batch, part)
        torch.testing.assert_close(b.pop("loss"), weight * a.pop("loss"))
        assert {n: t.item() for n, t in a.items()} == {n: t.item() for n, t in b.items()}  # the log stays comparable


def test_one_mean_is_eq_15(batch: Batch) -> None:
    model = made(replace(SMALL, caption_loss="mean"))
    h = model.head(model.decode(batch.tokens, batch.token_clip, model.encode(batch, "caption"))).log_softmax(-1)
    rows = [(b, t) for b in range(2) for t in range(1, int(batch.token_mask[b].sum()))]
    mean = sum(-h[b, t - 1, batch.tokens[b, t]] for b, t in rows) / len(rows)
    torch.testing.assert_close(model.loss(batch, "caption")["loss"], mean)


def test_people_alone_are_chosen(batch: Batch) -> None:
    model = made()
    with torch.no_grad():
        model.head.bias[5] += 100.0  # a word that would win
    assert all(person(1) <= t <= person(11) for one in model.fill(batch) for t in one)
    model.config = replace(SMALL, fitb_over="vocabulary")
    assert {t for one in model.fill(batch) for t in one} == {5}


def test_clusters_within_clips() -> None:
    one = videoset("a", 2)
    people = (np.array([7, 9]), np.array([9, 7]))
    one = replace(one, clips=tuple(replace(c, person=p) for c, p in zip(one.clips, people, strict=True)))
    rows = {
        w: collate([one], replace(SMALL, face_clusters=w)).face_cluster[0].tolist() for w in ("set", "clip", "none")
    }
    assert rows == {"set": [0, 1, 1, 0], "clip": [0, 1, 0, 1], "none": [0, 0, 0, 0]}


def test_a_set_without_faces_frames_or_blanks() -> None:
    empty = ClipFeatures("x", *(np.zeros((0, k), np.float32) for k in (3, 5, 4, 4)), np.zeros(0), np.zeros(0, np.int64))
    one = Videoset("x", (empty,), (SMALL.start, 5, SMALL.sep, SMALL.end))
    model = made()
    b = collate([one], SMALL)
    assert model.fill(b) == [()] and model.generate(b)[0][0] == SMALL.start
    assert model.loss(b, "fitb")["loss"].item() == 0 and torch.isfinite(model.loss(b, "caption")["loss"])
    text = made(replace(SMALL, streams="text", task="fitb"))
    assert torch.isfinite(text.encode(collate([one], text.config), "fitb").x).all()


def test_what_does_not_fit_is_said() -> None:
    with pytest.raises(InputError, match="6 clips; the model takes 5"):
        collate([videoset("a", 6)], SMALL)
    with pytest.raises(InputError, match="tokens; the model takes 9"):
        collate([videoset("a", 3)], replace(SMALL, tokens=9))
    with pytest.raises(InputError, match="6 blanks; the model takes 4"):
        collate([videoset("a", 3)], replace(SMALL, blanks=4))
    with pytest.raises(InputError, match="5 rows of text features for 6 blanks"):
        one = videoset("a", 3)
        collate([replace(one, text=one.text[:5])], SMALL)
    with pytest.raises(SpecError, match="text, action, face, frame"):
        replace(SMALL, streams="text,sound")
    with pytest.raises(SpecError, match="task=fitb"):
        replace(SMALL, streams="text")


def test_attention_rows_are_shares(batch: Batch) -> None:
    model = made()
    A, memory = model.look(batch, "fitb")
    assert A.shape == (2, batch.tokens.shape[1], memory.x.shape[1])
    torch.testing.assert_close(A[:, 1:].sum(-1), torch.ones_like(A[:, 1:, 0]))
    assert not A[:, 0].any() and not A[:, 1:][:, :, ~memory.real[1]][1].any()


def test_a_foreign_state_is_refused() -> None:
    with pytest.raises(SpecError, match="none of MICap's"):
        micap.official_name("backbone.conv1.weight")
    assert micap.official_name("decoder_layer.linear1.weight") is None
    assert micap.official_name("transformer_decoder.layers.2.multihead_attn.in_proj_bias") == "decoder.2.cross.qkv.bias"
