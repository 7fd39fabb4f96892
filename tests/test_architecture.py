"""The house's rules that a program can hold: who imports whom, how long a file is, what is exported."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "jaxbandit"

# a module may import the modules named behind it, and nothing else of the package
MAY_IMPORT = {
    "base": set(),
    "indexing": {"base"},
    "batching": {"base", "draws", "indexing"},
    "draws": {"base"},
    "chains": {"base"},
    "compilation": {"batching"},
    "divergences": {"base"},
    "bounds": {"base", "chains"},
    "confidence": {"base", "indexing", "confidence"},
    "environments": {"base", "indexing", "draws", "chains", "divergences", "environments"},
    "policies": {"base", "indexing", "divergences", "confidence", "policies"},
    "rounds": {"base", "indexing", "batching"},
    "arguments": {"base"},
    "interruption": set(),
    "results": {"interruption"},
    "unrolled": {"base", "batching", "draws", "unrolled"},
    "kernel": {"base", "rounds", "unrolled"},
    "tiles": {"base", "arguments", "compilation", "kernel", "results", "rounds"},
    "simulation": {"base", "arguments", "interruption", "results", "tiles"},
    "storage": {"arguments", "results"},
    "sweeps": {"arguments", "results", "simulation", "storage"},
    "metrics": {"results"},
    "display": {"metrics", "results"},
    "named_axes": {"metrics", "results"},
    "plotting": {"bounds", "metrics", "results"},
    "testing": {"base", "environments", "rounds", "simulation", "arguments"},
}
# and these when one of its methods is called, though they import it in turn
MAY_IMPORT_LATE = {"results": {"display", "named_axes"}}
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if path.name != "__init__.py" or path.parent != PACKAGE)


def imports(path: Path, late: bool = True) -> set[str]:
    tree, names = ast.parse(path.read_text()), set()
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    inside = set() if late else {node for function in functions for node in ast.walk(function)}
    for node in set(ast.walk(tree)) - inside:
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= (
                {f"{node.module}.{alias.name}" for alias in node.names} if node.module == "jaxbandit" else {node.module}
            )
    return names


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_imports_point_one_way(path):
    module = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    for late, more in ((False, set()), (True, MAY_IMPORT_LATE.get(module, set()))):
        used = {name.split(".")[1] for name in imports(path, late) if name.startswith("jaxbandit.")}
        assert used <= MAY_IMPORT[module] | {module} | more
    assert not any(name.split(".")[0] == "experiments" for name in imports(path))
    assert module == "plotting" or not any(name.startswith("matplotlib") for name in imports(path))


def test_every_module_is_listed():
    assert {path.relative_to(PACKAGE).parts[0].removesuffix(".py") for path in MODULES} == set(MAY_IMPORT)


def test_files_stay_short():
    files = [*PACKAGE.rglob("*.py"), *(ROOT / "experiments").rglob("*.py")]
    assert {path.name: n for path in files if (n := len(path.read_text().splitlines())) > 300} == {}


def test_import_is_light():
    """What takes long to import waits until it is needed."""
    loaded = "import sys, jaxbandit; print(*sys.modules)"
    modules = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True).stdout.split()
    late = {"matplotlib", "scipy.special", "scipy.optimize", "tqdm", "optax", "distributed", "xarray", "pandas", "h5py"}
    assert not late & set(modules)


@pytest.mark.parametrize("asked", [True, False])
def test_compilation_cache_is_for_those_who_ask(tmp_path, asked):
    play = "from jaxbandit import *; simulate(bernoulli([0.5, 0.2]), {'U': UCB1()}, runs=2, horizon=5, progress=False)"
    environment = {name: value for name, value in os.environ.items() if "CACHE" not in name}
    environment |= {"JAXBANDIT_CACHE": str(tmp_path)} if asked else {}
    subprocess.run([sys.executable, "-c", play], env=environment, check=True, cwd=ROOT)
    assert any(tmp_path.iterdir()) == asked


def test_plotting_is_not_imported_with_the_package():
    assert "plotting" not in ast.unparse(ast.parse((PACKAGE / "__init__.py").read_text()))
