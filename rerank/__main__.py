"""``python -m rerank`` is the ``rerank`` command."""

from rerank.cli import main

main()
