"""Losses of TopPush: convex and non-decreasing, each with its first two derivatives and its conjugate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, xlog1py, xlogy


@dataclass(frozen=True)
class SquaredHinge:
    """``l(z) = max(0, 1 + z)^2``; ``l*(a) = a^2 / 4 - a`` for ``a >= 0``."""

    def value(self, z: Any) -> Any:
        """``l(z)``."""
        return np.maximum(1 + z, 0) ** 2

    def slope(self, z: Any) -> Any:
        """``l'(z)``."""
        return 2 * np.maximum(1 + z, 0)

    def curvature(self, z: Any) -> Any:
        """The second derivative, 0 at the kink."""
        return np.where(z > -1, 2.0, 0.0)

    def conjugate(self, a: Any) -> Any:
        """``l*(a) = max_z a z - l(z)``."""
        return a * a / 4 - a

    def near(self, a: Any, stiffness: Any) -> ProximalHinge:
        """The loss with its kink smoothed around the multipliers ``a``."""
        return ProximalHinge(a, stiffness)


@dataclass(frozen=True)
class ProximalHinge:
    """``max_a a z - l*(a) - stiffness / 2 (a - centre)^2`` of the squared hinge, never above it."""

    centre: Any
    stiffness: Any

    def value(self, z: Any) -> Any:
        """The maximum."""
        a = self.slope(z)
        return a * z - a * a / 4 + a - self.stiffness / 2 * (a - self.centre) ** 2

    def slope(self, z: Any) -> Any:
        """Where it is attained."""
        return np.maximum(1 + z + self.stiffness * self.centre, 0) / (0.5 + self.stiffness)

    def curvature(self, z: Any) -> Any:
        """The second derivative, 0 at the kink."""
        return np.where(1 + z + self.stiffness * self.centre > 0, 1 / (0.5 + self.stiffness), 0.0)


@dataclass(frozen=True)
class Logistic:
    """``l(z) = log(1 + exp(z))``; ``l*(a) = a log a + (1 - a) log(1 - a)`` for ``a`` in [0, 1]."""

    def value(self, z: Any) -> Any:
        """``l(z)``."""
        return np.logaddexp(0, z)

    def slope(self, z: Any) -> Any:
        """``l'(z)``."""
        return expit(z)

    def curvature(self, z: Any) -> Any:
        """The second derivative."""
        return expit(z) * expit(-z)

    def conjugate(self, a: Any) -> Any:
        """``l*(a) = max_z a z - l(z)``."""
        return xlogy(a, a) + xlog1py(1 - a, -a)

    def near(self, a: Any, stiffness: Any) -> Logistic:
        """Itself, which has no kink."""
        return self


@dataclass(frozen=True)
class Exponential:
    """``l(z) = exp(z)``; ``l*(a) = a log a - a`` for ``a >= 0``."""

    def value(self, z: Any) -> Any:
        """``l(z)``; infinite where it overflows, so that a line search shortens the step."""
        with np.errstate(over="ignore"):
            return np.exp(z)

    def slope(self, z: Any) -> Any:
        """``l'(z)``."""
        return self.value(z)

    def curvature(self, z: Any) -> Any:
        """The second derivative."""
        return self.value(z)

    def conjugate(self, a: Any) -> Any:
        """``l*(a) = max_z a z - l(z)``."""
        return xlogy(a, a) - a

    def near(self, a: Any, stiffness: Any) -> Exponential:
        """Itself, which has no kink."""
        return self


Loss = SquaredHinge | Logistic | Exponential
LOSSES: dict[str, Loss] = {
    "squared_hinge": SquaredHinge(),
    "logistic": Logistic(),
    "exponential": Exponential(),
}
