from pathlib import Path

import numpy as np
import pytest

from rerank import datasets

FOLDER = Path(datasets.__file__).parent / "data"


@pytest.mark.parametrize("name", datasets.names())
def test_a_table_is_what_its_description_says_and_attributed(name):
    table, about = datasets.load(name), datasets.describe(name)
    assert table.X.shape == (about.rows, about.features) and table.X.dtype == np.float64
    assert sorted(set(table.y)) == [0, 1] and table.y.sum() == about.positives
    assert np.isfinite(table.X).all() and table.notes == ()
    assert len(set(table.feature_names)) == about.features and datasets.LABEL not in table.feature_names
    page = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert about.licence == "CC BY 4.0" and about.licence in page
    assert f"https://doi.org/{about.doi}" in page and f"**{name}**" in page
    # The citation, whatever the line breaks and the italics of the page.
    assert about.citation in " ".join(page.replace("*", "").split())


def test_nothing_else_is_shipped_and_it_is_small():
    names = {path.name for path in FOLDER.iterdir()} - {"README.md", "descriptions.json"}
    stems = {name.split(".")[0] for name in names}
    assert stems == set(datasets.names())
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < 300_000
