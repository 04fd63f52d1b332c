"""Advice on mathematical programs: builders, models of Pyomo, program and solution files, solvers."""

import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyomo.environ as pyo
from pyomo.gdp import Disjunction

from formulations import auc, mixed, mps, pairwise, pos_top, resolved_rank, subrank
from formulations.compile import compile_model
from formulations.data import Unit, units_from_labels
from rerank import load
from rerank.reranker.files.export import imported
from rerank.reranker.solve.own import own_program
from rerank.solvers import Options, gateway
from tests.cases.advice import Row, data, est, fit, promised, write

X = data(8)[0]
Y = np.array([1, 0, 0, 1, 0, 0, 0, 0])
DCG = np.linspace(0, 1, 8) ** 2
AUC = np.arange(8.0)


def build(builder=mixed, X=X, y=Y, coefficients=DCG, **options):
    return builder.build(X, y, coefficients, **options)


def solved(model):
    """The optimum of a model by HiGHS."""
    from rerank.solvers import highs

    return highs.solve(compile_model(model), Options(time_limit=20.0)).objective


def agrees(model) -> bool:
    """Whether the program has the optimum of the plain one."""
    return abs(solved(model) - solved(build())) < 1e-6


def with_units(change=lambda units: units):
    return mixed.build(X, units=change(list(units_from_labels(X, Y, DCG))))


def only(**fields):
    return lambda units: [replace(units[0], **fields)]


def linear(**more):
    """A small model of a user's own."""
    model = pyo.ConcreteModel("own")
    model.a = pyo.Var(bounds=(0, 1))
    model.statistic = pyo.Objective(expr=model.a, sense=pyo.maximize)
    for name, component in more.items():
        setattr(model, name, component)
    return model


def outside(added=False):
    """A model that speaks of a variable of a block that is not active."""
    model = linear()
    model.block = pyo.Block()
    model.block.b = pyo.Var(bounds=(0, 1))
    model.row = pyo.Constraint(expr=model.a + model.block.b <= 1)
    if not added:
        model.block.deactivate()
    return model


def weight_outside(added=False):
    """A model whose weights refer to a block that is not active."""
    model = linear(block=pyo.Block())
    model.block.v = pyo.Var([0], bounds=(0, 1))
    model.w = pyo.Reference(model.block.v)
    if not added:
        model.block.deactivate()
    return model


def fixed(value):
    model = linear(b=pyo.Var(domain=pyo.Binary))
    model.b.fix(value, skip_validation=True)
    return model


def sos(left):
    model = linear()
    if left:
        model.c = pyo.Var([0, 1], bounds=(0, 1))
        model.s = pyo.SOSConstraint(var=model.c, sos=1)
    return model


def disjoint(how=None):
    """A model of Pyomo's gdp: x is at most 2, or 5 to 6."""
    model = pyo.ConcreteModel("own")
    model.x = pyo.Var(bounds=(0, 10))
    model.statistic = pyo.Objective(expr=model.x, sense=pyo.maximize)
    model.either = Disjunction(expr=[[model.x <= 2], [model.x >= 5, model.x <= 6]])
    if how is not None:
        pyo.TransformationFactory(f"gdp.{how}").apply_to(model)
    return model


def with_domain(domain):
    return linear(b=pyo.Var(domain=domain))


def program_file(path="p.mps"):
    mps.write(compile_model(build()), path)
    return path


def sidecar(**changes):
    """The program's files with a sidecar that was changed."""
    path = program_file()
    body = json.loads(Path("p.json").read_text())
    write("p.json", json.dumps({**body, **changes}))
    return path


def program(**changes):
    return replace(compile_model(build()), **changes)


def text_of(old, new):
    path = program_file()
    write("q.mps", Path(path).read_text().replace(old, new, 1))
    return "q.mps"


def read_text(text):
    return mps.read(write("q.mps", text), sidecar=False)


def wide(n=40):
    X, y = data(n)
    return X, y, np.linspace(0, 1, n) ** 2


def with_own(name):
    """A row of the user's under a name, which may be one of the program's."""
    model = build(mixed)
    model.del_component(name)
    model.add_component(name, pyo.Constraint(expr=model.w[0] <= 0.5))
    return compile_model(model)


PAIRS = np.array([[0, 1], [3, 2]])

