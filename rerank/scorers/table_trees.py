"""Boosted trees and forests of scikit-learn, and LightGBM's lambdarank, on tables as they come, kept as numbers.

They fit; from then on the trees are arrays of this module, which score the same before and after a file.
"""

import importlib
import re
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from scipy.special import logit
from sklearn.utils.validation import _num_samples, check_is_fitted
from threadpoolctl import threadpool_limits

from rerank.errors import InputError
from rerank.io.arrays import held
from rerank.io.bounded import Json
from rerank.io.options import seed
from rerank.ranks.present import Present, present
from rerank.scorers import encoding
from rerank.scorers.base import Floats, weights_of
from rerank.scorers.encoding import TextLevels
from rerank.scorers.of_tables import OfTables, floats_in, that

TREES, LEAVES, RATE = 100, 8, 0.05
"""Of nine tables x 4 splits 8 leaves at .05 had more hits and AUC than 15 at .1, and half of a forest's trees less."""
LISTS_LEAVES, MOST_ROWS = 15, 10_000  # leaves of a tree of lambdarank, and rows of a list, which LightGBM limits
LEAST_LEAF, MOST_LEAVES = 5, 127
"""Rows of a leaf of a forest, and leaves of a tree: a tree is one text of a file, of at most 10,000 characters."""

_NODE = re.compile(r"([nc])(\d{1,6})([lr]):(.+)")
_HEX = re.compile(r"-?0x[01]\.[0-9a-f]{1,13}p[+-][0-9]{1,4}")
LARGEST = float(np.finfo(np.float64).max)
LARGEST_SINGLE = float(np.finfo(np.float32).max)


class Nodes(NamedTuple):
    """Trees one after another. A row goes left where its value is at most the threshold, or, of a text, where its
    number is in the set of which the threshold is the sum of powers of two; a gap goes where ``gap_left`` says.
    """

    column: NDArray[np.intp]  # (m,), -1 for a leaf
    threshold: Floats
    left: NDArray[np.intp]
    right: NDArray[np.intp]
    gap_left: NDArray[np.bool_]
    is_set: NDArray[np.bool_]
    value: Floats  # of a leaf
    roots: NDArray[np.intp]  # (trees,)

    def sums(self, table: Floats) -> Floats:
        """The sum over trees of the leaf's value of each row (n,), gaps as NaN."""
        total, sets = np.zeros(len(table)), bool(self.is_set.any())
        for root in self.roots:
            at, live = np.full(len(table), root), np.arange(len(table))
            while live.size:
                node = at[live]
                inner = self.column[node] >= 0
                live, node = live[inner], node[inner]
                x, threshold = table[live, self.column[node]], self.threshold[node]
                left = np.where(np.isnan(x), self.gap_left[node], x <= threshold)
                if sets and (of_set := np.flatnonzero(self.is_set[node] & ~np.isnan(x))).size:
                    members = threshold[of_set].astype(np.int64) >> x[of_set].astype(np.int64)
                    left[of_set] = (members & 1).astype(bool)
                at[live] = np.where(left, self.left[node], self.right[node])
            total += self.value[at]
        return total

    def texts(self) -> Iterator[str]:
        """Each tree as a text: its nodes, each before its left and its right branch; a leaf is its value."""
        for root in self.roots.tolist():
            found, ahead = list[str](), [root]
            while ahead:
                k = ahead.pop()
                if self.column[k] < 0:
                    found.append(float(self.value[k]).hex())
                    continue
                kind, gaps = "c" if self.is_set[k] else "n", "l" if self.gap_left[k] else "r"
                found.append(f"{kind}{self.column[k]}{gaps}:{float(self.threshold[k]).hex()}")
                ahead += [int(self.right[k]), int(self.left[k])]
            yield " ".join(found)

    @classmethod
    def of_texts(cls, texts: Sequence[str]) -> Self:
        """The trees that :meth:`texts` wrote."""
        rows: list[list[Any]] = []
        roots = []
        for text in texts:
            roots.append(len(rows))
            waiting: list[tuple[int, int]] = []  # nodes whose left or right branch is to come
            for place, token in enumerate(text.split(" ")):
                that(bool(waiting) == (place > 0), "each tree is one whole tree")
                if waiting:
                    node, side = waiting.pop()
                    rows[node][side] = len(rows)
                if _HEX.fullmatch(token):
                    rows.append([-1, 0.0, 0, 0, False, False, float.fromhex(token)])
                    continue
                split = _NODE.fullmatch(token)
                that(split is not None and _HEX.fullmatch(split[4]) is not None, "a node is a split or a value")
                assert split is not None
                waiting += [(len(rows), 3), (len(rows), 2)]
                rows.append([int(split[2]), float.fromhex(split[4]), 0, 0, split[3] == "l", split[1] == "c", 0.0])
            that(not waiting, "each tree is one whole tree")
        kinds: tuple[Any, ...] = (np.intp, np.float64, np.intp, np.intp, np.bool_, np.bool_, np.float64)
        column, threshold, left, right, gap_left, is_set, value = (
            np.array(side, dtype=kind) for side, kind in zip(zip(*rows), kinds)
        )
        return cls(column, threshold, left, right, gap_left, is_set, value, np.array(roots, np.intp))


