#!/usr/bin/env python3
"""Solves a MILP in a file with Gurobi, SCIP or HiGHS, for `rw-adv --method external` and `rw-adv bench paper`.

    scripts/solve_mps.py gurobi|scip|highs MODEL SECONDS OUT    solve MODEL (.mps or .lp) in so many seconds, write the best point to OUT
    scripts/solve_mps.py gurobi|scip|highs --version            print the solver's version; exit code 1 if it is not installed

The solvers are Python packages: scripts/requirements-solvers.txt. Each runs in one thread, and stops after SECONDS of CPU time (HiGHS: on the wall
clock), so that other programs on the machine do not take its time away. The system ends one that does not look at its clock (SCIP inside its first
relaxation) when it has used a quarter more and 5 s. PyPI's Gurobi has a licence for 2,000 columns and 2,000 rows.

OUT holds `COLUMN VALUE` for each column that is not 0, and comments: `# bound VALUE`, `# status optimal` or `# status limit`,
`# seconds CPU-SECONDS`, and `# refused WHY` if the solver does not take the model.

Exit code 0: OUT is written, with or without a point; 1: the solver is not installed or failed; 2: bad usage; by a signal (SIGXCPU): far too much time.
"""

import math
import resource
import sys
import time


class Refused(Exception):
    """The solver does not take this model."""


class Answer:
    """What a solver found: values by column if it found a point, a bound, and whether the point is optimal."""

    def __init__(self, values, bound, optimal):
        self.values, self.bound, self.optimal = values, bound, optimal


def solve_gurobi(model_file, seconds):
    import gurobipy as gp

    with gp.Env(empty=True) as env:
        env.setParam("OutputFlag", 0)
        env.start()
        with gp.read(model_file, env=env) as model:
            model.Params.Threads = 1
            # As for the others: no gap is small enough to stop but that of the tolerances.
            model.Params.MIPGap = 0
            model.Params.MIPGapAbs = 1e-6
            begin = time.process_time()

            def stop_in_time(model, where):
                if time.process_time() - begin > seconds:
                    model.terminate()

            try:
                model.optimize(stop_in_time)
            except gp.GurobiError as error:
                if error.errno == gp.GRB.Error.SIZE_LIMIT_EXCEEDED:
                    raise Refused(f"{model.NumVars} columns and {model.NumConstrs} rows are more than the licence allows") from error
                raise
            values = None
            if model.SolCount:
                values = {var.VarName: var.X for var in model.getVars()}
            try:
                bound = model.ObjBound
            except (AttributeError, gp.GurobiError):
                bound = math.inf
            return Answer(values, bound if abs(bound) < 1e20 else None, model.Status == gp.GRB.OPTIMAL)


def solve_scip(model_file, seconds):
    import pyscipopt

    model = pyscipopt.Model()
    model.hideOutput()
    model.readProblem(model_file)
    model.setParam("timing/clocktype", 1)
    model.setParam("limits/time", seconds)
    model.setParam("lp/threads", 1)
    model.setParam("limits/gap", 0.0)
    model.optimize()
    values = None
    if model.getNSols():
        best = model.getBestSol()
        values = {var.name: model.getSolVal(best, var) for var in model.getVars()}
    bound = model.getDualbound()
    return Answer(values, None if model.isInfinity(abs(bound)) else bound, model.getStatus() == "optimal")


def solve_highs(model_file, seconds):
    import highspy

    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.setOptionValue("threads", 1)
    highs.setOptionValue("mip_rel_gap", 0.0)
    highs.setOptionValue("time_limit", seconds)
    if highs.readModel(model_file) == highspy.HighsStatus.kError:
        raise ValueError("HiGHS cannot read the model")
    highs.run()
    info, lp = highs.getInfo(), highs.getLp()
    values = None
    if info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible:
        values = dict(zip(lp.col_names_, highs.getSolution().col_value))
    optimal = highs.getModelStatus() == highspy.HighsModelStatus.kOptimal
    bound = info.mip_dual_bound if lp.integrality_ else (info.objective_function_value if optimal else math.inf)
    return Answer(values, bound if math.isfinite(bound) else None, optimal)


def version_of(solver):
    if solver == "gurobi":
        import gurobipy

        return "Gurobi " + ".".join(map(str, gurobipy.gurobi.version()))
    if solver == "scip":
        import pyscipopt

        model = pyscipopt.Model()
        return f"SCIP {model.getMajorVersion()}.{model.getMinorVersion()}.{model.getTechVersion()}"
    import highspy

    return "HiGHS " + highspy.Highs().version()


SOLVERS = {"gurobi": solve_gurobi, "scip": solve_scip, "highs": solve_highs}


def write(path, answer, seconds):
    with open(path, "w") as out:
        out.write(f"# status {'optimal' if answer.optimal else 'limit'}\n# seconds {seconds:.3f}\n")
        if answer.bound is not None:
            out.write(f"# bound {answer.bound!r}\n")
        for name, value in (answer.values or {}).items():
            if value != 0.0 or name == "one":
                out.write(f"{name} {float(value)!r}\n")


def limit_cpu(seconds):
    """Has the system end this process when it has used far more CPU time than it was given. No core is dumped."""
    most = math.ceil(1.25 * seconds + 5.0)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (most, most + 1))


def main(args):
    if len(args) < 2 or args[0] not in SOLVERS or (args[1] != "--version" and len(args) != 4):
        print("usage: solve_mps.py gurobi|scip|highs MODEL SECONDS OUT   or   solve_mps.py gurobi|scip|highs --version", file=sys.stderr)
        return 2
    solver = args[0]
    try:
        if args[1] == "--version":
            print(version_of(solver))
            return 0
        model_file, seconds, out = args[1], float(args[2]), args[3]
        limit_cpu(seconds)
        begin = time.process_time()
        try:
            answer = SOLVERS[solver](model_file, seconds)
        except Refused as reason:
            with open(out, "w") as file:
                file.write(f"# refused {reason}\n")
            return 0
        write(out, answer, time.process_time() - begin)
        return 0
    except ImportError as error:
        print(f"{solver} is not installed ({error})", file=sys.stderr)
    except Exception as error:  # whatever a solver throws: one line, not a trace
        print(f"{solver}: {error}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