BUILDERS = {
    "give yours another name, and fix a variable that you do not want": Row(
        lambda: with_own("z"), lambda: with_own("mine")
    ),
    "use subrank or mixed for others": Row(lambda: build(auc), lambda: [build(subrank), build(mixed)]),
    "The pos_top program pays the top place alone; use mixed for coefficients that pay others, too.": Row(
        lambda: build(pos_top), lambda: build(mixed)
    ),
    "use linking='ordered' or the 'mixed' program, ": Row(
        lambda: build(resolved_rank, linking="paper", max_nonzeros=500),
        lambda: build(resolved_rank, linking="ordered", max_nonzeros=500) and agrees(build(max_nonzeros=500)),
    ),
    "above the limit of {}; rank fewer candidates, {}or raise max_nonzeros": Row(
        lambda: build(subrank, max_nonzeros=100),
        lambda: agrees(build(subrank, max_nonzeros=5000)) and build(subrank, X[:4], Y[:4], DCG[:4], max_nonzeros=100),
    ),
    "rank fewer candidates or raise max_nonzeros": Row(
        lambda: mixed.build(*wide(), max_nonzeros=10),
        lambda: build(max_nonzeros=1000) and mixed.build(*wide(), max_nonzeros=100_000),
    ),
    "that they may claim pairs they do not win; use at least {}": Row(
        lambda: build(epsilon=1e-6), lambda: agrees(build(epsilon=1e-4))
    ),
    "compares no pairs, and two_sided is about those; leave it out": Row(
        lambda: build(pos_top, coefficients=None, two_sided=True), lambda: build(pos_top, coefficients=None)
    ),
    "w has shape {}; give one finite weight for each of {}": Row(
        lambda: mixed.assignment(build(), [1.0]), lambda: mixed.assignment(build(), [1.0, 0.0]).values
    ),
    "give one entry a row": Row(lambda: build(y=Y[:3]), lambda: agrees(build(y=Y))),
    "stands in two lists; give each list its own copy of the row": Row(
        lambda: with_units(lambda units: units + [Unit(np.array([0]), np.array([1]), np.array([0.0, 1.0]), 1.0)]),
        lambda: mixed.build(
            np.vstack([X, X[:2]]),
            units=[*units_from_labels(X, Y, DCG), Unit(np.array([8]), np.array([9]), np.array([0.0, 1.0]), 1.0)],
        ),
    ),
    "has no positive row; leave it out": Row(
        lambda: with_units(lambda units: units + [Unit(np.array([], int), np.arange(8), DCG, 1.0)]),
        lambda: agrees(with_units()),
    ),
    "but coefficients of shape {}; give one a row": Row(
        lambda: with_units(only(coefficients=DCG[:3])), lambda: agrees(with_units(only(coefficients=DCG)))
    ),
    "big_m is {}; choose 'pair' or 'unit'": Row(
        lambda: build(big_m="x"), lambda: agrees(build(big_m="pair")) and build(big_m="unit")
    ),
    "use 'pair' with corrections": Row(
        lambda: build(big_m="unit", corrections=([1, -1], [1, 1])),
        lambda: build(big_m="pair", corrections=([1, -1], [1, 1])),
    ),
    "linking is {}; choose 'ordered' or 'paper'": Row(
        lambda: build(linking="x"), lambda: agrees(build(linking="ordered")) and agrees(build(linking="paper"))
    ),
    "max_features is {}; give a whole number, at least 1, or None": Row(
        lambda: build(max_features=0), lambda: build(max_features=1) and agrees(build(max_features=None))
    ),
    "max_nonzeros is {}; give at least 1": Row(lambda: build(max_nonzeros=0), lambda: build(max_nonzeros=5000)),
    "The box of w, cut to the signs, must be non-empty and lie inside {}": Row(
        lambda: build(box=([-2, -1], [1, 1])), lambda: agrees(build(box=([-1, -1], [1, 1])))
    ),
    "Give y and coefficients, or units": Row(
        lambda: mixed.build(X), lambda: agrees(mixed.build(X, Y, DCG)) and agrees(with_units())
    ),
    "gains has shape {} and qid {}; give one entry a row": Row(
        lambda: pairwise.preferences_from_gains(Y, [0]),
        lambda: len(pairwise.preferences_from_gains(Y, np.zeros(8))[0]) == 12,
    ),
    **promised(
        lambda: pairwise.build(X, np.eye(8, k=1)),
        {
            "Preferences have shape {}; give one row and one column for each of {} items": lambda: pairwise.build(
                X, np.eye(3)
            ),
            "is preferred to itself; leave such pairs out": lambda: pairwise.build(X, np.eye(8)),
        },
    ),
    "Preferences have shapes {} and {}; give (p, 2) and (p,)": Row(
        lambda: pairwise.build(X, (PAIRS, [1.0])), lambda: pairwise.build(X, (PAIRS, [1.0, 1.0]))
    ),
    "use 'mixed' with corrections": Row(
        lambda: build(resolved_rank, corrections=([1, -1], [1, 1])), lambda: build(mixed, corrections=([1, -1], [1, 1]))
    ),
    "use at most {}, or the mixed program": Row(
        lambda: build(resolved_rank, epsilon=0.3),
        lambda: build(resolved_rank, epsilon=0.001) and build(mixed, epsilon=0.3),
    ),
}

