"""What models really say: free-form answers of a language model → events, with an audit of how each was read.

    From 12 to 30 seconds, a man runs.        1. **00:12 - 00:30** A man runs.        [{"start": 12, "end": 30, …}]

answer.py reads one answer: by json.py where it holds JSON, else by text.py, with times.py and words.py. files.py reads
files of them, as stories.
"""

from fabula.io.answers.answer import Answer, Audit, Refused, parse
from fabula.io.answers.files import FORMAT, audit
from fabula.io.answers.times import Options

__all__ = ["FORMAT", "Answer", "Audit", "Options", "Refused", "audit", "parse"]
