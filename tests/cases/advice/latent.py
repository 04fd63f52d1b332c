"""Advice on latent models: logs, options, folders of models and of checkpoints."""

import fcntl
import os
import shutil
from pathlib import Path

import numpy as np
import scipy.sparse

from tests.cases.advice import Row, promised
from tests.cases.advice.rooms import LOG, latent


def like(other, fresh=None) -> bool:
    """Whether a model has the factors of one that was fitted anew."""
    return bool(np.array_equal(other.item_factors_, (latent() if fresh is None else fresh).item_factors_))


def array_file(folder, name="U"):
    return next(Path(folder).glob(f"{name}-*.npy"))


def without_array(folder):
    array_file(folder).unlink()
    return folder


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
    "log has shape {}, the model knows {}; keep all users and items that it knows and add new ones behind them": Row(
        lambda: latent().partial_fit(LOG[:5]), lambda: latent().partial_fit(more_users()).user_factors_.shape == (13, 2)
    ),
    "is not a valid {} matrix ({}); build it anew from users and items": Row(
        lambda: latent(invalid()),
        lambda: like(latent(scipy.sparse.csr_array((LOG.data, LOG.nonzero()), shape=LOG.shape))),
    ),
}

FOLDERS = {
    **promised(
        begun_anew, {("is missing or damaged", "delete the folder to begin anew"): lambda: resumed(without_array)}
    ),
    "is in use by {}; wait until it has ended, or choose another folder": Row(
        lambda: (held.append(Held("c")), checkpointed())[1],
        lambda: like(checkpointed("d")) and (held.pop().ends(), like(checkpointed()))[1],
    ),
}
held = []

ROWS = TRAINING | FOLDERS