MODELS = {
    "; state it as linear rows, or {} it": Row(
        lambda: compile_model(sos(True)), lambda: compile_model(sos(False)).columns
    ),
    "add or activate its block, or fix it": Row(
        lambda: compile_model(outside()), lambda: len(compile_model(outside(True)).columns) == 2
    ),
    "transform the model by gdp.bigm or gdp.hull of Pyomo": Row(
        lambda: compile_model(disjoint()), lambda: solved(disjoint("bigm")) == solved(disjoint("hull")) == 6
    ),
    "model is a {}; give a ConcreteModel of Pyomo": Row(
        lambda: compile_model(3), lambda: compile_model(linear()).columns
    ),
    "is on no active block of the model; add or activate its block": Row(
        lambda: compile_model(weight_outside()), lambda: compile_model(weight_outside(True)).weights.size == 1
    ),
    "nor all whole numbers of one; state its values with binary variables": Row(
        lambda: compile_model(with_domain([1, 3])), lambda: compile_model(with_domain(pyo.Binary)).integer.sum() == 1
    ),
    "unfix it or fix another value": Row(
        lambda: compile_model(fixed(3)), lambda: compile_model(fixed(1)).lower.max() == 1
    ),
    "Bounds have shapes {} and {}; give {} of each": Row(
        lambda: program().with_bounds([0], [1]), lambda: program().with_bounds(program().lower, program().upper)
    ),
}

FILES = {
    "is a directory; give the name of a file": Row(
        lambda: (os.mkdir("d.mps"), program_file("d.mps"))[1], lambda: mps.read(program_file("d2.mps"))
    ),
    "is a device or a pipe; give the name of a file": Row(
        lambda: (os.mkfifo("f.mps"), program_file("f.mps"))[1], lambda: mps.read(program_file("f2.mps"))
    ),
    **promised(
        lambda: mps.read(program_file()),
        {
            "it is no regular file; give the path of one": lambda: (os.mkdir("d.mps"), mps.read("d.mps"))[1],
            "give the path of an existing file": lambda: mps.read("no.mps"),
            "must say sense 'max' or 'min' and a finite offset; export the model again": lambda: mps.read(
                sidecar(sense="x")
            ),
            "has no valid entry {}; export the model again": lambda: mps.read(sidecar(offset="x")),
            "which the model file does not have; export both again": lambda: mps.read(sidecar(weights=["x"])),
            "is not part of a linear program; pass an .mps file": lambda: read_text("NAME x\nQUADOBJ\nENDATA\n"),
            "data stand before the first section; start with NAME and ROWS": lambda: read_text(" N obj\n"),
        },
    ),
    **promised(
        lambda: mps.read(program_file("p.mps")),
        {
            "cannot be written: {}; choose another place": lambda: program_file("no/p.mps"),
            "would be its own sidecar; give the model file a name that ends in .mps": lambda: program_file("p.json"),
        },
    ),
    "export both again, or read the file alone with sidecar=False": Row(
        lambda: mps.read(sidecar(sha256="0")),
        lambda: mps.read(sidecar(sha256="0"), sidecar=False) and mps.read(program_file()),
    ),
    "is not the sidecar of a program; read the .mps with sidecar=False": Row(
        lambda: mps.read(sidecar(format="x")), lambda: mps.read(sidecar(format="x"), sidecar=False)
    ),
    "has no side; drop it": Row(
        lambda: mps.write(
            program(row_lower=np.full(len(program().rows), -np.inf), row_upper=np.full(len(program().rows), np.inf)),
            "p.mps",
        ),
        lambda: mps.write(program(), "p.mps"),
    ),
    "is infinity to solvers: rescale": Row(
        lambda: mps.write(program(upper=np.full(len(program().columns), 1e25)), "p.mps"),
        lambda: mps.write(program(upper=np.full(len(program().columns), 1e5)), "p.mps"),
    ),
    "something follows ENDATA; end the file there": Row(
        lambda: mps.read(write("q.mps", Path(program_file()).read_text() + "ROWS\n"), sidecar=False),
        lambda: mps.read(write("q.mps", Path(program_file()).read_text()), sidecar=False),
    ),
    "a byte is not ASCII; write plain names": Row(
        lambda: mps.read(text_of("w0", "ä0"), sidecar=False),
        lambda: mps.read(write("q.mps", Path(program_file()).read_text().replace("w0", "a0")), sidecar=False),
    ),
}


