"""From coarse captions to a fine-grained benchmark: the pipeline of VERIFIED (Chen et al., NeurIPS 2024).

moments.py      (video, start, end, coarse caption): what is annotated
keyframes.py    the frames that models are shown
prompts/        what they are asked, as text files
parsers.py      what they answered, with an audit; nothing of it is ever run
candidates.py   which captions may stand, and why others may not
steps.py        a moment's way through all of it: small pure steps around an asker
store.py        every call with its answer, its tokens and its price; every outcome: one SQLite file
run.py          many moments at once, under a budget, resumed wherever they were; run_ray.py on a cluster
plan.py         calls, tokens, cost and time before anything is spent
disturb.py      wrong captions by rule, for the noise evaluator
stats.py, distinct.py, page.py   the paper's tables and pictures
export.py       the benchmark as files
fake.py         what the fake endpoint answers to our prompts
"""
