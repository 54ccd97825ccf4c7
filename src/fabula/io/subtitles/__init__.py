"""Lines of films with their times: subtitles (SubRip, WebVTT), transcripts and signs, read and written.

>>> from fabula.io.subtitles import read_subtitles, write_transcripts
"""

from fabula.io.subtitles.cues import Cue, CueFile, scan_cues
from fabula.io.subtitles.markup import clean_ass
from fabula.io.subtitles.read import parse_srt, parse_vtt, read_subtitles
from fabula.io.subtitles.stores import (
    WRITTEN,
    check_ending,
    read_signs,
    read_transcripts,
    signs_to_dict,
    transcript_to_dict,
    write_signs,
    write_transcripts,
)
from fabula.io.subtitles.write import KINDS, format_chapters, format_srt, format_text, format_vtt

__all__ = [
    "KINDS",
    "WRITTEN",
    "Cue",
    "CueFile",
    "check_ending",
    "clean_ass",
    "format_chapters",
    "format_srt",
    "format_text",
    "format_vtt",
    "parse_srt",
    "parse_vtt",
    "read_signs",
    "read_subtitles",
    "read_transcripts",
    "scan_cues",
    "signs_to_dict",
    "transcript_to_dict",
    "write_signs",
    "write_transcripts",
]
