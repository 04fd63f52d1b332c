"""Solution files of every dialect: the same point from each, and a sentence for what cannot be read."""

# ruff: noqa: W291 -- solvers end lines with blanks, and so do these samples.
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import strategies as st

from formulations import mps
from formulations.errors import FileFormatError
from formulations.solutions import NoPointError, parse_solution, read_solution, solution_text
from tests.cases.examples import examples
from tests.cases.hand_programs import INF, program

POINT = {"w0": -0.5, "z3_7": 0.0, "a_longer_name_16": 4.5, "n0": 2.0}


def asked(columns=tuple(POINT)):
    n = len(columns)
    bounds = [-9.0] * n, [9.0] * n
    return program("p", np.arange(n), [[1.0] * n], [-INF], [10.0], *bounds, [0, 1, 0, 1][:n], columns=columns)


HIGHS = """Model status
Optimal

# Primal solution values
Feasible
Objective -4.85
# Columns 4
w0 -0.5
z3_7 0
a_longer_name_16 4.5
n0 2
# Rows 1
r0 6

# Dual solution values
None
"""
HIGHS_SPARSE = """Model status
Time limit reached

# Primal solution values
Feasible
Objective -4.85
# Columns -3
w0 -0.5 0
a_longer_name_16 4.5 2
n0 2 3

# Dual solution values
None
"""
HIGHS_TABLE = """Columns
    Index Status        Lower        Upper       Primal         Dual  Type        Name
        0                  -9            9         -0.5               Continuous  w0
        1                  -9            9            0               Integer     z3_7
        2                -inf          inf          4.5               Continuous  a_longer_name_16
        3     BS           -9            9            2            0  Integer     n0
Rows
    Index Status        Lower        Upper       Primal         Dual  Name
        0                -inf           10            6               r0

Model status: Optimal

Objective value: -4.85
"""
HIGHS_LIST = """4 1 : Number of columns and rows for primal or dual solution or basis
T Primal solution
F Dual solution
F Basis
Columns
-0.5 
0 
4.5 
2 
Rows
6 
"""
CBC = """Optimal - objective value -4.85000000
      0 w0                          -0.5                    -2.1
      2 a_longer_name_16             4.5                       0
      3 n0                             2                       0
"""
SCIP = """solution status: optimal solution found
objective value:                                -4.85
n0                                                  2 \t(obj:0)
a_longer_name_16                                  4.5 \t(obj:-0.3)
w0                                               -0.5 \t(obj:-2)
"""
GLPK = """Problem:    p
Rows:       1
Columns:    4 (2 integer, 1 binary)
Non-zeros:  4
Status:     INTEGER OPTIMAL
Objective:  COST = -4.85 (MINimum)

   No.   Row name        Activity     Lower bound   Upper bound
------ ------------    ------------- ------------- -------------
     1 r0                          6                          10 

   No. Column name       Activity     Lower bound   Upper bound
------ ------------    ------------- ------------- -------------
     1 w0                       -0.5            -9             9 
     2 z3_7         *              0             0             1 
     3 a_longer_name_16
                                 4.5                             
     4 n0           *              2             2               

Integer feasibility conditions:

KKT.PE: max.abs.err = 0.00e+00 on row 0

End of output
"""
GLPK_LP = (
    GLPK.replace("INTEGER OPTIMAL", "OPTIMAL")
    .replace("z3_7         *", "z3_7         NL")
    .replace("n0           *", "n0           B ")
)
GLPK_RAW = """c Problem:    p
c Rows:       1
c Columns:    4
c
s mip 1 4 o -4.85
i 1 6
j 1 -0.5
j 2 0
j 3 4.5
j 4 2
e o f
"""
GLPK_RAW_LP = (
    GLPK_RAW.replace("s mip 1 4 o", "s bas 1 4 f f").replace("i 1 6", "i 1 b 6 0").replace("j 1 -0.5", "j 1 u -0.5 1")
)
GLPK_RAW_LP = GLPK_RAW_LP.replace("j 2 0", "j 2 l 0 0").replace("j 3 4.5", "j 3 b 4.5 0").replace("j 4 2", "j 4 b 2 0")
MIPLIB = "=obj= -4.85\nw0 -0.5\na_longer_name_16 4.5\nn0 2\n"
PLAIN = "w0 -5e-01\nz3_7 0\na_longer_name_16 4.5\nn0 2\n"

