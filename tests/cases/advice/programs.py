"""Advice on mathematical programs: builders, models of Pyomo, program and solution files, solvers."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyomo.environ as pyo

from formulations import mixed, mps, subrank
from formulations.compile import compile_model
from formulations.data import Unit, units_from_labels
from rerank.reranker.solve.own import own_program
from rerank.solvers import Options
from tests.cases.advice import Row, data, est, fit, write

X = data(8)[0]
Y = np.array([1, 0, 0, 1, 0, 0, 0, 0])
DCG = np.linspace(0, 1, 8) ** 2


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


def linear(**more):
    """A small model of a user's own."""
    model = pyo.ConcreteModel("own")
    model.a = pyo.Var(bounds=(0, 1))
    model.statistic = pyo.Objective(expr=model.a, sense=pyo.maximize)
    for name, component in more.items():
        setattr(model, name, component)
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


def program_file(path="p.mps"):
    mps.write(compile_model(build()), path)
    return path


def program(**changes):
    return replace(compile_model(build()), **changes)


def text_of(old, new):
    path = program_file()
    write("q.mps", Path(path).read_text().replace(old, new, 1))
    return "q.mps"


BUILDERS = {
    "above the limit of {}; rank fewer candidates, {}or raise max_nonzeros": Row(
        lambda: build(subrank, max_nonzeros=100),
        lambda: agrees(build(subrank, max_nonzeros=5000)) and build(subrank, X[:4], Y[:4], DCG[:4], max_nonzeros=100),
    ),
    "has no positive row; leave it out": Row(
        lambda: with_units(lambda units: units + [Unit(np.array([], int), np.arange(8), DCG, 1.0)]),
        lambda: agrees(with_units()),
    ),
}

MODELS = {
    "is on no active block of the model; add or activate its block": Row(
        lambda: compile_model(weight_outside()), lambda: compile_model(weight_outside(True)).weights.size == 1
    ),
    "unfix it or fix another value": Row(
        lambda: compile_model(fixed(3)), lambda: compile_model(fixed(1)).lower.max() == 1
    ),
}

FILES = {
    "a byte is not ASCII; write plain names": Row(
        lambda: mps.read(text_of("w0", "ä0"), sidecar=False),
        lambda: mps.read(write("q.mps", Path(program_file()).read_text().replace("w0", "a0")), sidecar=False),
    )
}


def model(path="m.json", **options):
    fit(**{"n_candidates": 8, "first_stage": "logistic", **options}).save(path)
    return path


def pairs(**options):
    """A fit of AUC whose program is to be changed."""
    return est(**{"stat": "auc", "solver": "none", "margin": 1e-4, **options}).fit(*data(12))


def own(rows=lambda m: (m.w[0] >= m.w[1] + 0.25,), **options):
    """A fit with rows of a user's own, solved."""
    found = pairs(**options)
    return found.fit_model(with_rows(found.build_model(), rows))


def with_rows(model, rows):
    model.mine = pyo.ConstraintList()
    for one in rows(model):
        model.mine.add(one)
    return model


def part(model):
    """A column of a user's own, and a row on it."""
    model.part = pyo.Var(bounds=(0, 1))
    return (model.part >= model.w[0],)


def without_weight(left):
    found = pairs()
    model = found.build_model()
    if not left:
        stated = compile_model(model)
        lacking = replace(stated, columns=("other", *stated.columns[1:]))
        return own_program(found.state_.problem, model.rerank_info.kind, lacking, {}, {})
    model.w[0].fix(0.5)
    return found.fit_model(model)


FITS = {
    "of its problem; keep the variables that build_model made, and fix one that you do not want": Row(
        lambda: without_weight(False), lambda: without_weight(True).result_.weights[0] == 0.5
    ),
    "found no point of the program with your rows ({}); raise time_limit": Row(
        lambda: own(part, time_limit=0), lambda: own(part).result_.value > 0
    ),
    "is no model of build_model(); make it with est.build_model() and add rows to that": Row(
        lambda: pairs().fit_model(linear()), lambda: own().result_.value > 0
    ),
    "feasibility_tolerance is {}; give 1e-10 to 1e-2": Row(
        lambda: Options(feasibility_tolerance=1.0), lambda: Options(feasibility_tolerance=1e-7)
    ),
}

ROWS = BUILDERS | MODELS | FILES | FITS
