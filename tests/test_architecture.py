"""The house's rules that a program can hold: who imports whom, how long a file is, what is exported."""

import ast
import os
import re
import subprocess
import sys
from collections import Counter
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from types import ModuleType

import pytest

import jaxbandit
from jaxbandit.policies.parts import memory
from jaxbandit.simulation import chance, rounds

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "jaxbandit"

# a room or a file on the ground may import those named behind it, and nothing else of the package; lazy imports count
MAY_IMPORT = {
    room: set(others.split())
    for room, _, others in (
        line.partition(":")
        for line in """\
version:
texts:
pytrees: texts
probabilities:
arguments: probabilities
feedback: arguments pytrees texts
base: arguments feedback pytrees texts
members: base
known_arms: base
reward_units: base members
cores:
interruption:
chains: arguments base
decision_processes: arguments base chains probabilities
delays: arguments chains pytrees
metrics: arguments base
fast: base
draws: base fast
quantiles: arguments base fast
sums: base
divergences: arguments base
selection: arguments base fast
indices: arguments base chains decision_processes known_arms probabilities
bounds: arguments base chains indices members probabilities
confidence: arguments base fast
planning: base fast
families: arguments base chains confidence divergences fast probabilities
environments: arguments base chains decision_processes divergences draws families fast indices known_arms \
members probabilities quantiles reward_units sums
named_problems: base chains environments members
wrapping: base members
policies: arguments base chains confidence decision_processes divergences families fast feedback indices \
known_arms members planning probabilities quantiles reward_units selection sums wrapping
results: arguments base interruption metrics texts
simulation: arguments base cores delays draws fast feedback interruption members pytrees results reward_units \
selection sums version wrapping
sweeps: arguments cores interruption results simulation
live: arguments base confidence cores environments families interruption members policies probabilities results \
reward_units selection simulation version
choices: arguments base environments live members reward_units selection simulation
plotting: arguments bounds live metrics results texts
stress: arguments base environments families interruption members metrics policies simulation sweeps texts
learning: arguments base choices interruption members policies results reward_units selection stress
testing: arguments base environments members selection simulation sums
timing: ABOVE
reports: ABOVE
command_line: ABOVE reports timing
judging: ABOVE command_line reports timing
commands: ABOVE command_line judging reports timing
__main__: ABOVE commands""".splitlines()
    )
}
# what users import, on which these rooms stand
BENEATH = {room for room, others in MAY_IMPORT.items() if "ABOVE" not in others}
# inside a room, too, a file imports those that stand below it
BELOW = {
    room: files.split()
    for room, _, files in (
        line.partition(":")
        for line in """\
fast: extremes slow_paths target random_bits jaxprs elementary comparisons batching on_demand kept_programs pieces \
compilation
indices: index_arguments elimination beta_priors posterior_layers posterior_tables beta_rows start value \
subsidy relaxed record_rounds mixture
decision_processes: gymnasium_tables evaluation best discounting reaching
confidence: bernoulli family row chain
confidence/row: arithmetic tilt scaled_problem ball stationary_mean
confidence/chain: interior_point interior_point_three_states starting_points row_divergence_three_states \
multistart many_states two_states two_states_upper likelihood kt_mixture meeting_chains \
certified_order order_of_means
planning: rows iteration induction subsidies ordered_sums fluid
metrics: summaries counts regrets shares swaps stopping_times
named_problems: named_arms look_up budgets changing processes entries
families: independent tilting two_state table of_chains
plotting: ticks common curves settings live_plays stopping_curves
results: headline display file named_axes result
simulation: library_code chance delayed uneven_delays offered_arms dynamic_regret stopping rounds asking telling plan \
device_arrays tiles progress regrouping chunks loop
simulation/asking: user_code tracing recording contracts declared policy_units request
simulation/telling: free_memory fingerprint
environments: rested independent restless_bandits changing processes spending
policies: parts means chains restless changing processes spending identify learned
policies/identify: evidence glr_rules family_rule blocks fixed_budget sampling_rules track_and_stop identification
stress: spaces changing_space prior_space trials preparation survey point_search error_search failure_search
sweeps: files storage reading tasks grids sweep_loop
live: real_arms decision arm_order position last_events sqlite_errors log_file logged_position largest_draw \
choice_laws summary_table history log_result player logged_rounds off_policy log_evaluation replayed_rounds log_replay \
bandit_env gymnasium_loops
choices: choice_data choice_likelihood parameter_ranges choice_fit population_fit recovery
learning: problem_pool episodes score_gradient policy_file steps tuning training
timing: machine stopwatch
reports: tables pictures page verdicts
command_line: options listing experiment grids
command_line/grids: policy_grid offered criterion landscape toml_file searches
judging: policy_text progress_line standings judged_spaces failures atlas_card judge_options judgement overview \
playing judged_answers report
commands: judge stress sweep tune evaluate atlas policies entry""".splitlines()
    )
}
# what the `__init__` of a room says that others may take beside the names in its `__all__`: a module, or a name in one
OFFERED = {
    "choices": {"parameter_ranges"},
    "confidence": {"bernoulli.SOLVERS", "bernoulli.exponential_excess", "bernoulli.shortfall"},
    "environments/rested": {"columns"},
    "families": {"tilting"},
    "fast": {"jaxprs.constants", "jaxprs.primitives", "kept_programs", "target.for_cpu"},
    "indices": {"posterior_layers", "posterior_tables", "relaxed", "subsidy.whittle_of"},
    "live": {"choice_laws", "real_arms"},
    "metrics": {
        *["counts.check_label", "counts.check_result", "counts.has_best_arm", "counts.kind"],
        *["stopping_times.ends_of", "stopping_times.has_stops"],
    },
    "results": {
        "display.stopped",
        "display.variant_names",
        "file.file_name",
        "file.whole_file",
        "named_axes",
        "result.join_times",
    },
    "command_line": {"experiment", "listing", "options"},
    "command_line/grids": {"criterion", "landscape", "offered", "policy_grid", "searches", "toml_file"},
    "commands": {"entry.main"},
    "judging": {
        *["atlas_card", "failures", "judge_options.Settings", "judged_answers", "judged_spaces", "judgement.Judgement"],
        *["playing", "policy_text.policies_of", "report"],
    },
    "plotting": {"ticks.plain_numbers"},
    "reports": {"page", "pictures", "tables", "verdicts"},
    "simulation": {"loop.pieces", "plan.usual_chunk", "progress"},
    "simulation/asking": {
        *["contracts.check_contract", "contracts.check_declares", "contracts.check_leaves", "contracts.check_task"],
        *["request.Request", "request.check", "request.recorded_times", "tracing.EnvironmentShapes", "tracing.Size"],
        *["tracing.environment_program", "tracing.policy_program", "user_code.in_words"],
    },
    "simulation/telling": {"fingerprint", "free_memory.check_memory"},
    "stress": {"point_search.cmaes", "preparation", "spaces.FAMILIES", "survey.means_of_parts"},
    "timing": {"machine", "stopwatch"},
}
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py")
# what users know by its place
DOORS = {
    "bounds": "BayesOptimum Bound Condition Identification Pair bayes_optimum eigenvalue_condition family_lower "
    "identification lai_robbins lower lower_paper price_of_slow_arms regret_exponent ucb_sm_constant ucb_sm_upper "
    "upper_asymptotic upper_finite",
    "chains": "eigenvalue_gap kl_rate recurrent_classes relative_entropy relative_values reward_gap stationary "
    "thresholds",
    "confidence": "ChainOrder MOST_STATES Solver chain_likelihood_ratio chain_mean chain_mean_upper chain_mixture "
    "chain_order chain_order_lower family_upper kl_ball_max "
    "kl_bound kl_lower kl_upper stationary_mean_lower stationary_mean_upper",
    "choices": "ChoiceFit Choices ModelRecovery PopulationFit Recovery fit fit_population log_likelihood read_choices "
    "recover recover_models",
    "decision_processes": "DiscountedValues Episodes Kind LongRun Structure diameter discounted episodes "
    "from_gymnasium hitting_times long_run optimal reward_of_actions structure",
    "divergences": "DISTANCES Distance bernoulli_kl farthest jensen_shannon kl log_p_value squared_hellinger "
    "threshold total_variation",
    "environments": "RestlessFit fit_restless "
    "AllPayingArms ChangingAllPayingArms ChangingArms ChangingMarkovArms CollidingArms CostlyArms DecisionProcess "
    "EXAMPLE "
    "FamilyFit Fit FullInformation HiddenArms HiddenFit fit_hidden "
    "IndependentArms InitialState LowerBoundArms MarkovArms RandomWalkArms RestartingArms RestlessArms "
    "as_decision_process bernoulli beta changing_markov colliding costly decision_process exponential "
    "exponential_family fit fit_exponential_family full_information gaussian grid "
    "hidden lower_bound_instance markov piecewise poisson random_arms random_decision_process random_walk restarting "
    "restless "
    "rewards_table riverswim sinusoid two_state uniform",
    "delays": "Delays geometric table uniform",
    "families": "Bernoulli Exponential Family Gaussian Poisson TabledChains TwoStateChains chain_family",
    "indices": "Mixture Relaxation WhittleIndices best_mixture gittins gittins_beta gittins_beta_rows gittins_value "
    "relaxation rounds_to_record whittle with_start",
    "learning": "RegretGradient Trained Tuned load regret_gradient save train tune",
    "live": "Choice Decision Evaluation History Log Player Replay Report choice_probabilities evaluate gymnasium_env "
    "play read_log replay",
    "metrics": "IdentificationSummary Summary bayes_regret best_arms best_share constant_regret discounted_reward "
    "dynamic_regret external_regret identification internal_regret linear_share median_interval pair_regrets "
    "swap_regret paired_difference pseudo_regret realised_regret regret regret_name summary",
    "named_problems": "Atlas NamedProblem atlas",
    "plotting": "COLOURS curve_style plot_batches plot_best_arm_share plot_distribution plot_evaluation plot_heatmap "
    "plot_history plot_parameter plot_pulls plot_regret plot_stopping",
    "policies": "DecentralisedDSEE MixtureKLUCB PrimalDualBwK RatioKLUCB "
    "BernoulliGLR Blocks Budget ChainGLR FamilyGLR Identify LUCB RoundRobin SequentialHalving SuccessiveElimination "
    "TopTwo TrackAndStop "
    "IMEDRL KLUCRL PSRL PosteriorWhittle TUCRL UCBVI UCRL2 UCRL2B UCWhittle "
    "BayesGittins BayesOptimal Exchangeable Learned Recurrent RescorlaWagner Soft "
    "ALL Boltzmann CUSUM DMED DSEE EpsilonGreedy ExploreThenCommit GLR IMED IMEDMC KLUCB KLUCBMC MOSS MUCB RCA TVKLUCB "
    "UCB1 UCB1Normal UCB1Tuned UCB2 UCBSM UCBV Discounted DiscountedThompson "
    "DiscountedUCB EmpiricalKLUCB Exp3 Exp3IX Exp3P Exp3S Exp4 Gittins GradientBandit Hedge "
    "HiddenMyopic HiddenThompson RegretMatching "
    "JointKLUCB KnownBreaks KnownProcess LPPriority Myopic Oracle PlugInGittins PosteriorGittins Rexp3 RoundRobinKLUCB "
    "FollowVirtualAdvice LPUpdate TwoSet "
    "SlidingWindowUCB Thompson ThompsonMC TsallisINF Uniform Whittle WhittleBelief WhittleLastSeen Window WithDetector",
    "policies.memory": "Forgets Memory no_transitions no_visits ratio remembered sample_mean total unit_reward",
    "stress": "Found IndependentSpace Interval PiecewiseSpace PriorSpace Problem RestlessSpace Space Survey "
    "ThreeStateSpace TwoStateSpace WrongAnswers over worst",
    "testing": "check_environment check_policy",
}
PUBLIC = """
DecentralisedDSEE MixtureKLUCB PrimalDualBwK RatioKLUCB IMEDRL KLUCRL PSRL PosteriorWhittle TUCRL UCBVI UCRL2 UCRL2B
UCWhittle ALL CUSUM DMED DSEE GLR IMED IMEDMC KLUCB BayesGittins BayesOptimal Boltzmann EpsilonGreedy
ExploreThenCommit UCB1Tuned UCBV KLUCBMC MOSS MUCB RCA TVKLUCB UCB1 UCB1Normal UCB2 UCBSM Discounted
DiscountedThompson DiscountedUCB EmpiricalKLUCB Declares Environment Exp3 Exp3IX Exp3P Exp3S Exp4 Family Feedback
Gittins GradientBandit Hedge HiddenMyopic JointKLUCB KnownArms KnownBreaks KnownProcess LPPriority MarkovArms Myopic
Oracle PlugInGittins Policy PosteriorGittins RegretMatching RescorlaWagner Result Rexp3 RoundRobinKLUCB
SlidingWindowUCB StoppedWarning Task Thompson ThompsonMC TsallisINF Uniform Whittle WhittleBelief WhittleLastSeen
Window WithDetector advance atlas bernoulli bounds chains choices confidence decision_processes delays divergences
environments families gaussian grid hidden indices initial_carry live load_sweep markov metrics per_arm play_round
poisson pytree random_arms restless run_keys simulate static stress sweep testing to_xarray top_arms two_state
use_all_cores HiddenThompson FollowVirtualAdvice LPUpdate TwoSet Soft Exchangeable Learned Recurrent learning
""".split()


