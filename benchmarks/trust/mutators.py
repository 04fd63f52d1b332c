"""Small changes of a Python file, one at a time: what tests have to notice.

A part of ``python -m benchmarks.trust --mutation``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.MatMult: ast.Mult,
}


@dataclass(frozen=True)
class Mutant:
    """A changed file: the line of the change, what stood there, what stands there now, and the whole as a tree."""

    line: int
    before: str
    after: str
    tree: ast.Module

    def __str__(self) -> str:
        return f"line {self.line}: {self.before[:70]}  ->  {self.after[:70]}"


def mutants(source: str) -> Iterator[Mutant]:
    """Every mutant of a file, in the order of the file."""
    for number in range(len(list(_sites(ast.parse(source))))):
        tree = ast.parse(source)
        node, parent, field, place = list(_sites(tree))[number]
        before = ast.unparse(node)
        changed = _changed(node)
        _set(parent, field, place, ast.copy_location(changed, node))
        yield Mutant(getattr(node, "lineno", 0), before, ast.unparse(changed), ast.fix_missing_locations(tree))


Site = tuple[ast.AST, ast.AST, str, int | None]


def _sites(node: ast.AST) -> Iterator[Site]:
    """The nodes that can be changed, each with its parent and its place there."""
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list", "type_comment"):
            continue
        for place, child in enumerate(value) if isinstance(value, list) else ((None, value),):
            if not isinstance(child, ast.AST) or _is_left_alone(child):
                continue
            if _can_change(child):
                yield child, node, field, place
            yield from _sites(child)


def _is_left_alone(node: ast.AST) -> bool:
    """Documentation, texts, imports and what only a type checker reads."""
    if isinstance(node, ast.Import | ast.ImportFrom | ast.JoinedStr):
        return True
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
        return True
    if isinstance(node, ast.Assign) and _is_type(node):
        return True
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_type(node: ast.Assign) -> bool:
    """Whether an assignment names a type (``Seed = int | None``, ``Ties = Literal["a"]``) or the public names."""
    union = isinstance(node.value, ast.BinOp) and isinstance(node.value.op, ast.BitOr)
    if isinstance(node.value, ast.Subscript) and ast.unparse(node.value.value) == "Literal":
        return True
    name = ast.unparse(node.targets[0])
    return name == "__all__" or (union and name.isidentifier() and name[0].isupper() and not name.isupper())


def _can_change(node: ast.AST) -> bool:
    if isinstance(node, ast.Constant):
        return isinstance(node.value, bool | int | float)
    if isinstance(node, ast.Compare):
        return type(node.ops[0]) in SWAPS
    if isinstance(node, ast.BinOp | ast.AugAssign):
        return type(node.op) in SWAPS
    if isinstance(node, ast.Return):
        return node.value is not None and not (isinstance(node.value, ast.Constant) and node.value.value is None)
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.Not | ast.USub)
    if isinstance(node, ast.Assign):
        return isinstance(node.targets[0], ast.Subscript | ast.Attribute)
    return isinstance(node, ast.BoolOp | ast.Expr | ast.Raise | ast.Continue | ast.Break | ast.If)


def _changed(node: ast.AST) -> ast.AST:
    match node:
        case ast.Constant(value=bool(value)):
            return ast.Constant(not value)
        case ast.Constant(value=value):
            return ast.Constant(value + 1)  # type: ignore[operator]
        case ast.Compare(left=left, ops=ops, comparators=others):
            return ast.Compare(left, [SWAPS[type(ops[0])](), *ops[1:]], others)  # type: ignore[list-item]
        case ast.BinOp(left=left, op=op, right=right):
            return ast.BinOp(left, SWAPS[type(op)](), right)  # type: ignore[arg-type]
        case ast.AugAssign(target=target, op=op, value=inner):
            return ast.AugAssign(target, SWAPS[type(op)](), inner)  # type: ignore[arg-type]
        case ast.BoolOp(op=op, values=values):
            return ast.BoolOp(SWAPS[type(op)](), values)  # type: ignore[arg-type]
        case ast.UnaryOp(operand=operand):
            return operand
        case ast.Return():
            return ast.Return(ast.Constant(None))
        case ast.If(test=test, body=body, orelse=orelse):
            return ast.If(ast.UnaryOp(ast.Not(), test), body, orelse)
    return ast.Pass()


def _set(parent: ast.AST, field: str, place: int | None, node: ast.AST) -> None:
    if place is None:
        setattr(parent, field, node)
    else:
        getattr(parent, field)[place] = node
