"""fabula features: raw video to features, and what a store of features says of itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import click

from fabula.core.notes import Notes
from fabula.learn import need_learn
from fabula.learn.options import BlankOptions, TuneOptions
from fabula.learn.text_features import TextOptions, write_text_store
from fabula.media.calls import extract_features
from fabula.media.cut import cut_store
from fabula.media.options import CutOptions, ExtractOptions
from fabula.media.published import ConvertFeaturesOptions, convert_published
from fabula.media.stores.features import Features
from fabula.verbs.terminal.console import VerbGroup, print_note, show_progress, warn
from fabula.verbs.terminal.flags import flags, path_argument
from fabula.verbs.terminal.out import Shown, check_new, show


@click.group("features", cls=VerbGroup)
def command() -> None:
    """Extract features of raw videos, and inspect stores of features."""


@command.command()
@path_argument("videos", nargs=-1, required=True)
@flags(ExtractOptions, into="options")
def extract(videos: tuple[Path, ...], options: ExtractOptions) -> None:
    """Extract features of VIDEOS (files or folders) into a store with a manifest.

    \b
    fabula features extract videos/ --with efficientnet_lite0 -o features.h5
    fabula features extract videos/ --with "onnx(size=112,mean=0.5,std=0.5):net.onnx" --fps 4 -o features/
    fabula features extract videos/ --with efficientnet_lite0 -o features.h5 --resume     after a stop

    A store is ready for training: fabula train pss --features features.h5 …
    """
    with show_progress() as progress:
        done = extract_features(videos, options, progress, warn)
    print_note(
        f"{done.videos:,} videos of {done.duration:,.0f} s, {done.features:,} features → {options.out} ({done.speed})"
    )
    if done.left_out:
        print_note(f"{len(done.left_out):,} videos were left out, as --skip-bad says; the manifest names them")


@command.command()
@path_argument("queries", nargs=-1, required=True)
@flags(TextOptions, into="options")
def text(queries: tuple[Path, ...], options: TextOptions) -> None:
    """Encode the captions of QUERIES (files of moments) into a store: what `train vcmr --words` reads.

    \b
    fabula features text charades_fig/*.jsonl --model roberta-base/ -o words.h5
    fabula features text didemo_fig/*.jsonl --model roberta-base/ --granularity both --by text -o words.h5
    fabula features text moments.jsonl --model openclip:vit.safetensors --each text --by text --disturbed 3 -o texts.h5
    """
    notes = Notes()
    with show_progress() as progress:
        count = write_text_store(queries, options, notes, progress)
    for line in notes.lines():
        warn(line)
    print_note(f"{count:,} texts → {options.out}")


@command.command()
@path_argument("store")
@flags(CutOptions, into="options")
def cut(store: Path, options: CutOptions) -> None:
    """Cut a STORE of films into clips: the streams frame and action that MICap reads.

    \b
    fabula features cut films.safetensors --clips clips.jsonl -o streams/frame.safetensors
    """
    count = cut_store(store, options.clips, options.out, options.overwrite)
    print_note(f"{count:,} clips → {options.out}")


@command.command()
@path_argument("source")
@flags(ConvertFeaturesOptions, into="options")
def convert(source: Path, options: ConvertFeaturesOptions) -> None:
    """Convert features as MICap's and FillIn's authors publish them into stores.

    \b
    fabula features convert clip_features/ -o streams/frame.h5            FILM/CLIP.npy
    fabula features convert i3d/ -o streams/action.h5                     FILM/CLIP.npy
    fabula features convert arcface/ --ending .h5 -o streams/             FILM/CLIP_concatenated.npy, FILM/CLIP.info
    fabula features convert bert_text_gender_embedding/ --info LSMDC16_info_fillin_new_augmented.json -o streams/text.h5
    fabula features convert LSMDC16_annos_gender.json --info LSMDC16_info_fillin_new_augmented.json -o streams/gender.h5
    fabula features convert face_features_rgb_mtcnn_cluster/ --kind people -o streams/

    Pickles are read without executing anything in them.
    """
    notes = Notes()
    written = convert_published(source, options, notes)
    for line in notes.lines():
        warn(line)
    print_note(", ".join(f"{count:,} entries → {path}" for path, count in written.items()))


@command.command()
@path_argument("data", nargs=-1, required=True)
@flags(BlankOptions, into="options")
def blanks(data: tuple[Path, ...], options: BlankOptions) -> None:
    """Encode the blanks of captionsets by BERT: the stream text that MICap reads.

    DATA are captionsets, captions of clips, or a folder of splits. A row of the store is [CLS; blank]: 1536 numbers.

    \b
    fabula features blanks sets/ --model bert-base-uncased/ -o streams/text.safetensors
    fabula features blanks LSMDC16_annos_val_blank.csv --sets valSets.csv --model bert/ -o text.h5
    """
    from fabula.learn.identity.blank_features import make_blank_store

    if not options.overwrite:
        check_new(options.out)
    notes = Notes()
    with show_progress() as progress:
        count, rows = make_blank_store(data, options, notes, progress)
    for line in notes.lines():
        warn(line)
    print_note(f"{rows:,} blanks of {count:,} captionsets → {options.out}")


@command.command()
@path_argument("data", nargs=-1, required=True)
@flags(TuneOptions, into="options")
def tune(data: tuple[Path, ...], options: TuneOptions) -> None:
    """Tune BERT to tell the genders of blanks, before features blanks reads with it.

    \b
    fabula features tune lsmdc/ --genders LSMDC16_annos_gender.json --model bert-base-uncased/ -o bert-gender/
    fabula features blanks lsmdc/ --model bert-gender/ -o streams/text.h5
    """
    need_learn()
    from fabula.learn.identity.genders import tune as tune_encoder

    notes = Notes()
    with show_progress() as progress:
        tune_encoder(data, options, notes, print_note, progress)
    for line in notes.lines():
        warn(line)
    print_note(f"tuned encoder → {options.out}")


@command.command()
@path_argument("store")
@click.option("--json", "json_", type=click.Path(path_type=Path), help="Write JSON; - for standard output.")
def info(store: Path, json_: Path | None) -> None:
    """Show how a STORE of features was made, its videos and its size.

    \b
    fabula features info features.h5
    """
    found = Features(store).describe()
    show(Shown(document=lambda: found, lines=lambda: list_lines(found)), json_)


def list_lines(found: Mapping[str, object]) -> Iterator[str]:
    """name, tab, value; what is nested, under both names."""
    for name, value in found.items():
        if isinstance(value, Mapping):
            for inner, text in value.items():
                yield f"{name} {inner}\t{show_value(text)}"
        else:
            yield f"{name}\t{show_value(value)}"


def show_value(value: object) -> str:
    if value is None:
        return "–"
    if isinstance(value, list):
        return ", ".join(map(show_value, value))
    return f"{value:,.6g}" if isinstance(value, float) else str(value)
