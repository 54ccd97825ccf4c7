"""`judge:NAME`: a language model that says how well a caption fits its reference (text/judges/)."""

from fabula.text.judges.scorer import JudgeScorer

SCORER = JudgeScorer()
