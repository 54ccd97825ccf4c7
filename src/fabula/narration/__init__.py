"""The story of any film from a vision-language model behind an OpenAI-compatible server: `fabula tell`.

options.py    what can be chosen
windows.py    a film as overlapping windows, whose edges lie on cuts of the camera where some are near
frames.py     the frames of each window, in one walk over the film
companions.py what goes with the frames as text or portrait: lines, signs, people
prompts/      what is asked, as text files
calls.py      the call of a window, and the one about the whole film
reading.py    an answer → events, their times checked against the window; what cannot be read is counted
joining.py    the events of overlapping windows → one list, by ordered matching
styles.py     chapters without gaps; descriptions placed where nobody speaks
record.py     everything about one film: frames, calls, answers as they were read, events; its signature
run.py        all films: calls side by side, resumed after a kill, under a budget
plan.py       how many calls, pictures and tokens, before anything is sent
offline.py    what is found in a film without a model
outputs.py    submission, SRT, WebVTT, chapters, JSON, page; timeline.py: OpenTimelineIO
"""