DIALECTS = [
    ("highs", HIGHS),
    ("highs", HIGHS_SPARSE),
    ("highs", HIGHS_TABLE),
    ("highs", HIGHS_LIST),
    ("cbc", CBC),
    ("scip", SCIP),
    ("scip", SCIP.split("\n", 1)[1]),
    ("glpk", GLPK),
    ("glpk", GLPK_LP),
    ("glpk", GLPK_RAW),
    ("glpk", GLPK_RAW_LP),
    ("gurobi", MIPLIB),
    ("plain", PLAIN),
]


@pytest.mark.parametrize(("dialect", "text"), DIALECTS)
@pytest.mark.parametrize("named", [False, True])
def test_every_dialect_gives_the_same_point(tmp_path, dialect, text, named):
    path = tmp_path / "a.sol"
    path.write_text(text)
    assert read_solution(path, asked(), dialect if named else None) == POINT
    assert parse_solution(path, asked()).dialect == dialect


def test_the_status_is_the_solvers(tmp_path):
    for text, status in (
        (HIGHS_SPARSE, "Time limit reached"),
        (CBC, "Optimal"),
        (GLPK, "INTEGER OPTIMAL"),
        (GLPK_RAW, "o"),
    ):
        (tmp_path / "a").write_text(text)
        assert parse_solution(tmp_path / "a", asked()).status == status


def test_names_that_were_replaced_for_the_file_come_back(tmp_path):
    columns = ("w0", "z 3", "a_longer_name_16", "n0")
    (tmp_path / "a").write_text(HIGHS.replace("z3_7", "x0"))
    assert read_solution(tmp_path / "a", asked(columns)) == dict(zip(columns, POINT.values(), strict=True))


SAMPLES = Path(__file__).parents[1] / "cases" / "solutions"
"""Files that solvers wrote for ``program.mps``: CPLEX 22.2, Xpress 9.9, lp_solve 5.5.2.5, COPT 8.0 and Gurobi 13.0."""
WRITTEN = {
    **{f"{name}.sol": name for name in ("cplex", "copt", "gurobi")},
    **{f"xpress.{ending}": "xpress" for ending in ("slx", "asc", "prt")},
    "lp_solve.txt": "lp_solve",
}


def written(name):
    """The program, and a solution of it that a solver wrote."""
    return mps.read(SAMPLES / "program.mps"), (SAMPLES / name).read_text()


