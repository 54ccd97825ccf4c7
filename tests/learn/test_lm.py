"""T5 and GPT-2 that see: transformers' own loss, people alone at blanks, folders of weights, decoding with a cache."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="models need fabula[learn]")
for module in ("lightning_fabric", "safetensors", "tokenizers"):
    pytest.importorskip(module, reason="training needs fabula[learn]")
transformers = pytest.importorskip("transformers", reason="T5 and GPT-2 need fabula[lm]")

import tokenizers  # noqa: E402

import fabula  # noqa: E402
from fabula.core.errors import InputError, SpecError  # noqa: E402
from fabula.learn import checkpoint  # noqa: E402
from fabula.learn.identity.videosets import Batch, ClipFeatures, Videoset, collate  # noqa: E402
from fabula.learn.identity.wordpiece import open_pieces  # noqa: E402
from fabula.learn.models import lm  # noqa: E402
from fabula.learn.worlds.films import Recipe, write_world  # noqa: E402

SIZES = {"hidden": 16, "heads": 2, "feedforward": 16, "decoder_layers": 1, "prefix": 4}
SMALL = lm.Config.tiny(text_dim=6, action_dim=5, face_dim=4, frame_dim=3, words=20, sep=3, tokens=24, **SIZES)
RECIPE = Recipe(train_films=2, val_films=1, test_films=1, clips=6, face_dim=8, action_dim=4, frame_dim=4)
FAST = {"epochs": 1, "batch_size": 8, "lr": 1e-3, "threads": 1, "device": "cpu"}
BASES = ("t5", "gpt2")
JOINT = {"task": "joint", "streams": "text,action,face,frame"}


def videoset(name: str, clips: int, seed: int) -> Videoset:
    draw = np.random.default_rng(seed)

    def clip(k: int) -> ClipFeatures:
        x = [draw.normal(size=shape).astype(np.float32) for shape in ((4, 3), (7, 5), (2, 4))]
        return ClipFeatures(
            f"{name}{k}", *x, np.abs(draw.normal(size=(2, 4))).astype("f4"), np.arange(2.0), np.arange(2)
        )

    people = SMALL.blank + 1
    rows = [t for k in range(clips) for t in (people + k % 2, 5 + k, 8, people + 2, SMALL.sep)]
    text = draw.normal(size=(2 * clips, 6)).astype(np.float32)
    return Videoset(name, tuple(map(clip, range(clips))), (SMALL.start, *rows, SMALL.end), text)


def model_of(base: str, **changes: object) -> lm.Model:
    torch.manual_seed(1)
    return lm.Model(replace(SMALL, base=base, **changes)).eval()


@pytest.fixture(scope="module")
def batch() -> Batch:
    return collate([videoset("a", 3, 0), videoset("b", 2, 5)], replace(SMALL, **JOINT))


def whole(model: lm.Model) -> object:
    """The same weights in transformers' own model, whose loss is its own."""
    config = model.config
    if config.base == "t5":
        shape = transformers.T5Config(**{**config.shape(), "vocab_size": config.size, "pad_token_id": 0})
        theirs = transformers.T5ForConditionalGeneration(shape)
        theirs.encoder.load_state_dict(model.reader.state_dict(), strict=False)
        theirs.decoder.load_state_dict(model.writer.state_dict(), strict=False)
        theirs.shared.weight.data = model.word.weight.data
        theirs.lm_head.weight = theirs.shared.weight
    else:
        theirs = transformers.GPT2LMHeadModel(transformers.GPT2Config(**{**config.shape(), "vocab_size": config.size}))
        theirs.transformer.load_state_dict(model.writer.state_dict(), strict=False)
        theirs.transformer.wte.weight.data = model.word.weight.data
        theirs.lm_head.weight = theirs.transformer.wte.weight
    return theirs.eval()


