"""Which plan to ship: every engine alone, greedy by priority, the measured optimum, or the plan a user wrote."""

from intarsia.search.collage import CollageResult, CollageSearch, Mix
from intarsia.search.decision import Decision, decide
from intarsia.search.given import given_candidate
from intarsia.search.predict import failure_error, predict
from intarsia.search.problem import Candidate, Deadline, Problem
from intarsia.search.singles import Single, tune_singles

__all__ = [
    "Candidate",
    "CollageResult",
    "CollageSearch",
    "Deadline",
    "Decision",
    "Mix",
    "Problem",
    "Single",
    "decide",
    "failure_error",
    "given_candidate",
    "predict",
    "tune_singles",
]