def model(path="m.json", **options):
    fit(**{"n_candidates": 8, "first_stage": "logistic", **options}).save(path)
    return path


def small(**options):
    return est(**{"n_candidates": 8, "first_stage": data()[0][:, 1], "stat": "dcg@5", **options}).fit(*data())


def pairs(**options):
    """A fit of AUC whose program is to be changed."""
    return est(**{"stat": "auc", "solver": "none", "epsilon": 1e-4, **options}).fit(*data(12))


def in_nodes(limit):
    """A budget on weights of columns that say nothing of the label: a program that takes some nodes."""
    y = np.random.default_rng(2).permutation(np.arange(14) % 4 == 0).astype(int)
    found = est(stat="mrr", solver="none", epsilon=1e-4, node_limit=limit).fit(data(14, 3, 2)[0], y)
    model = found.build_model()
    return found.fit_model(with_rows(model, lambda m: (m.w[0] >= m.w[1] + 0.25, m.w[0] + m.w[1] <= 0.1)))


def own(rows=lambda m: (m.w[0] >= m.w[1] + 0.25,), **options):
    """A fit with rows of a user's own, solved."""
    found = pairs(**options)
    return found.fit_model(with_rows(found.build_model(), rows))


def with_rows(model, rows):
    model.mine = pyo.ConstraintList()
    for one in rows(model):
        model.mine.add(one)
    return model


def two_sided(epsilon):
    """Weights of which one is large, so that some rows lead others by less than a wide margin."""
    found = pairs(epsilon=epsilon)
    return found.fit_model(with_rows(found.build_model(two_sided=True), lambda m: (m.w[0] >= 0.5,)))


def part(model):
    """A column of a user's own, and a row on it."""
    model.part = pyo.Var(bounds=(0, 1))
    return (model.part >= model.w[0],)


def read_with(rows, w, tolerance=1e-9, alone=False):
    """Weights of a solution file for a program with rows of a user's own."""
    found = pairs()
    plain, model = found.build_model(), with_rows(found.build_model(), rows)
    values = auc.assignment(plain, np.array(w), tolerance).values
    lines = (f"{name} {value!r}\n" for name, value in values.items() if not alone or name[0] == "w")
    write("own.sol", "".join(lines))
    return found.load_solution("own.sol", model=model).result_


def near_pair():
    """Weights that win a pair by four fifths of the margin."""
    X = pairs().state_.problem.scaled
    apart = (X[:, None] - X[None]).reshape(-1, 2)
    second = [(0.83e-4 - 0.5 * a) / b for a, b in apart if b]
    places, y = [(i, k) for i in range(12) for k in range(12) if X[i, 1] != X[k, 1]], data(12)[1]
    wide = [y[i] > y[k] and np.abs(X[i] - X[k]).sum() > 0.9 for i, k in places]
    return next([0.5, t] for t, able in zip(second, wide, strict=True) if able and abs(t) < 0.9)


def forgotten(right):
    """A sidecar that does not say what its user added."""
    found = pairs()
    found.export_mps("p.mps", model=with_rows(found.build_model(), lambda m: (m.w[0] <= 0.5,)))
    gateway.solve_file("p.mps", solution="p.sol", time_limit=20)
    if not right:
        body = json.loads(Path("p.json").read_text())
        body["data"]["own"] = 1
        write("p.json", json.dumps(body))
    return imported("p.mps", "p.sol").result


def without_weight(left):
    found = pairs()
    model = found.build_model()
    if not left:
        stated = compile_model(model)
        lacking = replace(stated, columns=("other", *stated.columns[1:]))
        return own_program(found.state_.problem, model.rerank_info.kind, lacking, {}, {})
    model.w[0].fix(0.5)
    return found.fit_model(model)


def saved_beside(name):
    found = pairs()
    found.export_mps("own.mps")
    found.save(name)
    return load(name).result_.value == found.result_.value and mps.read("own.mps").weights.size == 2


