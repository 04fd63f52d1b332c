"""Who runs the epochs: threads of this process, or workers on Ray; every engine gives the same bits."""

import importlib
from typing import Any

from rerank.errors import InputError

# Module and class of each engine, by name, so that Ray is imported only if it is asked for.
ENGINES = {
    "local": ("rerank.latent.engines.local", "LocalEngine"),
    "ray": ("rerank.latent.engines.ray_engine", "RayEngine"),
}


def engine_of(name: str, n_jobs: int | None, advice: str) -> Any:
    """The engine of a name; ``advice`` ends the sentence of its error if workers are lost again and again."""
    module, engine = ENGINES[name]
    try:
        return getattr(importlib.import_module(module), engine)(n_jobs, advice)
    except ImportError as error:
        if error.name != "ray":  # A damaged installation explains itself better than this sentence.
            raise
        raise InputError(
            "engine is 'ray', which needs the package ray; install exact-rerank[ray] or use engine='local'."
        ) from None
