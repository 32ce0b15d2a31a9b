"""Single faults that can be put into a program: where, and what it then says. `scripts/faults` plants them."""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

COMPARED: dict[type[ast.cmpop], str] = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==",
    ast.Is: "is not", ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in",
}  # fmt: skip
SWAPPED = {"any": "all", "all": "any", "min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum"}
COUNTED = {ast.Add: "-", ast.Sub: "+", ast.Mult: "+", ast.FloorDiv: "*"}


@dataclass(frozen=True)
class Fault:
    file: Path
    line: int
    what: str
    start: int
    end: int
    text: str

    def planted(self, source: bytes) -> bytes:
        return source[: self.start] + self.text.encode() + source[self.end :]


def holds(node: ast.AST, line: int) -> bool:
    return getattr(node, "lineno", line + 1) <= line <= (getattr(node, "end_lineno", None) or line)


class Places(ast.NodeVisitor):
    """Every fault that can be put into one file."""

    def __init__(self, file: Path) -> None:
        self.file, self.source = file, file.read_bytes()
        self.found: list[Fault] = []
        self._lines = [0]
        for line in self.source.splitlines(keepends=True):
            self._lines.append(self._lines[-1] + len(line))
        self._quiet = 0

    def _at(self, line: int, column: int) -> int:
        return self._lines[line - 1] + column

    def _span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self._at(node.lineno, node.col_offset), self._at(node.end_lineno, node.end_col_offset)

    def _add(self, node: ast.expr | ast.stmt, what: str, text: str, span: tuple[int, int] | None = None) -> None:
        start, end = span or self._span(node)
        if not self._quiet and self.source[start:end].decode() != text:
            self.found.append(Fault(self.file, node.lineno, what, start, end, text))

    def _between(self, left: ast.expr, right: ast.expr) -> tuple[int, int]:
        return self._span(left)[1], self._span(right)[0]

    def visit_Compare(self, node: ast.Compare) -> None:
        left = node.left
        for operator, right in zip(node.ops, node.comparators, strict=True):
            span = self._between(left, right)
            if type(operator) in COMPARED and b"(" not in self.source[slice(*span)]:
                self._add(node, "comparison", f" {COMPARED[type(operator)]} ", span)
            left = right
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        other = " or " if isinstance(node.op, ast.And) else " and "
        for left, right in zip(node.values, node.values[1:], strict=False):
            span = self._between(left, right)
            if self.source[slice(*span)].strip() in (b"and", b"or"):
                self._add(node, "and for or", other, span)
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Not | ast.Invert):
            self._add(node, "negation left out", self.source[slice(*self._span(node.operand))].decode())
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        span = self._between(node.left, node.right)
        if type(node.op) in COUNTED and self.source[slice(*span)].strip() in (b"+", b"-", b"*", b"//"):
            self._add(node, "arithmetic", f" {COUNTED[type(node.op)]} ", span)
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if type(node.value) is int:
            self._add(node, "off by one", str(node.value + 1))

    def visit_Call(self, node: ast.Call) -> None:
        called = node.func
        name = called.attr if isinstance(called, ast.Attribute) else called.id if isinstance(called, ast.Name) else ""
        if name in SWAPPED:
            end = self._span(called)[1]
            self._add(node, f"{name} for {SWAPPED[name]}", SWAPPED[name], (end - len(name), end))
        for word in node.keywords:
            if word.arg == "axis" and isinstance(word.value, ast.Constant) and isinstance(word.value.value, int):
                self._add(word.value, "another axis", str(1 - abs(word.value.value)))
        self.generic_visit(node)

    def visit_If(self, node: ast.If) -> None:
        if ast.unparse(node.test) == "TYPE_CHECKING":
            return
        self._add(node.test, "condition never holds", "False")
        self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Call):
            self._add(node, "statement left out", "pass")
        self.generic_visit(node) if not isinstance(node.value, ast.Constant) else None

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self._add(node, "statement left out", "pass")
        self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        for part in (*node.args.defaults, *(d for d in node.args.kw_defaults if d), *node.body):
            self.visit(part)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Words are not looked at."""


def places(targets: list[Path]) -> Iterator[Fault]:
    files = sorted({file for target in targets for file in ([target] if target.is_file() else target.rglob("*.py"))})
    for file in files:
        seen = Places(file)
        seen.visit(ast.parse(seen.source))
        yield from seen.found


def drawn(every: list[Fault], number: int, seed: int, source: Path | None = None) -> list[Fault]:
    """As many of them by chance, in an order by chance; with `source`, each of its packages has its share.

    A share is in proportion, but four at least, so that small packages are not passed over. What is in none is as one.
    """
    chance = random.Random(seed)
    if source is None:
        return chance.sample(every, min(number, len(every)))
    packages: dict[str, list[Fault]] = {}
    for fault in every:
        parts = fault.file.relative_to(source).parts
        packages.setdefault(parts[0] if parts[1:] else "", []).append(fault)
    left = max(number - sum(min(4, len(those)) for those in packages.values()), 0)
    shares = {name: left * len(those) / len(every) for name, those in packages.items()}
    rest = left - sum(map(int, shares.values()))
    more = sorted(shares, key=lambda name: int(shares[name]) - shares[name])[:rest]
    found: list[Fault] = []
    for name, those in sorted(packages.items()):
        count = min(4, len(those)) + int(shares[name]) + (name in more)
        found += chance.sample(those, min(count, len(those)))
    chance.shuffle(found)
    return found[:number]