def door(room: str) -> ModuleType:
    """What stands at `jaxbandit.room`; the package itself for ""."""
    return attrgetter(room)(jaxbandit) if room else jaxbandit


PUBLIC_THINGS = [
    getattr(door(room), name) for room, names in {"": " ".join(PUBLIC), **DOORS}.items() for name in names.split()
]
COMMANDS = """
ablation adversary asymptotic_bounds bandit_as_process bayes benchmark budget changing concentration
decision_processes families front hidden identification iid
initial_state judge known_chains learned lower_bound mixed optimality own_policy paper peers policies restless
robustness scenario1 scenario2 scenario3 scenario4 sweep tune uniformly_good wrong_stops
""".split()


def imports(path: Path) -> set[str]:
    """The modules that a file imports, lazily and for types as well."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            inside = (ROOT / Path(*node.module.split("."))).is_dir()
            names |= {f"{node.module}.{alias.name}" for alias in node.names} if inside else {node.module}
    return names


def place(name: str) -> list[str]:
    """The room and the file that a dotted name inside the package stands for."""
    parts = name.split(".")[1:]
    return [part for n, part in enumerate(parts) if (PACKAGE / Path(*parts[: n + 1])).with_suffix(".py").exists()
            or (PACKAGE / Path(*parts[: n + 1])).is_dir()]  # fmt: skip


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_imports_point_one_way(path):
    room, *_ = inside = path.relative_to(PACKAGE).with_suffix("").parts
    used = [place(name) for name in imports(path) if name.split(".")[0] == "jaxbandit"]
    above = "ABOVE" in MAY_IMPORT[room]  # takes what users take
    assert {other[0] for other in used if other} <= MAY_IMPORT[room] | {room} | (BENEATH if above else set())
    assert above or [] not in used  # the package itself imports everything
    for depth in range(1, len(inside)):
        floors = BELOW.get("/".join(inside[:depth]), [])
        if floors and inside[depth] != "__init__":
            near = {other[depth] for other in used if tuple(other[:depth]) == inside[:depth] and len(other) > depth}
            assert near <= set(floors[: floors.index(inside[depth]) + 1])
    assert not any(name.split(".")[0] == "experiments" for name in imports(path))
    assert above or room == "plotting" or not any(name.startswith("matplotlib") for name in imports(path))


def file_of(name: str) -> Path | None:
    """The file of the package in which a dotted name stands."""
    path = ROOT.joinpath(*name.split("."))
    if name.partition(".")[0] != PACKAGE.name:
        return None
    return next(
        file for file in (path.with_suffix(".py"), path / "__init__.py", path.parent / "__init__.py") if file.exists()
    )


def reached(path: Path) -> set[Path]:
    """The files of the package that a file imports, those that these import, and so on; without `fast`."""
    files, left = {path}, [path]
    while left:
        left += (new := {file for name in imports(left.pop()) if (file := file_of(name))} - files)
        files |= new
        left = [file for file in left if file.parent != PACKAGE / "fast"]
    return {file for file in files - {path} if file.parent != PACKAGE / "fast"}


def test_the_file_to_copy_reaches_few_others():
    """Who has read `ucb.py` and ten files knows all that a policy is made of; `fast` changes no number."""
    assert len(reached(PACKAGE / "policies" / "means" / "ucb.py")) <= 10


def test_rooms_of_policies_take_nothing_but_parts_from_each_other():
    for path in (PACKAGE / "policies").glob("*/*.py"):
        rooms = {place(name)[1] for name in imports(path) if name.startswith("jaxbandit.policies.")}
        assert rooms <= {path.parent.name, "parts"}, path


def test_no_two_files_have_one_name():
    """An editor's list of files shows their names alone."""
    names = Counter(path.name for path in MODULES if path.name != "__init__.py")
    assert [name for name, number in names.items() if number > 1] == []


