"""METEOR tables of a few lines, in the files in which the real ones come."""

from __future__ import annotations

import gzip
import zipfile
from pathlib import Path

from fabula.text.meteor.index import Tables

SYNSETS = (
    "car\n00000001 00000002\nauto\n00000001\ngoose\n00000003\n"
    "bird\n00000003 00000004\nhot_dog\n00000009\nrun\n00000005\n"
)
EXCEPTIONS = "goose\ngeese\nrun\nran\n"
FUNCTION = "the\na\n.\n"
PREFIXES = "# comment\nMr\nNo #NUMERIC_ONLY#\n"
PARAPHRASES = [("a lot of", "many"), ("a lot of", "plenty of"), ("many", "a lot of"), ("quickly", "in a hurry")]


def write_tables(folder: Path, records: list[tuple[str, str]] = PARAPHRASES) -> Tables:
    folder.mkdir(parents=True, exist_ok=True)
    tables = Tables(folder / "meteor.jar", folder / "paraphrase.gz")
    with zipfile.ZipFile(tables.jar, "w") as jar:
        jar.writestr("synonym/english.synsets", SYNSETS)
        jar.writestr("synonym/english.exceptions", EXCEPTIONS)
        jar.writestr("function/english.words", FUNCTION)
        jar.writestr("nonbreaking/english.prefixes", PREFIXES)
    with gzip.GzipFile(tables.paraphrases, "wb", mtime=0) as file:
        file.write("".join(f"0.5\n{source}\n{target}\n" for source, target in records).encode())
    return tables
