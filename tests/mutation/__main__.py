"""Small errors in the code, one at a time, and whether a test fails: `python -m tests.mutation`."""

import argparse
import sys

from tests.mutation.mutants import Mutant, modules, sample
from tests.mutation.playing import STATE, holders, play_all, read
from tests.mutation.table import KINDS, is_equivalent, table


def main() -> None:
    parser = argparse.ArgumentParser(
        "python -m tests.mutation",
        description="Put small errors (a + for a -, a < for a <=, 3 for 2) into copies of the code, one at a time, run "
        "the tests that hold the module until one fails, and count how often one does. A run that is stopped goes on "
        "where it was. Results are in build/mutation; equivalent mutants are named in tests/mutation/equivalent.toml.",
    )
    parser.add_argument(
        "paths", nargs="*", help="files or folders of the package: jaxbandit/families; all of them if none is named"
    )
    parser.add_argument(
        "--sample", type=int, help="how many mutants are drawn (400, or 20 where paths are named); 0: all"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the draw: the same mutants for the same seed")
    parser.add_argument("--processes", type=int, default=2, help="mutants that are played side by side")
    parser.add_argument("--again", action="store_true", help="after new tests, play those that survived once more")
    parser.add_argument("--trust", action="store_true", help="do not run the tests on unchanged code first: they pass")
    parser.add_argument("--only-list", action="store_true", help="name the mutants and the tests, and play nothing")
    parser.add_argument("--only-table", action="store_true", help="show what has been played, and play nothing")
    asked = parser.parse_args()
    count = asked.sample if asked.sample is not None else 20 if asked.paths else 400
    drawn = sample(modules(asked.paths or ["jaxbandit"]), count, asked.seed)
    STATE.mkdir(parents=True, exist_ok=True)
    results = STATE / "results.jsonl"

    def result(mutant: Mutant) -> str | None:
        """One of KINDS; quiet: slow tests are to come; None: not yet played."""
        return "equivalent" if is_equivalent(mutant) else so_far.get(mutant.key, {}).get("outcome")

    so_far = read(results)
    if asked.only_list:
        for mutant in drawn:
            print(mutant, f"[{result(mutant) or 'not yet played'}]", *holders(mutant.module))
        return
    for slow in () if asked.only_table else (False, True):  # slow tests where the quick ones found nothing
        wanted = ("quiet",) if slow else (None, "quiet", "survived") if asked.again else (None,)
        left = [one for one in drawn if result(one) in wanted]
        for number, line in enumerate(play_all(left, slow, asked.processes, asked.trust, results), 1):
            what = f"{line['module']}:{line['number']} {line['line']}  ->  {line['becomes']}"
            print(f"{number}/{len(left)} {line['outcome']} in {line['took']} s: {what}  [{line['by']}]", flush=True)
        so_far = read(results)
    played = [one for one in drawn if result(one) in KINDS]
    print(table((one.module, result(one)) for one in played))
    for one in drawn:
        if result(one) == "survived":
            print("survived:", one)
    print(f"{len(played)} of {len(drawn)} are played")
    sys.exit(any(result(one) == "survived" for one in drawn))


if __name__ == "__main__":
    main()