# A file, what is changed, whether it is well formed but pointless, and words of the reason.
UNREADABLE = [
    (HIGHS, "Feasible", "Infeasible", True, "HiGHS says 'Optimal, Infeasible'"),
    (HIGHS, "Feasible\nObjective -4.85\n# Columns 4", "None\n# Columns 0", True, "Optimal, None"),
    (HIGHS, "w0 -0.5\n", "", False, "4 columns are announced and 3 follow"),
    (HIGHS, "w0 -0.5", "w0 nan", False, "line 8: 'nan' is no finite number"),
    (HIGHS, "w0 -0.5", "w9 -0.5", False, "names 'w9'"),
    (HIGHS, "w0 -0.5", "n0 -0.5", False, "two values"),
    (HIGHS, "# Columns 4", "# Columns 9999999", False, "9999999 columns are announced"),
    (HIGHS_TABLE, "Model status: Optimal", "Model status: Infeasible", True, "HiGHS says 'Infeasible'"),
    (HIGHS_TABLE, "          9         -0.5   ", "          9                ", False, "line 3: a column has"),
    (HIGHS_LIST, "4.5 \n", "", False, "4 columns are announced and 3 follow"),
    (HIGHS_LIST, "4 1 :", "5 1 :", False, "5 columns are announced and 4 follow"),
    (HIGHS_LIST, "T Primal", "F Primal", True, "no primal solution"),
    (CBC, "Optimal -", "Infeasible -", True, "CBC says 'Infeasible'"),
    (CBC, "Optimal -", "Stopped on time (no integer solution - continuous used) -", True, "no integer solution"),
    (CBC, "      2 a_l", "**    2 a_l", False, "line 3: CBC marks the value"),
    (CBC, "      3 n0 ", "      3 ", False, "line 4: a column is an index"),
    (SCIP, SCIP[40:], "no solution available\n", True, "SCIP says"),
    (SCIP, "(obj:0)", "(what)", False, "line 3: a column is"),
    (GLPK, "INTEGER OPTIMAL", "INTEGER EMPTY", True, "GLPK says 'INTEGER EMPTY'"),
    (GLPK, "   No. Column", "   No. Colomn", False, "table of columns is missing"),
    (GLPK, "     4 n0           *              2             2               \n", "", False, "no value for 'n0'"),
    (GLPK_RAW, "s mip 1 4 o", "s mip 1 4 u", True, "GLPK says 'u'"),
    (GLPK_RAW, "j 3 4.5", "j 4 4.5", False, "line 9: expected column 3"),
    (GLPK_RAW, "j 4 2\n", "", False, "4 columns are announced and 3 follow"),
    (GLPK_RAW, "s mip 1 4 o", "s mip 1 5 o", False, "5 columns are announced"),
    (MIPLIB, "=obj= -4.85", "=infeas=", True, "=infeas="),
    ("gurobi.sol", "w1 -1", "w1", False, "line 4: a column is"),
    ("gurobi.sol", "y0_1_2 1\n", "", False, "no value for 'y0_1_2'"),
    ("cplex.sol", 'primalFeasible="1"', 'primalFeasible="0"', True, "CPLEX says 'integer optimal solution'"),
    ("cplex.sol", 'value="2"', 'value="&two;"', False, "line 56: '&two;' is no finite number"),
    ("cplex.sol", ' name="w0"', "", False, "line 48: a column is a tag"),
    ("cplex.sol", '  <variable name="z2_1" index="4" value="0"/>\n', "", False, "no value for 'z2_1'"),
    ("xpress.slx", "  C y0_1_2                     1\n", "", False, "no value for 'y0_1_2'"),
    ("xpress.slx", "C w1", "R w1", False, "line 3: a column is C"),
    ("xpress.asc", '"SB",2,', '"SB",,', False, "line 29: a column is a number"),
    ("xpress.prt", "-.144000", "inf", False, "line 39: 'inf' is no finite number"),
    ("lp_solve.txt", "w1                      -0.026087\n", "", False, "no value for 'w1'"),
    ("\nThis problem is infeasible\n", "", "", True, "lp_solve says 'This problem is infeasible'"),
    (PLAIN, "n0 2\n", "", False, "no value for 'n0'"),
    (HIGHS, HIGHS, "\n \n", False, "is empty"),
    (HIGHS, HIGHS, "<?xml version = '1.0'?>\n<CPLEXSolution/>\n", False, "not a solution file of one of highs, glpk"),
]


@pytest.mark.parametrize(("text", "old", "new", "pointless", "words"), UNREADABLE)
def test_what_cannot_be_read_is_said(tmp_path, text, old, new, pointless, words):
    made, text = written(text) if text in WRITTEN else (asked(), text)
    assert old in text
    path = tmp_path / "a.sol"
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(FileFormatError, match=words) as caught:
        read_solution(path, made)
    assert isinstance(caught.value, NoPointError) is pointless
    assert str(caught.value).startswith("a.sol")


def test_a_solution_of_another_program_or_dialect_is_refused(tmp_path):
    path = tmp_path / "a.sol"
    path.write_text(GLPK_RAW)
    with pytest.raises(FileFormatError, match="the program has 3: it belongs to another model"):
        read_solution(path, asked(("a", "b", "c")))
    with pytest.raises(FileFormatError, match="not a solution of scip"):
        read_solution(path, asked(), "scip")
    path.write_text(HIGHS)
    with pytest.raises(FileFormatError, match="another model"):
        read_solution(path, asked(("a", "b", "c")))


def test_entities_are_not_expanded(tmp_path):
    """The text of a solution in the style of a billion laughs holds names that are none of the program."""
    made, text = written("cplex.sol")
    laughs = '<!DOCTYPE s [<!ENTITY a "2"><!ENTITY b "&a;&a;&a;">]>\n'
    (tmp_path / "a").write_text(text.replace("<CPLEXS", laughs + "<CPLEXS", 1).replace('value="2"', 'value="&b;"'))
    with pytest.raises(FileFormatError, match="is not a solution file"):
        read_solution(tmp_path / "a", made)


