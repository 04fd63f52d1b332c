"""Advice on latent models: logs, options, folders of models and of checkpoints."""

import fcntl
import json
import os
import shutil
from pathlib import Path

import numpy as np
import scipy.sparse

from rerank.latent import LatentRoBiRank
from tests.cases.advice import Row, promised, write
from tests.cases.advice.rooms import LOG, VALID, latent


def like(other, fresh=None) -> bool:
    """Whether a model has the factors of one that was fitted anew."""
    return bool(np.array_equal(other.item_factors_, (latent() if fresh is None else fresh).item_factors_))


def saved(folder="model"):
    latent().save(folder)
    return folder


def loaded(folder="model"):
    return LatentRoBiRank.load(folder)


def with_fields(change, folder="model", name="model.json"):
    """Change the fields of a folder's JSON file."""
    body = json.loads(Path(folder, name).read_text())
    change(body)
    write(f"{folder}/{name}", json.dumps(body))
    return folder


def array_file(folder, name="U"):
    return next(Path(folder).glob(f"{name}-*.npy"))


def without_array(folder):
    array_file(folder).unlink()
    return folder


def other_numbers(folder, dtype="f4"):
    path = array_file(folder)
    np.save(path, np.load(path).astype(dtype) + 1)
    return folder


def saved_again() -> bool:
    shutil.rmtree("model")
    return like(loaded(saved()))


def checkpointed(folder="c", **options):
    return latent(checkpoint=folder, **options)


def begun_anew() -> bool:
    shutil.rmtree("c")
    return like(checkpointed())


def begun():
    checkpointed()
    return "c"


def resumed(damage):
    """A fit that goes on with a damaged checkpoint."""
    damage(begun())
    return checkpointed()


class Held:
    """A folder that another process trains in: its lock is held by another open file."""

    def __init__(self, folder):
        os.makedirs(folder, exist_ok=True)
        self.file = os.open(Path(folder, ".lock"), os.O_RDWR | os.O_CREAT)
        fcntl.flock(self.file, fcntl.LOCK_EX)

    def ends(self):
        os.close(self.file)


def invalid():
    """A log with an item that is not there."""
    log = LOG.copy()
    log.indices[0] = 99
    return log


def more_users():
    return scipy.sparse.vstack([LOG, LOG[:1]]).tocsr()


TRAINING = {
    "which may be a row for each record (user, item, ...), and a log is users x items": Row(
        lambda: latent(np.array([[0, 1, 5], [1, 2, 3]])),
        lambda: latent(scipy.sparse.coo_matrix(([5, 3], ([0, 1], [1, 2])))).item_factors_.shape[0] == 3,
    ),
    "learning_rate={} is too large for {}; lower it.": Row(
        lambda: latent(learning_rate=1e30, optimizer="sgd"),
        lambda: np.isfinite(latent(learning_rate=0.1, optimizer="sgd").item_factors_).all(),
    ),
    "log has shape {}, the model knows {}; keep all users and items that it knows and add new ones behind them": Row(
        lambda: latent().partial_fit(LOG[:5]), lambda: latent().partial_fit(more_users()).user_factors_.shape == (13, 2)
    ),
    "validation has no records, but training is to stop by them; give a part with at least one record": Row(
        lambda: latent(validation=LOG * 0), lambda: latent(validation=VALID).stopped_ and like(latent(validation=None))
    ),
    "(a larger validation_fraction, if users have few), or none at all": Row(
        lambda: latent(validation_fraction=1e-9),
        lambda: latent(validation_fraction=0.4).stopped_ and like(latent(validation_fraction=0.0)),
    ),
    "is not a valid {} matrix ({}); build it anew from users and items": Row(
        lambda: latent(invalid()),
        lambda: like(latent(scipy.sparse.csr_array((LOG.data, LOG.nonzero()), shape=LOG.shape))),
    ),
    "but the model was trained with {}; set it back to go on, or call fit to begin anew": Row(
        lambda: latent().set_params(n_factors=3).partial_fit(LOG),
        lambda: (
            latent().set_params(n_factors=3).set_params(n_factors=2).partial_fit(LOG).item_factors_.shape[1] == 2
            and latent().set_params(n_factors=3).fit(LOG).item_factors_.shape[1] == 3
        ),
    ),
}

FOLDERS = {
    "has schema {}, this version reads {}; read it with the version of exact-rerank that wrote it": Row(
        lambda: loaded(with_fields(lambda body: body.update(schema=99), saved())),
        lambda: like(loaded(with_fields(lambda body: body.update(schema=1)))),
    ),
    **promised(
        saved_again,
        {
            "holds a model that lacks a field, or one does not fit the others; save it again": lambda: loaded(
                with_fields(lambda body: body.pop("state"), saved())
            ),
            ("model.json is damaged", "save the model again"): lambda: loaded(
                with_fields(lambda body: body.pop("arrays"), saved())
            ),
            ("is missing or damaged", "save the model again"): lambda: loaded(without_array(saved())),
            ("is not the array that model.json describes;", "save the model again"): lambda: loaded(
                other_numbers(saved())
            ),
            ("is not the array that model.json describes (", "save the model again"): lambda: loaded(
                other_numbers(saved(), "f8")
            ),
        },
    ),
    **promised(
        begun_anew,
        {
            ("is missing or damaged", "delete the folder to begin anew"): lambda: resumed(without_array),
            ("checkpoint.json is damaged or of another version", "delete the folder to begin anew"): lambda: resumed(
                lambda folder: with_fields(lambda body: body["run"].update(more=1), folder, "checkpoint.json")
            ),
            ("checkpoint.json is damaged;", "delete the folder to begin anew"): lambda: resumed(
                lambda folder: with_fields(lambda body: body["at"].pop("epoch"), folder, "checkpoint.json")
            ),
        },
    ),
    "is of a run with {}; give that again to go on with it, or another folder": Row(
        lambda: (begun(), checkpointed(alpha=0.5))[1],
        lambda: like(checkpointed()) and like(checkpointed("d", alpha=0.5), latent(alpha=0.5)),
    ),
    "is in use by {}; wait until it has ended, or choose another folder": Row(
        lambda: (held.append(Held("c")), checkpointed())[1],
        lambda: like(checkpointed("d")) and (held.pop().ends(), like(checkpointed()))[1],
    ),
}
held = []

ROWS = TRAINING | FOLDERS
