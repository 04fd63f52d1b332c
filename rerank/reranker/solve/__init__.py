"""From a problem to verified weights and a bound: search, program, solver, polish."""