def _joined(trees: Sequence[tuple[NDArray[np.generic], ...]]) -> Nodes:
    """Trees whose branches are counted from their own root, as one."""
    sizes = [tree[0].size for tree in trees]
    roots = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.intp)
    column, threshold, left, right, gaps, sets, value = (np.concatenate(side) for side in zip(*trees))
    first = np.repeat(roots, sizes)
    return Nodes(column.astype(np.intp), threshold, left + first, right + first, gaps, sets, value, roots)


def _boosted(model: Any) -> Nodes:
    trees = []
    for (predictor,) in model._predictors:
        nodes = predictor.nodes
        leaf, is_set = nodes["is_leaf"] != 0, nodes["is_categorical"] != 0
        threshold = np.minimum(nodes["num_threshold"], LARGEST)  # inf is for all numbers against gaps
        if is_set.any():
            words = predictor.raw_left_cat_bitsets[nodes["bitset_idx"][is_set]].astype(np.float64)
            threshold[is_set] = words[:, 0] + 2.0**32 * words[:, 1]  # exact: there are at most 52 texts
        threshold[leaf] = 0.0
        branches = (np.where(leaf, 0, nodes[side]).astype(np.intp) for side in ("left", "right"))
        column = np.where(leaf, -1, nodes["feature_idx"].astype(np.int64))
        gap_left = (nodes["missing_go_to_left"] != 0) & ~leaf
        trees.append((column, threshold, *branches, gap_left, is_set & ~leaf, np.where(leaf, nodes["value"], 0.0)))
    return _joined(trees)


def _forest(model: Any, share: float | None) -> Nodes:
    """With a ``share`` of relevant rows, a leaf of n rows counts as one of n + 1 of which one is that share relevant:
    log-odds of rows that no tree has seen relevant stay finite.
    """
    trees = []
    for tree in (fitted.tree_ for fitted in model.estimators_):
        leaf = tree.children_left < 0
        value, n = tree.value[:, 0, -1], tree.weighted_n_node_samples
        if share is not None:
            value = (value * n + share) / (n + 1.0)
        never = np.zeros(leaf.size, dtype=bool)
        branches = (np.where(leaf, 0, side) for side in (tree.children_left, tree.children_right))
        threshold = np.where(leaf, 0.0, tree.threshold)
        trees.append((np.where(leaf, -1, tree.feature), threshold, *branches, never, never, np.where(leaf, value, 0.0)))
    return _joined(trees)