def test_every_room_and_file_is_listed():
    assert {path.relative_to(PACKAGE).parts[0].removesuffix(".py") for path in MODULES} == set(MAY_IMPORT)
    for room, files in BELOW.items():
        names = {path.stem for path in (PACKAGE / room).iterdir() if path.stem not in ("__init__", "__pycache__")}
        assert names == set(files)


def taken(path: Path) -> set[tuple[str, str]]:
    """What a file imports from rooms of another floor of the package: the room, and the module or name inside it."""
    imported = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "jaxbandit":
            for alias in node.names:
                parts = [*node.module.split("."), alias.name][1:]
                depth = max((n for n in range(1, len(parts) + 1) if (PACKAGE / Path(*parts[:n])).is_dir()), default=0)
                if depth < len(parts) and depth and PACKAGE / parts[0] not in path.parents:
                    imported.add(("/".join(parts[:depth]), ".".join(parts[depth:])))
    return imported


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_others_take_what_a_room_offers(path):
    for room, thing in taken(path):
        listed = import_module(f"jaxbandit.{room.replace('/', '.')}").__all__
        also = OFFERED.get(room, set())
        assert thing.rpartition(".")[2] in listed or {thing, thing.partition(".")[0]} & also, (room, thing)


def test_what_is_offered_is_said_and_used():
    used = set().union(*map(taken, MODULES))
    for room, things in OFFERED.items():
        for thing in things:
            assert any(place == room and f"{name}.".startswith(f"{thing}.") for place, name in used), (room, thing)
        said = import_module(f"jaxbandit.{room.replace('/', '.')}").__doc__
        assert [thing for thing in things if f"`{thing}`" not in said] == []


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_no_module_has_the_name_of_a_function(path):
    """Else `jaxbandit.bounds.lower` would be one or the other, by what was imported last."""
    parent, _, name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__").rpartition(".")
    assert isinstance(getattr(import_module(parent), name, None), ModuleType | None)


