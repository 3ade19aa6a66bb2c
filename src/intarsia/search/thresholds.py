"""The figures that bound the search, by concern, each with its reason.

A factor says how many times as long something may take; a share is of the budget of the whole compile, unless the field
says of what.
"""

from __future__ import annotations

from dataclasses import dataclass

from intarsia.cost.timing.sampling import Effort


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Shares:
    """How the budget is divided among the stages of a compile."""

    single_end: float = 0.65
    """No further engine is measured alone after this share."""
    settings_end: float = 0.45
    """No further settings of an engine are tried after this share."""
    prefilter_end: float = 0.25
    """No further engine that compiles slowly is tried after this share."""
    prefilter_given_up: float = 0.2
    """The first look at such an engine is over after this share: compiling even a part may take minutes."""
    mixes_end: float = 0.4
    """No further partition is measured after this share; the rest is for the final decision."""
    mixes_least: float = 0.2
    """Share for partitions even if measuring the engines alone took long, as it does for large models."""
    mixes_latest: float = 0.65
    """No partition is measured after this share in any case: a mix that cannot be compared is of no use."""
    mixes_of_engines: float = 0.6
    """Partitions are measured for so many times what measuring the engines took, for each minute of the budget."""
    mixes_fewest_s: float = 3.0
    """Seconds for partitions, a minute of the budget, where engines took less or are known, or an error is allowed."""
    mixes_wholes: float = 2.5
    """Where an error is allowed, no mixes are looked for in less time than measuring so many whole models takes."""
    precision_end: float = 0.7
    """No further plan in reduced precision is looked for after this share."""
    layers_end: float = 0.66
    """No further layers in reduced precision are looked for after this share: what cannot be compared does not ship."""
    footprints_most: float = 0.25
    """Share that is kept for the footprints of engines outside the paired benchmark, where they were asked for."""
    benchmark_set: float = 0.04
    """Share that the rounds of one set of the paired benchmark may take."""


