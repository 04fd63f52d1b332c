"""Tables of numbers, texts, gaps, dates and names, the same rows in every library."""

import datetime

import numpy as np
import pytest

LIBRARIES = ["pandas", "polars", "pyarrow"]


def columns(n=400, seed=0):
    """Lists of Python values by column name, None where one is missing, and labels."""
    rng = np.random.default_rng(seed)
    age, size, flag = rng.normal(40, 10, n), rng.normal(size=n), rng.random(n) < 0.5
    colour = rng.choice(["red", "green", "blue", "rare"], n, p=[0.45, 0.3, 0.24, 0.01])
    gap, hole = rng.random(n) < 0.15, rng.random(n) < 0.1
    y = ((colour == "red") + size + 0.05 * age + gap + rng.normal(size=n) > 3.6).astype(int)
    first = datetime.date(2024, 1, 1)
    found = {
        "age": [None if g else a for a, g in zip(age.tolist(), gap)],
        "colour": [None if h else str(c) for c, h in zip(colour, hole)],
        "size": size.tolist(),
        "flag": flag.tolist(),
        "name": [f"row {i}" for i in range(n)],
        "seen": [first + datetime.timedelta(days=i % 50) for i in range(n)],
        "one": [1.0] * n,
    }
    return found, y


def mixed(library, n=400, seed=0):
    """The table in a library, and labels."""
    found, y = columns(n, seed)
    if library == "pandas":
        return pytest.importorskip("pandas").DataFrame(found), y
    if library == "polars":
        return pytest.importorskip("polars").DataFrame(found), y
    return pytest.importorskip("pyarrow").table(found), y


def recipe(X, y, squares=False):
    """The pipeline that a user would write for the pandas table, with its columns in the order of ours."""
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

    colours = make_pipeline(
        # A gap among texts is None or NaN, by the version of pandas.
        FunctionTransformer(lambda column: column.astype(object).where(column.notna(), "~ missing")),
        OneHotEncoder(min_frequency=10, handle_unknown="infrequent_if_exist", sparse_output=False),
        # The column of all rare texts is the last one there, and stands before that of gaps here.
        ColumnTransformer([("swap", "passthrough", [0, 1, 2, 4, 3])]),
    )
    encode = ColumnTransformer(
        [
            ("age", SimpleImputer(strategy="median", add_indicator=True), ["age"]),
            ("colour", colours, ["colour"]),
            ("rest", "passthrough", ["size", "flag"]),
        ]
    )
    return make_pipeline(encode, StandardScaler(), LogisticRegression(max_iter=1000)).fit(X, y)