def test_rooms_are_stacked():
    """No circle: every room imports rooms that are listed before it."""
    order = list(MAY_IMPORT)
    pairs = [(other, room) for room, others in MAY_IMPORT.items() for other in others - {"ABOVE"}]
    assert all(order.index(other) < order.index(room) for other, room in pairs)


def test_no_two_commands_import_each_other():
    commands = {path.stem: imports(path) for path in (ROOT / "experiments").glob("*.py")}
    for name, used in commands.items():
        for other in commands:
            assert not (f"experiments.{other}" in used and f"experiments.{name}" in commands[other] and name != other)


def test_all_doors_are_open():
    assert set(PUBLIC) == set(jaxbandit.__all__) and all(hasattr(jaxbandit, name) for name in PUBLIC)
    for module, names in DOORS.items():
        assert not [name for name in names.split() if not hasattr(door(module), name)]
    assert {path.stem for path in (ROOT / "experiments").glob("*.py")} == {"__init__", "__main__", *COMMANDS}
    assert (ROOT / "experiments" / "specs" / "example.toml").exists()


def test_what_speed_asks_for_stands_in_one_room():
    """Outside `fast`, nothing walks through jaxprs, names XLA's options, or reads a key's words but to save them.

    The text of a jaxpr, which tells changed code and is not a matter of speed, is made in one file elsewhere.
    """
    asked = {"make_jaxpr", "eqns", "xla_", "xla_metadata", "threefry_2x32", "UNIMPLEMENTED"}
    for path in MODULES:
        if path.relative_to(PACKAGE).parts[0] != "fast":
            words = {word for word in asked if word in path.read_text()}
            assert words == ({"make_jaxpr"} if path == PACKAGE / "simulation" / "asking" / "user_code.py" else set()), (
                path
            )


