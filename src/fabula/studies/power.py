"""What a plan can find: the power of its test, and the smallest effect that it finds four times in five.

The test is that of the results: the mean of d = b − a over answers that share raters and items, divided by its standard
error, against t with Satterthwaite's degrees of freedom (stats/twoway.py). With var d = σ², of which ρ_r is the raters'
and ρ_q the questions':

    shown together      se² = σ²·(ρ_r/R + ρ_q/I + (1 − ρ_r − ρ_q)/N)        N answers about one pair of systems
    one at a time       se² = σ²·(ρ_q/I + (1 − ρ_r − ρ_q)/n)·2              n answers a system; raters meet both alike
    power               P(|T'| ≥ t_{1−α/2, ν}),  T' non-central with δ/se    (stats/student.py)

σ is 1 for choices (d = ±1) and supposed 1 for marks; for ranks of k systems σ² = k(k + 1)/6, that of ranks by lot.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb, sqrt

from fabula.stats.student import t_power
from fabula.stats.twoway import freedom
from fabula.studies.design import Design
from fabula.studies.plan import Plan

WANTED = 0.8


@dataclass(frozen=True, slots=True)
class Reach:
    """What a design is worth for one pair of systems."""

    measure: str
    raters: int
    items: int
    answers: int  # about one pair of systems, or about one system
    together: bool
    sigma: float
    se: float
    nu: float
    alpha: float

    def power(self, effect: float) -> float:
        """Of a difference of `effect`, in units of the measure."""
        return t_power(abs(effect) / self.se, self.nu, self.alpha)

    @property
    def smallest(self) -> float:
        """The effect found four times in five; not a number where none would be."""
        if self.nu < 1:
            return float("nan")
        low, high = 0.0, self.se
        while self.power(high) < WANTED and high < 1e6 * self.se:
            high *= 2
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if self.power(middle) < WANTED else (low, middle)
        return high


def reach(plan: Plan, design: Design) -> Reach:
    form = plan.make_form()
    k = len(design.systems)
    questions = sum(slot.role == "question" for slot in design.slots)
    items = len({q.item for q in design.questions})
    together = form.shown != 1
    pairs = comb(k, 2) if form.shown == 2 else 1
    answers = questions // pairs if together else questions // max(1, k)
    sigma = sqrt(k * (k + 1) / 6) if form.name == "rank" else 0.5 if form.name == "true" else 1.0
    R, I_, N = design.raters, items, answers
    rater, item = plan.power.rater, plan.power.item
    rest = 1 - rater - item
    # what each part of the test's variance is on average, in units of σ²
    if together:
        v_r, v_i, v_ri = rater / R + (item + rest) / N, item / I_ + (rater + rest) / N, 1 / N
    else:  # raters meet the systems alike: what they add falls out of their own sums
        v_r, v_i, v_ri = 2 * (item + rest) / N, 2 * (item / I_ + (rater + rest) / N), 2 / N
    v = v_r + v_i - v_ri
    nu = freedom(v, (v_r, R - 1), (v_i, I_ - 1), (v_ri, max(1, N - R - I_ + 1))) if min(R, I_) > 1 else 0.0
    return Reach(plan.primary, R, I_, N, together, sigma, sigma * sqrt(v), nu, plan.analysis.alpha)