@pytest.mark.parametrize("streams", ["frame", "action,face,frame"])
@pytest.mark.parametrize("base", BASES)
def test_the_loss_is_transformers_own(base: str, streams: str, batch: Batch) -> None:
    model = model_of(base, streams=streams)
    theirs, tokens, real = whole(model), batch.tokens, batch.token_mask
    labels = torch.where(real, tokens, -100)
    if base == "t5":
        seen = model.see(batch, "caption")
        want = theirs(inputs_embeds=seen.x, attention_mask=seen.real.long(), decoder_input_ids=tokens[:, :-1],
                      labels=labels[:, 1:].contiguous()).loss  # fmt: skip
    else:
        prefix = model.encode(batch, "caption").x
        labels[:, 0] = -100  # START is given
        none = torch.full(prefix.shape[:2], -100)
        want = theirs(
            inputs_embeds=torch.cat([prefix, model.word(tokens)], 1), labels=torch.cat([none, labels], 1)
        ).loss
    torch.testing.assert_close(model.loss(batch, "caption")["loss"], want, atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("base", BASES)
def test_only_people_fill_blanks(base: str, batch: Batch) -> None:
    model = model_of(base, **JOINT)
    with torch.no_grad():
        h = model.decode(batch.tokens[:, :1], batch.tokens[:, :1], model.encode(batch, "fitb"))
        model.word.weight[5] = 100 * h[0, 0]  # a word that would win
    first = SMALL.blank + 1
    filled = model.fill(batch)
    assert list(map(len, filled)) == [6, 4]
    assert all(first <= t < first + SMALL.people for one in filled for t in one)
    loose = model_of(base, **JOINT, fitb_over="vocabulary")
    loose.load_state_dict(model.state_dict())
    assert any(t == 5 for one in loose.fill(batch) for t in one)


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("beam", [1, 3])
def test_the_cache_changes_nothing(base: str, beam: int, batch: Batch) -> None:
    """Greedy words are those of a decoder that reads everything anew each time; beams are at least as likely."""
    model = model_of(base, beam=beam)
    with torch.no_grad():
        memory = model.encode(batch, "caption")
        for b, row in enumerate(model.generate(batch)):
            one = lm.micap.Memory(memory.x[[b]], memory.real[[b]], memory.streams, memory.raw[[b]])
            read = torch.tensor([row[:-1]])
            best = model.logits(model.decode(read, read, one))[0].argmax(-1).tolist()
            same = [w == g or w == SMALL.end for w, g in zip(row[1:], best, strict=True)]  # END may be forced
            assert row[0] == SMALL.start and (all(same) or beam > 1)
            assert len(row) <= SMALL.tokens


@pytest.mark.parametrize("base", BASES)
def test_a_caption_does_not_look_ahead(base: str, batch: Batch) -> None:
    model = model_of(base)
    memory = model.encode(batch, "caption")
    h = model.decode(batch.tokens, batch.token_clip, memory)
    changed = batch.tokens.clone()
    changed[:, 6:] = 7
    torch.testing.assert_close(model.decode(changed, batch.token_clip, memory)[:, :6], h[:, :6], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("base", BASES)
def test_every_weight_is_used(base: str, batch: Batch) -> None:
    model = model_of(base, **JOINT)
    sum(model.loss(batch, part)["loss"] for part in model.passes).backward()
    assert all(p.grad is not None for p in model.parameters())


# --- files -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("world")
    write_world(folder, RECIPE)
    return folder


def save(base: str, folder: Path) -> Path:
    """A folder as save_pretrained writes it, with a small tokenizer."""
    texts = ["walks to the door of the kitchen", "hugs follows takes a lamp in"]
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    if base == "gpt2":
        tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = tokenizers.decoders.ByteLevel()
        alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    else:
        tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
        tokenizer.decoder = tokenizers.decoders.Metaspace()
        alphabet = [*map(chr, range(33, 127))]
    trainer = tokenizers.trainers.BpeTrainer(vocab_size=400, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator(texts, trainer)
    n = tokenizer.get_vocab_size()
    if base == "t5":
        config = transformers.T5Config(vocab_size=n, d_model=16, d_kv=8, d_ff=16, num_layers=1, num_heads=2)
        model = transformers.T5ForConditionalGeneration(config)
    else:
        config = transformers.GPT2Config(vocab_size=n, n_embd=16, n_layer=1, n_head=2, n_positions=256,
                                         bos_token_id=0, eos_token_id=0)  # fmt: skip
        model = transformers.GPT2LMHeadModel(config)
    model.save_pretrained(folder)
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


@pytest.mark.parametrize("base", BASES)
def test_from_a_folder_of_weights(base: str, world: Path, tmp_path: Path) -> None:
    """Weights and words of the folder; a checkpoint needs the folder no more."""
    folder = save(base, tmp_path / base)
    fabula.train("micap", data=world, features=world, preset=f"{base}-clip", from_=folder, settings=FAST,
                 out=tmp_path / "run", set_={"prefix": 4, "bridge_layers": 1, "tokens": 200})  # fmt: skip
    theirs = lm.Model.read_folder(folder)[1]
    weights, header = checkpoint.read(tmp_path / "run" / "last.safetensors", weights_only=True)
    n = len(theirs["word.weight"])
    assert len(weights["model.word.weight"]) == n + 3 + 11 + 2
    torch.testing.assert_close(weights["model.word.weight"][:n], theirs["word.weight"], atol=2e-3, rtol=0)
    assert header["config"]["streams"] == "frame" and header["config"]["base"] == base
    for file in folder.iterdir():
        file.unlink()
    told = fabula.predict("micap", tmp_path / "run", task="caption", data=world, split="test", features=world)
    assert [len(one.captions) for one in told.values()] == [5]


@pytest.mark.parametrize("base", BASES)
def test_captions_to_tokens_and_back(base: str, tmp_path: Path) -> None:
    sizes, _ = lm.Model.read_folder(save(base, tmp_path))
    config = lm.Config.tiny(**sizes)
    pieces = open_pieces(config)
    said = ["P7 walks to the door.", "The hugs of P2's lamp, P7 in!"]
    tokens = pieces.encode(said)
    assert [t - config.blank for t in tokens if config.blank <= t < config.start] == [1, 2, 1]
    assert tokens.count(config.sep) == 2 and max(tokens) == config.end
    assert pieces.decode(tokens, 3) == ["P1 walks to the door.", "The hugs of P2's lamp, P1 in!.", ""]


def test_folders_that_will_not_do(world: Path, tmp_path: Path) -> None:
    folder = save("t5", tmp_path / "t5")
    asked = {"data": world, "features": world, "settings": FAST, "out": tmp_path / "run"}
    with pytest.raises(SpecError, match="base is gpt2; the weights are of t5"):
        fabula.train("micap", preset="gpt2-clip", from_=folder, **asked)
    with pytest.raises(SpecError, match="name the folder of T5's or GPT-2's weights"):
        fabula.train("micap", preset="t5-clip", **asked)
    (folder / "tokenizer.json").unlink()
    with pytest.raises(InputError, match=r"no tokenizer\.json in this folder"):
        fabula.train("micap", preset="t5-clip", from_=folder, **asked)
    save("t5", folder)
    shape = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**shape, "model_type": "bert"}))
    with pytest.raises(InputError, match="weights of 'bert'"):
        fabula.train("micap", preset="t5-clip", from_=folder, **asked)


@pytest.mark.parametrize("base", BASES)
def test_a_small_one_at_random(base: str, world: Path, tmp_path: Path) -> None:
    """--tiny: no folder; blanks and captions with one set of weights."""
    line = fabula.train("micap", data=world, features=world, model="lm", tiny=True, settings=FAST, out=tmp_path / "run",
                        set_={**SIZES, "base": base, **JOINT})  # fmt: skip
    assert {"val_class", "val_CIDEr"} <= line.keys()
    filled = fabula.predict("micap", tmp_path / "run", task="fitb", data=world, split="test", features=world)
    assert all(id in {f"P{k}" for k in range(1, 12)} for one in filled.values() for ids in one.blanks for id in ids)