SHARES = Shares()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class SingleLimits:
    """Measuring each engine alone, and which engines the search for a mix goes on with."""

    effort: Effort = Effort(seconds=0.4, min_runs=5, max_runs=60)
    """For each setting of an engine."""
    hopeless: float = 3.0
    """A warm-up that takes so many times as long as the best so far ends the measurement: it cannot win."""
    options_behind: float = 1.5
    """Options that are so many times slower than others of their engine are not tried with its other spin policy."""
    wrong_error: float = 2.0
    """Where no engine could be shown to be right, those may ship whose error is within so many times the smallest."""
    looked_at_again: float = 1.3
    """An engine of which no other settings are tried is timed again, some seconds later, if it is at most so many times
    slower than the best: on a busy machine one figure may be a third too large."""
    settings_behind: float = 1.15
    """Further settings of an engine so many times slower than the best are not tried: it would take no part in the
    decision. A comparison, which shows each engine at its best, tries them all."""
    prefilter_effort: Effort = Effort(seconds=0.2, min_runs=3, max_runs=30, given_up=SHARES.prefilter_given_up)
    """For the heaviest segment on an engine that compiles slowly."""
    prefilter_behind: float = 1.5
    """An engine that compiles slowly and is so many times slower on the heaviest segment is not measured further.
    Where an error is allowed, it has to be faster: what a smaller type gains is far more."""
    prefilter_compile: float = 0.1
    """Where an error is allowed, neither is one that will take a greater share of the budget to compile the whole, as
    the heaviest segment tells by its weights: MNN took 19 s of a minute for 0.5 GB."""
    pruning_behind: float = 1.2
    """An engine so many times slower than the best on the whole model is left out of the search for a mix.

    It would have to be the best on some partition in spite of that, and measuring its partitions takes as long as
    another's. One whose profiler tells the time of each node stays: it may be slow for one operator's sake, and reading
    its profile costs nothing.
    """
    negligible_gain: float = 0.005
    """A gain below this share of the whole model is no missed opportunity: estimates are not better than that."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class KernelLimits:
    """Choosing the kernels of an engine layer by layer."""

    effort: Effort = Effort(seconds=0.4, min_runs=5, max_runs=60)
    """For the whole model with the kernels of a path."""
    engines_behind: float = 1.5
    """An engine so many times slower than the best will not be the fastest with other kernels."""
    least_gain: float = 0.04
    """A kernel must be faster than the usual one by this share of what a layer takes: profilers tell no finer."""
    least_alike: float = 0.05
    """Two runs are compared by what the same kernels took in both, if that is this share of a run at least."""
    corrections: int = 3
    """How often the cheapest path is built, measured as a whole and looked for again."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class CollageLimits:
    """The search for a mix, from coarse regions to fine ones."""

    region_effort: Effort = Effort(seconds=0.1, min_runs=5, max_runs=60)
    """For a region by itself."""
    partition_effort: Effort = Effort(seconds=0.2, min_runs=7, max_runs=40)
    """For a partition of the best path."""
    plan_effort: Effort = Effort(seconds=0.6, min_runs=9, max_runs=60)
    """For a mix as a whole, in one of the ways to run it."""
    stated_effort: Effort = Effort(seconds=1.0, min_runs=7, max_runs=60)
    """For a plan that the user states, in one of the ways to run it."""
    hopeless: float = 3.0
    """A region that takes so many times as long as on the best engine is given up."""
    failures: int = 3
    """A target that fails on so many regions is not asked again; one that hangs is not asked a second time."""
    levels: tuple[int, ...] = (16, 32)
    """Greatest numbers of unlike regions, from coarse to fine; the finest level is the segments."""
    splits: int = 4
    """Regions that are split at one time."""
    worth_splitting: float = 0.005
    """A region is left whole if splitting it promises less than this share of the best plan."""
    near_transition: float = 0.05
    """Beside a transition the border may stand at the wrong place: worth this share of the region's cost to look."""
    before_regions: float = 0.3
    """Share of the remaining time for what can be found from profiles, before regions are measured."""
    loose_paths: float = 1.25
    """Paths are looked for up to so many times what may be worth building: their least costs decide that."""
    worth_building: float = 0.98
    """A mix is built and measured as a whole if its prediction is at most so many times the best single engine: one
    that promises less gain could not be shown to be faster, as a plan may differ from itself by as much."""
    way_behind: float = 1.15
    """A way to run a mix is given up after its warm-up if it takes so many times as long as the best plan so far."""
    corrections: int = 3
    """How often the best path is built, measured as a whole and looked for again on corrected costs."""
    mix_behind: float = 1.03
    """After a mix that takes so many times as long as the best plan, only those are built that promise to be faster."""
    after_loss: float = 0.03
    """Share of the budget for which the search goes on after such a mix: its costs promise too much."""
    host_behind: float = 1.5
    """An engine holds partitions of others only if it is no slower than so many times the best single engine."""
    exact_units: int = 10
    """Nodes of a graph all of whose convex partitions are candidates, at most: it has 58,025 of them at most."""
    units: int = 128
    """Units of which convex partitions are made in a larger graph, at most."""
    convex_pairs: int = 60_000
    """Pairs of ideals that are all listed, at most; of a graph with more, those of some orders are."""
    block_ideals: int = 64
    """Ideals of a block all of whose convex sets are candidates, at most."""
    largest: int = 4
    """Partitions of each engine that cannot run the whole model that are measured, to estimate its others."""
    predicted: int = 2
    """Mixes that may take part in the paired benchmark, so that their partitions are predicted as they run."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class DecisionLimits:
    """Who takes part in the paired benchmark that decides, and how long that takes."""

    settings_behind: float = 1.02
    """Settings of the best engine take part within this factor of its best: those further behind would gain less, where
    they are faster after all, than each plan that is compared costs in time."""
    mixes_behind: float = 1.05
    """Mixes take part if they were measured within this factor of the best engine."""
    engines_behind: float = 1.15
    """Other engines take part within this factor of the best, each with its best settings: figures move by so much."""
    reduced_behind: float = 1.25
    """Plans in reduced precision take part within this factor of the fastest of them."""
    other_engines: int = 2
    """Other engines that take part, at most."""
    settings: int = 2
    """Settings of the best engine that take part, at most."""
    mixes: int = 2
    """Mixes that take part, at most."""
    fewest: int = 2
    """Plans that are compared where there is little time: with fewer there is nothing to compare."""
    full_budget_s: float = 40.0
    """Smaller budgets get two sets of processes and no repeats: starting processes takes most of the time."""
    kept_contenders: int = 3
    """Plans for whose benchmark time is kept: the best engine twice, and one plan beside it."""
    kept_sets: int = 2
    """Sets of processes for which that time is kept."""
    kept_ms: float = 1e4
    """Time of a call, at most, in what is kept for them."""
    step_effort: Effort = Effort(seconds=0.3, min_runs=7, max_runs=80)
    """For predicting a partition right behind the one before it."""
    embedded_effort: Effort = Effort(seconds=0.6, min_runs=7, max_runs=40)
    """For predicting a partition inside another engine's session."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class StreamLimits:
    """Choosing how a stream of requests is driven."""

    effort: Effort = Effort(seconds=0.6, min_runs=5, max_runs=30)
    """For one pipeline."""
    stage_effort: Effort = Effort(seconds=0.3, min_runs=5, max_runs=40)
    """For one stage by itself."""
    hopeless: float = 2.0
    """A pipeline whose requests take so many times as long as the fastest one's is given up after its warm-up."""
    trials: int = 3
    """How often the best pipeline is measured against one request after another: it must be faster each time."""
    refinements: int = 3
    """How often stages are cut, at most, by the times of the cut before."""
    balanced: float = 1.05
    """Stages are cut anew while the slowest takes longer than so many times their mean."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class LoadLimits:
    """Choosing how many instances of a plan answer requests, and on how many threads each."""

    effort: Effort = Effort(seconds=0.4, min_runs=5, max_runs=30, until=0.75)
    """For a plan in one way to divide the threads; not begun so late that nothing can be compared any more."""
    hopeless: float = 2.0
    """A plan of which a request takes so many times as long as of the best is given up after its warm-up."""
    settings: int = 2
    """Settings of an engine that are measured under load on the same threads, at most."""
    settings_behind: float = 1.10
    """They are within this factor of its best by itself."""
    mixes: int = 2
    """Mixes that are measured under load, at most: more do not take part in the paired benchmark."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class PrecisionLimits:
    """Looking for plans in reduced precision, and checking them on the validation set."""

    effort: Effort = Effort(seconds=0.4, min_runs=5, max_runs=60)
    """For one plan in reduced precision."""
    margin: float = 0.91
    """Share of the allowed error that is spent on the calibration inputs: other inputs may do worse."""
    seen: float = 0.94
    """Share of it that a plan of the search may spend on the validation set: the user's own inputs may do worse."""
    judged: int = 3
    """How often the fastest plan is judged before the benchmark: where it errs too much, the next one is."""
    kept_benchmarks: float = 2.0
    """For so many of the shortest benchmarks time is kept behind that: gpt2_decode, of 0.5 GB, was judged and then not
    compared."""
    promising: float = 1.1
    """It is judged before it if it is so many times as fast as the best in fp32: most such plans ship."""
    plans: int = 3
    """Plans in reduced precision that take part in the paired benchmark, at most."""
    leads_by: float = 1.15
    """An engine that is so many times as fast in less than fp32 ends the search for what is faster in fp32."""
    lead_error: float = 2.0
    """So many times the allowed error counts as right where only the speed of a smaller type is wanted."""
    weights_error: float = 4.0
    """So many times the allowed error counts as right where it is asked how fast all weights in few bits are."""
    packed_error: float = 100.0
    """The same where an engine also reads weights in 12 bits: all that do not fit are in those."""
    hopeful: float = 1.2
    """A plan whose error on calibration inputs is so many times that allowed may yet keep to it on validation inputs:
    four inputs tell the worst of 32 by their spread. YOLO in bf16 came to 1.13 times its own error."""
    fine_type_error: float = 5e-3
    """From this allowed error on, an element type that errs by some 1e-3 goes along with weights in few bits."""
    spread_aim: float = 0.78
    """Share of the allowed error that weights in 8 bits and in more are to make together: layers are unlike, and the
    validation set has worse inputs. A decoder whose weights aimed at 0.83 came to 0.95 there."""
    fewer_aim: float = 0.95
    """The same of weights in 8 bits and in fewer: where that is too much, all in 8 bits are there already."""
    types_behind: float = 1.1
    """A smaller type in which an engine takes so many times as long as in fp32 is not tried further."""
    engines_behind: float = 3.0
    """An engine so many times slower than the best in fp32 will not be the fastest in fewer bits."""
    slower: float = 1.25
    """A plan so many times slower than the one in fp32 that it was made of is dropped; less may be noise."""
    least_rest: float = 0.05
    """Share of an error that counts as left beside a component of it which is as large."""
    means_time: float = 2.5
    """So many times what the whole model takes to be measured, finding out what layers read takes."""
    layers_time: float = 8.0
    """The same of finding out the error of each layer, at least."""
    rounding_s_per_gigabyte: float = 8.0
    """What rounding weights by what they are multiplied with takes, and writing them."""
    layer_tries: int = 3
    """How often fewer layers are tried until the error of the plan fits."""
    cut_tries: int = 3
    """Cuts that are tried from the better end of the model; each is compiled anew."""
    cut_change: float = 1e3
    """Largest ratio of the allowed error to that of a cut by which it is lengthened: that reaches the whole model."""
    range_shares: tuple[float, ...] = (1.0, 0.85, 0.7, 0.55)
    """Of a value's range, those tried: what is cut off is lost, and what is left has finer steps."""
    groups: int = 24
    """Groups of layers whose error is measured, at most: each takes a run of the model."""
    compared_inputs: int = 1
    """Calibration inputs by which layers are compared."""
    chosen_inputs: int = 4
    """Calibration inputs by which a choice of layers is judged; a plan is judged by all of them."""
    weights_fine_share: float = 0.84
    """Of the bytes that a weight saves in 4 bits, with its scales, those that it saves in 8."""
    weights_least_share: float = 0.05
    """Of a model's weights, those that products wait for are looked at from this share on: the classifier of a vision
    transformer has 0.9 %, and finding out that it gains nothing took a tenth of a minute."""
    most_rows: float = 32.0
    """A product of so many rows computes for longer than it waits for its weight."""
    few_rows: float = 4.0
    """A model whose products read their weights so many times at most waits for them most of the time."""
    ranges: int = 8
    """Inputs that tell which range a value has, and its means. With ranges from four inputs, Swin erred on others 1.8
    times as much as on those."""
    calibration: int = 12
    """Inputs that decide which plans are in reduced precision, beside those."""
    validation: int = 32
    """Inputs of the validation set, which decides nothing but whether the plan ships."""
    worst_deviations: float = 2.07
    """Standard deviations by which the largest of `validation` draws of a normal distribution lies above the mean."""
    validation_least: int = 8
    """Fewest of them that tell anything, where there is no time for all."""
    judged_late: float = 0.08
    """Share of the budget by which judging a plan that won may end too late."""
    input_ms: float = 20.0
    """What making, writing and reading an input takes beside running it."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class InnerLimits:
    """Of the search inside a nested configuration, which is made for each region that is measured on it."""

    effort: Effort = Effort(seconds=0.3, min_runs=7, max_runs=80)
    """For a candidate, as for any partition of a mix."""
    run_effort: Effort = Effort(seconds=0.1, min_runs=5, max_runs=60)
    """For a run of segments on one engine, as for a region of a mix."""
    hopeless: float = 2.0
    """A candidate is given up at so many times the best."""
    runs: int = 6
    """Runs of segments of a region, at most: each is measured on each engine."""


SINGLE = SingleLimits()
KERNELS = KernelLimits()
COLLAGE = CollageLimits()
DECISION = DecisionLimits()
STREAMS = StreamLimits()
LOAD = LoadLimits()
PRECISION = PrecisionLimits()
INNER = InnerLimits()
