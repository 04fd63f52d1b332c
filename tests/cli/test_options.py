"""Parameters that are written once: the command, the estimator and the model file have them alike."""

import inspect
import json
import re
from dataclasses import fields

import pytest
from typer.main import get_command

from rerank import Reranker
from rerank.cli import app
from rerank.fusion import ScoreFusion
from rerank.reranker.options import KEPT, FusionOptions, RerankerOptions, parameters, spellings
from tests.cli.commands import OPEN, fit

COMMANDS = get_command(app).commands


@pytest.mark.parametrize(("options", "estimator"), [(RerankerOptions, Reranker), (FusionOptions, ScoreFusion)])
def test_every_parameter_is_said_in_the_docstring_and_in_its_order(options, estimator):
    told = re.search(r"Parameters\n-+\n(.*?)\n\nAttributes", inspect.cleandoc(estimator.__doc__), re.S)[1]
    named = [name for line in re.findall(r"^(\w[\w, ]*) :? ?", told, re.M) for name in line.split(", ")]
    own = {each.name: each.default for each in fields(options)}
    assert own.keys() <= set(named) and estimator().get_params(deep=False) == own


def test_the_command_without_options_is_the_estimator_without_parameters():
    plain = parameters(RerankerOptions, {name: one.default for name, one in spellings(RerankerOptions).items()})
    usual = Reranker().get_params(deep=False)
    differ = {name: value for name, value in plain.items() if value != usual[name]}
    assert differ == {"n_jobs": 1, "random_state": 0, "verbose": 1}  # a command has a line of progress
    assert usual.keys() - plain.keys() == {"pos_label", "prior"}  # labels are the table's, weights no text


@pytest.mark.parametrize(
    ("name", "options", "set_by_itself"), [("fit", RerankerOptions, True), ("fuse", FusionOptions, False)]
)
def test_each_option_is_one_of_the_command_with_its_help(name, options, set_by_itself):
    shown = {flag: each for each in COMMANDS[name].params for flag in (*each.opts, *each.secondary_opts)}
    for one in spellings(options).values():
        for flag in "/".join(one.names).split("/"):
            assert shown[flag].help == one.help
            # Where a fusion is not fitted, a default would be an option that has no meaning there.
            assert shown[flag].default == (one.default if set_by_itself else None)


def test_a_model_file_has_what_is_kept_as_the_command_was_given_it(folder):
    given = {
        "--time-limit": 7.5,
        "--node-limit": 3,
        "--radius": 0.25,
        "--margin": 0.125,
        "--window": 2,
        "--list-length": 90,
        "--cross-fit": 3,
        "--jobs": 2,
        "--formulation": "mixed",
    }
    words = [str(each) for pair in given.items() for each in pair]
    fit(*words, "--stat", "precision@5", "-v", code=OPEN)
    settings = json.loads((folder / "m.json").read_text())["settings"]
    assert KEPT.keys() <= settings.keys()
    assert {name: settings[name] for name in KEPT} == {
        "formulation": "mixed",
        "solver": "search",
        "presolve": True,
        "time_limit": {"hex": (7.5).hex()},
        "node_limit": 3,
        "radius": {"hex": (0.25).hex()},
        "margin": {"hex": (0.125).hex()},
        "window": {"hex": (2.0).hex()},
        "cross_fit": 3,
        "list_length": 90,
        "n_jobs": 2,
        "verbose": 2,
    }
