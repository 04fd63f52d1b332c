"""What enters or leaves the toolkit (tables, rankings, arrays, options), and nothing about problems.

The formats are CSV, svmlight, TREC runs and TREC judgements. Paths that end in ``.gz`` are read through gzip.
Bad input is an `InputError`, one sentence that names the file, the line and the column. Files are written
whole or not at all.
"""

from rerank.io.csv_table import read_csv, write_csv
from rerank.io.fusion import fuse
from rerank.io.reader import read_table
from rerank.io.svmlight import read_svmlight, write_svmlight
from rerank.io.table import Table
from rerank.io.trec import Qrels, Run, read_qrels, read_run, write_qrels, write_run

__all__ = ["Qrels", "Run", "Table", "fuse", "read_csv", "read_qrels", "read_run", "read_svmlight", "read_table"]
__all__ += ["write_csv", "write_qrels", "write_run", "write_svmlight"]