def test_only_one_file_asks_what_a_class_has():
    """The optional members of environments and policies are asked for in `members`, which knows what holds without."""
    things = re.compile(r"environment|policy|arms|scenario|detector|memory|entry|(^|\.)thing$")
    for path in [*MODULES, *(ROOT / "experiments").rglob("*.py")]:
        calls = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
        probes = [call for call in calls if ast.unparse(call.func) == "hasattr"]
        probes += [call for call in calls if ast.unparse(call.func) == "getattr" and len(call.args) == 3]
        probing = [ast.unparse(call) for call in probes if things.search(ast.unparse(call.args[0]))]
        assert path.name in ("members.py", "arguments.py") or probing == [], (path.name, probing)


def test_files_stay_short():
    files = [*PACKAGE.rglob("*.py"), *(ROOT / "experiments").rglob("*.py")]
    assert {path.name: n for path in files if (n := len(path.read_text().splitlines())) > 400} == {}


def test_import_is_light():
    """What takes long to import waits until it is needed."""
    loaded = "import sys, jaxbandit; print(*sys.modules)"
    modules = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True).stdout.split()
    late = {"matplotlib", "scipy.special", "scipy.optimize", "tqdm", "optax", "distributed", "xarray", "pandas", "h5py"}
    assert not (late | {"gymnasium"}) & set(modules)