FITS = {
    "which is of no use without it; choose another name": Row(
        lambda: saved_beside("own.json"), lambda: saved_beside("other.json")
    ),
    "may have a larger value, larger by at most this gap. Raise time_limit, and node_limit where there is one": Row(
        lambda: in_nodes(1), lambda: in_nodes(None).result_.gap < 1e-6
    ),
    "differ from those of this fit; build it with build_model() of this estimator": Row(
        lambda: pairs().fit_model(pairs(C=0.1).build_model()),
        lambda: pairs(C=0.1).fit_model(pairs(C=0.1).build_model()),
    ),
    "of its problem; keep the variables that build_model made, and fix one that you do not want": Row(
        lambda: without_weight(False), lambda: without_weight(True).result_.weights[0] == 0.5
    ),
    "and no weights near them keep it; leave some room in that row": Row(
        lambda: read_with(lambda m: (m.w[0] == 0.5, m.w[1] <= 0.25, m.w[1] >= 0.25 + 1e-6), [0.5, 0.25 + 5e-7]),
        lambda: (
            read_with(lambda m: (m.w[0] == 0.5, m.w[1] <= 0.25, m.w[1] >= 0.25), [0.5, 0.25 + 5e-7]).weights[0] == 0.5
            and read_with(lambda m: (m.w[0] == 0.5, m.w[1] <= 0.2500005), [0.5, 0.25 + 1e-6]).weights[1] <= 0.2500005
        ),
    ),
    "and polishing inside your rows does not restore the claim; leave some room in the rows": Row(
        lambda: read_with(lambda m: (m.w[0] == 0.5, m.w[1] == near_pair()[1]), near_pair(), 3e-5),
        lambda: read_with(lambda m: (m.w[0] <= 0.9,), near_pair(), 3e-5).value > 0,
    ),
    "does not say what its user added; export it again": Row(
        lambda: forgotten(False), lambda: forgotten(True).value > 0
    ),
    "found no point of the program with your rows ({}); raise time_limit": Row(
        lambda: own(part, time_limit=0), lambda: own(part).result_.value > 0
    ),
    "has columns of your own or rows on what it counts; give a solution file with all of its columns": Row(
        lambda: read_with(lambda m: (m.z[next(iter(m.z))] <= 1, sum(m.z.values()) >= 1), [1.0, 0.5], alone=True),
        lambda: read_with(lambda m: (sum(m.z.values()) >= 1,), [1.0, 0.5]).value > 0,
    ),
    "is no model of build_model(); make it with est.build_model() and add rows to that": Row(
        lambda: pairs().fit_model(linear()), lambda: own().result_.value > 0
    ),
    "says that no weights keep your rows together ({}); leave one of them out, or give it more room": Row(
        lambda: own(lambda m: (m.w[0] >= 0.5, m.w[0] <= 0.25)),
        lambda: (
            own(lambda m: (m.w[0] >= 0.5,)).result_.value > 0
            and own(lambda m: (m.w[0] >= 0.5, m.w[0] <= 0.75)).result_.value > 0
        ),
    ),
    "its two sides also forbid leads within the margin, of which a smaller one has fewer": Row(
        lambda: two_sided(0.5), lambda: two_sided(0.001).result_.value > 0
    ),
    "was given beside a model, which is built already; give it to build_model()": Row(
        lambda: pairs().export_mps("p.mps", model=pairs().build_model(), big_m="unit"),
        lambda: pairs().export_mps("p.mps", model=pairs().build_model(big_m="unit")),
    ),
    "raise time_limit, lower n_candidates, or use presolve=True": Row(
        lambda: est(stat="dcg", solver="highs", presolve=False, time_limit=0.3).fit(*data(300)),
        lambda: small(solver="highs", presolve=False).result_.value > 0 and small(solver="highs").result_.value > 0,
    ),
    "is no option of a program; fit again {}": Row(
        lambda: small(solver="none").build_model(C=1.0), lambda: small(solver="none", C=0.01).build_model()
    ),
    "No program states a measure such as 'ap'; use solver='search', which needs none": Row(
        lambda: small(stat="ap", solver="none").build_model(),
        lambda: small(stat="ap", solver="search").result_.value > 0,
    ),
    "is too close to the solver's feasibility tolerance {}; use at least {}, or tighten feasibility_tolerance": Row(
        lambda: small(solver="highs", epsilon=1e-7), lambda: small(solver="highs", epsilon=1e-3).result_.value > 0
    ),
    "exists and is no sidecar of a program; export under another name than {}": Row(
        lambda: (model("p.json"), small().export_mps("p.mps"))[1], lambda: small().export_mps("q.mps")
    ),
    "feasibility_tolerance is {}; give 1e-10 to 1e-2": Row(
        lambda: Options(feasibility_tolerance=1.0), lambda: Options(feasibility_tolerance=1e-7)
    ),
}

ROWS = BUILDERS | MODELS | FILES | FITS
