"""A vision-language model run over a benchmark file, with every frame, prompt and answer on record: `fabula ask`.

options.py    what can be chosen
bench.py      a benchmark file → what it asks of which film
prompts/      how it is asked, as text files in our own words
settings.py   all that decides what is sent: prompt, frames, layout, model, server; its signature
sources.py    the frames of a film: decoded, or as the record has them
run.py        all questions: films decoded ahead, calls side by side, resumed after a kill, under a budget
answers.py    the answers as `fabula score` reads them
plan.py       how many calls, pictures and tokens, before anything is sent
grid.py       the same benchmark under several settings, and how much of the difference each factor makes
"""
