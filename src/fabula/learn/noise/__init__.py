"""What the noise evaluator (learn/models/noise_scorer.py) reads, and what becomes of its scores.

texts.py       true and wrong captions of moments: from a file of rewrites, or wrong ones by rule
data.py        moments with their captions as a model reads them
calibrate.py   scores into probabilities, and how far these can be trusted
draw.py        the reliability diagram
scorer.py      a trained evaluator that is asked about one moment at a time
"""