def _ranked(booster: Any) -> Nodes:
    """The trees of LightGBM, with their nodes in the order in which they are met."""
    trees = []
    for tree in booster.dump_model()["tree_info"]:
        rows, ahead = list[list[Any]](), [(tree["tree_structure"], -1, 0)]
        while ahead:
            node, parent, side = ahead.pop()
            if parent >= 0:
                rows[parent][side] = len(rows)
            if "split_feature" in node:
                ahead += [(node["right_child"], len(rows), 3), (node["left_child"], len(rows), 2)]
                rows.append([node["split_feature"], float(node["threshold"]), 0, 0, False, False, 0.0])
            else:
                rows.append([-1, 0.0, 0, 0, False, False, float(node["leaf_value"])])
        kinds: tuple[Any, ...] = (np.intp, np.float64, np.intp, np.intp, np.bool_, np.bool_, np.float64)
        trees.append(tuple(np.array(side, dtype=kind) for side, kind in zip(zip(*rows), kinds)))
    return _joined(trees)


class TableTrees(OfTables):
    """Gradient boosted trees, or a forest of extremely randomised trees, on a table with numbers, texts and gaps.

    Boosted trees are 100 of 8 leaves of ``HistGradientBoostingClassifier``, which see gaps as gaps and texts as
    categories. A forest is 100 trees of ``ExtraTreesClassifier``, of at most 127 leaves of 5 rows, on the columns of
    :class:`TableLogistic`. Two labels are classes; of more, the regressors learn the grade. ``lambdarank`` is that of
    LightGBM, which has to be installed: 100 trees of 15 leaves that learn the order of whole lists, each label worth
    itself, on the columns of :class:`TableLogistic`. Columns are divided by powers of two, so that numbers of any size
    are told apart.

    Parameters
    ----------
    forest, lambdarank : bool, default False
    random_state : int, RandomState, Generator or None
        None is 0.

    Attributes
    ----------
    classes_ : array (2,) or None
        None for grades and lists.
    nodes_ : tuple of arrays
        The trees.
    left_out_ : dict of int to str
        Columns that are not used, by number, and why.
    """

    takes_grades = True
    parameters = ("forest", "lambdarank")
    units_: Floats
    start_: float
    classes_: NDArray[Any] | None

    def __init__(self, *, forest: bool = False, lambdarank: bool = False, random_state: Any = None) -> None:
        self.forest, self.lambdarank, self.random_state = forest, lambdarank, random_state

    @property
    def learner(self) -> str:  # type: ignore[override]
        """What learned, in words."""
        return "LightGBM's lambdarank" if self.lambdarank else "The forest" if self.forest else "Boosted trees"

    @property
    def _filled(self) -> bool:
        """Whether texts are 0/1 columns, and gaps are filled and marked."""
        return bool(self.forest or self.lambdarank)

    @property
    def log_odds_(self) -> bool:
        """Whether scores are log-odds, and so can be compared with those of trees fitted on other rows."""
        return self.classes_ is not None

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, qid: ArrayLike | None = None) -> Self:
        """Learn from a table.

        Parameters
        ----------
        X : array, pandas or polars data frame, or pyarrow table (n, d)
        y : array (n,)
            Two different labels, or grades.
        sample_weight : array (n,), optional
            Weight of each row, >= 0. A row of weight 0 is as if it were not there.
        qid : array (n,), optional
            List of each row, for ``lambdarank``; one list without it.

        Raises
        ------
        InputError
            For one label, sparse rows, infinite numbers, or no column that can be used; for ``lambdarank`` without
            LightGBM, and lists of more than 10,000 rows.
        """
        X, y = held(X), held(y)
        there = Present() if sample_weight is None else present(_num_samples(X), sample_weight)
        table, labels = self._read(there.of(X, "X"), there.of(y, "y"))
        if issparse(table):
            raise InputError("X is sparse, and trees learn from dense rows; use 'logistic', or pass X.toarray().")
        weight = None if sample_weight is None else weights_of(there.of(sample_weight), labels.size)
        found, target = np.unique(labels, return_inverse=True)
        if found.size < 2:
            raise InputError(f"y holds 1 class only ({found[0]}); trees need rows of two.")
        self.classes_ = found if found.size == 2 and not self.lambdarank else None
        self._learn_rules(table, weight)
        self.units_ = np.ones(self._width())
        rows = self._encoded(table)
        sizes = np.nanmax(np.abs(rows), axis=0)
        self.units_ = np.ldexp(1.0, np.clip(np.frexp(sizes)[1], -1000, 1000))
        self.units_[: 0 if self._filled else self._texts()] = 1.0
        if self.lambdarank:
            lists = np.zeros(target.size, dtype=np.intp) if qid is None else there.of(qid, "qid")
            self.start_, self.nodes_ = 0.0, _ranked(self._ranker(self._scaled(rows), target, found, weight, lists))
            return self
        target = np.asarray(labels, dtype=np.float64) if self.classes_ is None else target
        # A fit of some thousand rows is too short for threads, which wait for each other by counting.
        with threadpool_limits(1, user_api="openmp"):
            model = self._model().fit(self._scaled(rows), target, weight)
        share = None if self.classes_ is None else float(np.average(target, weights=weight))
        self.start_ = 0.0 if self.forest else float(np.ravel(model._baseline_prediction)[0])
        self.nodes_ = _forest(model, share) if self.forest else _boosted(model)
        return self

    def _ranker(self, rows: Floats, target: Any, worth: Any, weight: Floats | None, lists: Any) -> Any:
        """What LightGBM learns of lists: labels are numbered, and their gains are the labels less the lowest."""
        if find_spec("lightgbm") is None:
            raise InputError("lambdarank is of LightGBM, which is not installed; install it, or take 'trees'.")
        _, number, sizes = np.unique(lists, return_inverse=True, return_counts=True)
        order = np.argsort(number, kind="stable")
        if sizes.max() > MOST_ROWS:
            raise InputError(
                f"lambdarank learns from lists of at most {MOST_ROWS:,} rows, and one has {sizes.max():,}; take "
                "'trees'."
            )
        gains = np.asarray(worth, dtype=np.float64) - float(worth[0])
        model = importlib.import_module("lightgbm").LGBMRanker(
            n_estimators=TREES,
            num_leaves=LISTS_LEAVES,
            learning_rate=RATE,
            label_gain=gains.tolist(),
            random_state=seed(self.random_state),
            n_jobs=1,
            deterministic=True,
            force_row_wise=True,
            verbose=-1,
        )
        weights = None if weight is None else weight[order]
        return model.fit(rows[order], target[order], group=sizes, sample_weight=weights).booster_

    def _model(self) -> Any:
        from sklearn import ensemble

        number, kind = seed(self.random_state), "Regressor" if self.classes_ is None else "Classifier"
        if self.forest:
            sizes = {"n_estimators": TREES, "min_samples_leaf": LEAST_LEAF, "max_leaf_nodes": MOST_LEAVES}
            return getattr(ensemble, f"ExtraTrees{kind}")(**sizes, random_state=number)
        return getattr(ensemble, f"HistGradientBoosting{kind}")(
            learning_rate=RATE,
            max_iter=TREES,
            max_leaf_nodes=LEAVES,
            early_stopping=False,
            categorical_features=list(range(self._texts())) or None,
            random_state=number,
        )

    def _ordered(self) -> list[encoding.Rule]:
        """The rules in the order of the encoded columns: boosting has texts first, as scikit-learn orders them."""
        rules = self.rules_ or []
        return list(rules) if self._filled else sorted(rules, key=lambda rule: not isinstance(rule, TextLevels))

    def _texts(self) -> int:
        return sum(isinstance(rule, TextLevels) for rule in self.rules_ or ())

    def _width(self) -> int:
        rules = self.rules_ or []
        return sum(len(rule.names("")) for rule in rules) if self._filled else len(rules)

    def _encoded(self, table: Any) -> Floats:
        """The columns that trees see: of boosting gaps as NaN, and texts as their numbers; a new text is a gap."""
        rules, names = self._ordered(), self._names()
        if self._filled:
            return encoding.encoded(table, rules, names)
        found = []
        for rule, (block, codes) in zip(rules, encoding.coded(table, rules, names)):
            if isinstance(rule, TextLevels):
                found.append(np.where(codes < block.shape[1], codes, np.nan))
            else:
                found.append(np.where(block[:, 1] > 0, np.nan, block[:, 0]) if rule.gaps else block[:, 0])
        return np.column_stack(found)

    def _scaled(self, rows: Floats) -> Floats:
        with np.errstate(over="ignore"):
            rows = rows / self.units_
            # The trees of a forest compare numbers of single precision.
            single = np.clip(rows, -LARGEST_SINGLE, LARGEST_SINGLE).astype(np.float32) if self.forest else rows
        return single.astype(np.float64)

    def decision_function(self, X: Any) -> Floats:
        """Score of each row of ``X`` (n, d), larger is better: log-odds of two classes, else the expected grade."""
        check_is_fitted(self, "nodes_")
        total = self.nodes_.sums(self._scaled(self._encoded(self._read(X))))
        if not self.forest:
            return self.start_ + total
        mean = total / self.nodes_.roots.size
        return mean if self.classes_ is None else logit(mean)

    def to_dict(self) -> Json:
        """What was learned as numbers, texts, booleans, None, lists and dicts of these, all bits kept.

        Names of the columns are not among them.
        """
        check_is_fitted(self, "nodes_")
        return {
            "forest": bool(self.forest),
            **({"lambdarank": True} if self.lambdarank else {}),
            "classes": None if self.classes_ is None else self.classes_.tolist(),
            **self._columns_to_dict(),
            "units": self.units_.tolist(),
            "start": self.start_,
            "trees": list(self.nodes_.texts()),
        }

    def _take(self, body: Json) -> None:
        self._take_columns(body)
        self.units_ = floats_in(body["units"], self._width())
        that(bool(np.all(self.units_ > 0)), "units are positive")
        self.start_ = float(floats_in([body["start"]], 1)[0])
        self.classes_ = None if body["classes"] is None else np.array(body["classes"])
        two = self.classes_ is None or (self.classes_.shape == (2,) and self.classes_[0] < self.classes_[1])
        that(bool(two), "there are two classes, ascending, or none")
        nodes = self.nodes_ = Nodes.of_texts(body["trees"])
        that(bool(np.all(nodes.column < self.units_.size)), "a split is by a column")
        levels = [
            0 if self._filled or not isinstance(rule, TextLevels) else len(rule.names("")) for rule in self._ordered()
        ]
        widths = np.array(levels if levels and not self._filled else [0] * self.units_.size)
        split = nodes.column >= 0
        that(bool(np.all(self.units_[widths > 0] == 1.0)), "texts have no unit")
        of_set = widths[np.where(split, nodes.column, 0)] * split
        that(np.array_equal(of_set > 0, nodes.is_set), "sets are of texts")
        whole = (nodes.threshold == np.floor(nodes.threshold)) & (nodes.threshold >= 0)
        that(bool(np.all(~nodes.is_set | (whole & (nodes.threshold < 2.0**of_set)))), "a set is of known texts")
        if self.forest and self.classes_ is not None:
            inside = (nodes.value > 0) & (nodes.value < 1)
            that(bool(np.all(split | inside)), "a leaf of a forest has a probability")

    def __sklearn_tags__(self) -> Any:
        """Texts and gaps are taken."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        taken = tags.input_tags
        taken.allow_nan = taken.string = taken.categorical = True
        return tags
