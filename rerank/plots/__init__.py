"""Pictures of lists, programs, bounds, ties and cards: each function draws on the axes it is given, or on new ones.

No picture needs colour to be read: shapes, fills and dashes show the same. matplotlib is imported when the first
picture is drawn.

>>> from rerank import plots
>>> axes = plots.two_lists([3, 1, 0, 2], [1, 3, 2, 0], relevant=[1, 2], top=2)     # doctest: +SKIP
"""

from rerank.plots.cards import card_picture, card_risks
from rerank.plots.fits import by_alpha, by_option, contributions, corrections, leads
from rerank.plots.lists import before_after, cumulative_gain, plane, preferences, two_lists
from rerank.plots.programs import bound_over_time, structure
from rerank.plots.space import box_bounds, cells, weight_space
from rerank.plots.style import BLUE, GREEN, GREY, ORANGE, PURPLE
from rerank.plots.validation import calibration, decision_curve, roc_curve, totals_by_class

__all__ = ["BLUE", "GREEN", "GREY", "ORANGE", "PURPLE", "before_after", "bound_over_time", "box_bounds", "by_alpha"]
__all__ += ["by_option", "card_picture", "card_risks", "cells", "contributions", "corrections", "cumulative_gain"]
__all__ += ["leads", "plane", "preferences", "structure", "two_lists", "weight_space"]
__all__ += ["calibration", "decision_curve", "roc_curve", "totals_by_class"]
