"""User studies: a plan, a balanced design, a server that loses no answer, and documented results.

    plan.py     PLAN.toml, checked          design.py   who is asked what, in which order
    items.py    clips and descriptions      store.py    one SQLite file whose answers are only ever added
    forms.py    what is asked               server.py   the pages' server            raters.py   simulated raters
    rules.py    who is left out, and why    results.py  shares, scores, agreement    power.py    what can be found

The default form is that of VERIFIED's user study (Chen et al., NeurIPS 2024, Listing 1), in our own words.
"""