@pytest.mark.parametrize("name", WRITTEN)
def test_files_that_the_solvers_wrote_hold_the_optimum(name):
    made, _ = written(name)
    found = parse_solution(SAMPLES / name, made)
    x = made.vector(found.values)
    assert found.dialect == WRITTEN[name] and made.violation(x) < 1e-6
    # Two rows that earn 1 and 1 / log2(3) can stand at the top of the five.
    assert made.objective(x) == pytest.approx(1 + 1 / np.log2(3), abs=1e-9)
    assert found.objective is None or found.objective == pytest.approx(-made.objective(x), abs=1e-5)


def test_cplex_may_leave_out_zeros_and_order_its_attributes_as_it_likes(tmp_path):
    made, text = written("cplex.sol")
    whole = parse_solution(SAMPLES / "cplex.sol", made)
    sparse = re.sub(r'  <variable .* value="0"/>\n', "", text.replace('writeLevel="1"', 'writeLevel="3"'))
    assert 'name="w1" index="1" value="-1"' in sparse and sparse.count("<variable ") < len(made.columns)
    (tmp_path / "a").write_text(sparse.replace('name="w1" index="1" value="-1"', 'value="-1" index="1" name="w1"'))
    found = parse_solution(tmp_path / "a", made)
    assert (found.values, found.status) == (whole.values, "integer optimal solution")


def test_weights_stand_alone_only_where_they_may(tmp_path):
    """Their program is asked for the rest; a file that lacks one of them is cut short."""
    made = replace(asked(), weights=np.array([0, 2]))
    (tmp_path / "a").write_text("w0 -0.5\na_longer_name_16 4.5\n")
    assert parse_solution(tmp_path / "a", made, weights_alone=True).values == {"w0": -0.5, "a_longer_name_16": 4.5}
    for kept, alone in (("w0 -0.5\n", True), ("w0 -0.5\na_longer_name_16 4.5\n", False)):
        (tmp_path / "a").write_text(kept)
        with pytest.raises(FileFormatError, match="no value for .* missing.: it is cut short"):
            parse_solution(tmp_path / "a", made, weights_alone=alone)


@examples(50, st.lists(st.floats(-1e300, 1e300), min_size=4, max_size=4))
def test_our_own_solution_files_keep_every_digit(tmp_path_factory, x):
    path = tmp_path_factory.getbasetemp() / "own.sol"
    path.write_text(solution_text(asked(), x, "Optimal"))
    assert list(read_solution(path, asked()).values()) == x
    assert parse_solution(path, asked()).status == "Optimal"


@pytest.mark.parametrize("style", [-1, 0, 1, 2, 3, 4])
@pytest.mark.parametrize("whole", [True, False])
def test_the_styles_of_highs_as_it_writes_them_today(tmp_path, style, whole):
    highspy = pytest.importorskip("highspy", reason="pip install highspy")
    matrix = [[1.0, 1.0, 1.0, 0.0], [0.0, 2.0, 0.0, 1.0]]
    sides = [-INF, 3.0], [4.0, 3.0], [-1.0, 0.0, -2.0, -INF], [3.0, 9.0, 9.0, INF]
    made = program("p", [1.0, 2.0, -1.0, 0.0], matrix, *sides, [0, whole, 0, 0], columns=tuple(POINT))
    path, _ = mps.write(made, tmp_path / "p.mps")
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.readModel(str(path))
    highs.run()
    highs.writeSolution(str(tmp_path / "p.sol"), style)
    point = np.array(list(read_solution(tmp_path / "p.sol", made).values()))
    # Optimum by hand: x2 and the free column are at their lowest, the row is full.
    assert made.violation(point) < 1e-9 and made.objective(point) == pytest.approx(2 * 7 - 1 + 2, abs=1e-9)


def test_a_solution_is_no_longer_than_its_program_allows(tmp_path):
    program = asked()
    path = tmp_path / "long.sol"
    path.write_text("# a solution\n" + "x 1\n" * 3000)
    with pytest.raises(FileFormatError, match="no solution of this program is as long"):
        read_solution(path, program)
