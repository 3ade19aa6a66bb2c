"""Which plan to ship: every engine alone, greedy by priority, the measured optimum, or the plan a user wrote."""

from intarsia.search.collage import CollageResult, CollageSearch, Mix
from intarsia.search.decision import Decision, decide
from intarsia.search.early import decide_early
from intarsia.search.edge_costs import Known
from intarsia.search.given import given_candidate
from intarsia.search.planning import Compilation, Request, plan_compilation
from intarsia.search.predict import failure_error, predict
from intarsia.search.problem import Candidate, Problem
from intarsia.search.singles import Single, tune_singles

__all__ = [
    "Candidate",
    "CollageResult",
    "CollageSearch",
    "Compilation",
    "Decision",
    "Known",
    "Mix",
    "Problem",
    "Request",
    "Single",
    "decide",
    "decide_early",
    "failure_error",
    "given_candidate",
    "plan_compilation",
    "predict",
    "tune_singles",
]
