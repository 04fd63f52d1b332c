"""Benchmarks: a command for each figure of the documentation; the tests run them at tiny sizes at most.

=====================================  ==========================================================================
``python -m benchmarks.NAME``          prints
=====================================  ==========================================================================
``exact``                              the exact search: time to a proof, gaps, quality in equal time, workers
``mechanisms``                         the search with each of its mechanisms turned off; in ``docs/mechanisms.md``
``programs``                           the mathematical programs in HiGHS, the paper's letter among them
``library``                            the optima of the library of instances; writes its files
``first_stage``                        TopPush, RankSVM and RoBiRank; ``first_stage.toppush`` and so on for one
``papers``                             tables of the papers, repeated
``evidence``                           whether reranking helps on rows to come; writes ``docs/evidence.md``
``first``                              CPU seconds of first calls, with empty caches and with full ones
``guard``                              the choice of ``RerankerCV`` on made-up machines
``fusion``                             learning curves of score fusion; writes ``docs/fusion.md``
``fusion.seconds``                     seconds of score fusion
``fusion.engines``                     what search engines make of an export
``demo``                               a card, an audit and a fusion beside the tools of a sceptic
``latent``                             latent retrieval: quality, speed, many machines
``trust``                              checks of reliability in large numbers
=====================================  ==========================================================================

``--help`` lists the options of a command. Real data are read from a folder (``--data``), which
``docs/papers.md`` describes.
"""
