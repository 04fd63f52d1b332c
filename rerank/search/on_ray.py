"""Lists whose parts lie in a Ray cluster: blocks of a Dataset, read where they are, and passes as tasks of Ray.

A task whose process is killed, or whose machine is lost, is done again by Ray.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InputError, NotSupportedError, RerankError, SolverError, nearest
from rerank.io.row_groups import read_batches

Floats = NDArray[np.float64]
Job = tuple[Callable[..., Any], tuple[Any, ...]]

MOST_ROWS = 250_000
"""Rows of a part: a pass over one holds some ten numbers for each row and column."""

REPEATS = 5
"""Times that a task is done again after its process was lost."""


@dataclass(frozen=True, eq=False)
class Block:
    """Rows of one block of a Dataset; calling it reads their columns and their gains.

    Attributes
    ----------
    table : ObjectRef of a pyarrow Table, or the Table
        All rows of the block.
    number : int
    begin, end : int
        The rows are those from ``begin`` up to ``end``.
    columns : tuple of str
        Columns of the table, in this order.
    gains : str or None
        Column of the gains; None for rows without, whose gains are 0.
    """

    table: Any
    number: int
    begin: int
    end: int
    columns: tuple[str, ...]
    gains: str | None

    def __call__(self) -> tuple[Floats, Floats]:
        """Table (n, d) and gains (n,) of the rows.

        Raises
        ------
        InputError
            For an entry that is no finite number, or a negative gain.
        """
        batches = self.held().slice(self.begin, self.end - self.begin).to_batches()
        source = f"Block {self.number} of the dataset, from row {self.begin}"
        return read_batches(source, batches, self.columns, self.gains)

    def held(self) -> Any:
        """The pyarrow Table of the whole block, fetched if it is not here."""
        import ray

        table = ray.get(self.table) if isinstance(self.table, ray.ObjectRef) else self.table
        if hasattr(table, "to_batches"):
            return table
        import pyarrow as pa  # where blocks are of several kinds, Ray leaves those of pandas

        return pa.Table.from_pandas(table, preserve_index=False)


def blocks(dataset: Any, columns: Sequence[str], gains: str | None) -> list[Block]:
    """The blocks of a Ray Dataset, in order, as parts of a list; large blocks as several parts.

    A dataset that is not materialised yet is, once: its blocks stay in the object stores of the cluster, or on their
    disks where memory ends. Rows are numbered in the order of the materialised dataset.

    Parameters
    ----------
    dataset : ray.data.Dataset
    columns : sequence of str
        Columns of the table, for an anchored problem the given score first.
    gains : str or None
        Column of the gains, 0 for an irrelevant row; None for rows without.

    Raises
    ------
    InputError
        For a column that the dataset does not have.
    """
    with _in_order(dataset):
        whole = dataset.materialize()
    schema = whole.schema()
    names = [] if schema is None else list(schema.names)
    for name in (*columns, gains) if names else ():
        if name is not None and name not in names:
            raise InputError(f"The dataset has no column {name!r}; did you mean {nearest(name, names)!r}?")
    found = [Block(one, k, 0, 0, tuple(columns), gains) for k, one in enumerate(whole.to_arrow_refs())]
    sizes = run_on_ray([(_size, (block,)) for block in found])
    return [
        replace(block, begin=begin, end=min(begin + MOST_ROWS, size))
        for block, size in zip(found, sizes)
        for begin in range(0, size, MOST_ROWS)
    ]


def numeric_columns_of(dataset: Any) -> list[str]:
    """Names of the columns of a Ray Dataset that hold numbers; reads its first rows if it is not read yet."""
    from rerank.io.parquet import _is_numeric

    schema = dataset.schema()
    return [] if schema is None else [name for name, kind in zip(schema.names, schema.types) if _is_numeric(kind)]


@contextmanager
def _in_order(dataset: Any) -> Iterator[None]:
    """Blocks in their order and not as they are made; Ray 2.30 asks the process for that, newer ones the dataset."""
    from ray.data import DataContext

    options = [context.execution_options for context in (dataset.context, DataContext.get_current())]
    before = [one.preserve_order for one in options]
    try:
        for one in options:
            one.preserve_order = True
        yield
    finally:
        for one, kept in zip(options, before):
            one.preserve_order = kept


def run_on_ray(jobs: Sequence[Job]) -> list[Any]:
    """Call functions with their arguments as tasks of Ray, each where its block is; results in order.

    The cluster is the one this process is connected to, or that ``RAY_ADDRESS`` names, or a new one on this machine.

    Parameters
    ----------
    jobs : sequence of (function, arguments)
        The first argument may be a :class:`Block`.

    Raises
    ------
    NotSupportedError
        If Ray is not installed.
    SolverError
        If the process of a task, or its block, is lost again and again.
    """
    try:
        import ray
    except ImportError:
        raise NotSupportedError(
            "run_on_ray needs the package ray; install exact-rerank[ray], or leave run out to read part after part."
        ) from None
    if not ray.is_initialized():
        ray.init(log_to_driver=False)
    task = ray.remote(_called).options(num_cpus=1, max_retries=REPEATS)
    # After an error the tasks that were handed over end by themselves, so they are few. None is cancelled: Ray (2.60)
    # aborts this process when a task that ends is cancelled at the same time.
    most = 2 * max(1, int(ray.cluster_resources().get("CPU", 1)))
    queue = iter(enumerate(jobs))
    waiting: dict[Any, int] = {}
    results: dict[int, Any] = {}
    while len(results) < len(jobs):
        for k, (function, given) in islice(queue, most - len(waiting)):
            waiting[task.remote(function, *_sent(*given))] = k
        ready, _ = ray.wait(list(waiting), num_returns=1)
        try:
            results.update({waiting.pop(one): ray.get(one) for one in ready})
        except ray.exceptions.RayError as error:
            told = _in_our_words(error)
            if told is None:
                raise
            raise told from (None if isinstance(error, ray.exceptions.RayTaskError) else error)
    return [results[k] for k in range(len(jobs))]


def _in_our_words(error: Exception) -> RerankError | None:
    """What a task of ours raised, or a loss that Ray could not mend, as an error of ours; None for any other."""
    from ray import exceptions

    cause = error.cause if isinstance(error, exceptions.RayTaskError) else None
    if isinstance(cause, RerankError):
        return cause
    lost = (exceptions.WorkerCrashedError, exceptions.OutOfMemoryError)
    if not isinstance(error, (*lost, exceptions.NodeDiedError, exceptions.ObjectLostError)):
        return None
    return SolverError(
        f"Ray lost the process of a task or its data ({type(error).__name__}), and {REPEATS} repeats did not help; see "
        "in `ray status` what machines and memory are left, and call again."
    )


def _size(block: Block) -> int:
    return int(block.held().num_rows)


def _sent(part: Any, *given: Any) -> tuple[Any, ...]:
    """The arguments of :func:`_called`. Ray moves a task to its data only if a reference is an argument itself."""
    block = part if isinstance(part, Block) else getattr(part, "part", None)
    if isinstance(block, Block):
        return block.table, _with_table(part, None), *given
    return None, part, *given


def _with_table(part: Any, table: Any) -> Any:
    """A block, or what reads it as its ``part``, with this table."""
    if isinstance(part, Block):
        return replace(part, table=table)
    return replace(part, part=replace(part.part, table=table))


def _called(function: Callable[..., Any], table: Any, part: Any, *given: Any) -> Any:
    return function(part if table is None else _with_table(part, table), *given)