@pytest.mark.parametrize("asked", [True, False])
@pytest.mark.slow
def test_compilation_cache_is_for_those_who_ask(tmp_path, asked):
    play = "from jaxbandit import *; simulate(bernoulli([0.5, 0.2]), {'U': UCB1()}, runs=2, horizon=5, progress=False)"
    environment = {name: value for name, value in os.environ.items() if "CACHE" not in name}
    environment |= {"JAXBANDIT_CACHE": str(tmp_path)} if asked else {}
    subprocess.run([sys.executable, "-c", play], env=environment, check=True, cwd=ROOT)
    assert any(tmp_path.iterdir()) == asked


@pytest.mark.slow
def test_plotting_is_imported_where_it_is_asked_for():
    """`jaxbandit.plotting` is there after `import jaxbandit` alone, and only then is matplotlib imported."""
    asked = "import sys, jaxbandit; before = 'matplotlib' in sys.modules; jaxbandit.plotting.plot_regret; print(before)"
    assert subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True).stdout == "False\n"
    with pytest.raises(AttributeError, match="module 'jaxbandit' has no attribute 'ploting'"):
        _ = import_module("jaxbandit").ploting


@pytest.mark.parametrize("room", ["", *DOORS])
def test_completion_shows_what_is_offered(room):
    """Not the names that a module imports: `dir` is what a notebook and a shell complete."""
    shown = {name for name in dir(door(room)) if not name.startswith("_")}
    offered = set(DOORS[room].split()) if room else set(PUBLIC) | {"plotting", "policies"}
    assert offered <= shown <= offered | {"MARKERS"}


def test_every_field_of_a_public_tuple_is_explained():
    """In `help`, which else says "Alias for field number 0"."""
    tuples = [thing for thing in PUBLIC_THINGS if isinstance(thing, type) and hasattr(thing, "_fields")]
    tuples += [chance.RunKeys, rounds.Carry, memory.Visits, memory.Sums, memory.Transitions]
    assert len(tuples) >= 12
    for each in tuples:
        for field in each._fields:
            said = vars(each)[field].__doc__
            assert said.endswith(".") and not said.startswith("Alias"), (each, field)


def test_every_argument_is_explained_where_it_is_asked_for():
    """No docstring of a public name sends its reader to another one's arguments."""
    for thing in PUBLIC_THINGS:
        said = (thing.__doc__ or "") if callable(thing) else ""
        elsewhere = r"^ +[a-z_, ]+: as in `|Args, returns|Args: as|[Aa]rguments (and \w+ )?as "
        assert not re.search(elsewhere, said, re.M), thing
