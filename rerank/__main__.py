"""``python -m rerank`` is the command ``rerank``."""

from rerank.cli import main

main()
