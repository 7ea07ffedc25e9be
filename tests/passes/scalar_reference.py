"""A direct reading of scalar programs, written without the runtime: what a function returns, and which calls it makes in which order."""

from __future__ import annotations

from typing import Any

from pypto import ir

BINARY = {
    "Add": lambda a, b: a + b,
    "Sub": lambda a, b: a - b,
    "Mul": lambda a, b: a * b,
    "FloorDiv": lambda a, b: a // b,
    "FloorMod": lambda a, b: a % b,
    "Min": min,
    "Max": max,
    "Eq": lambda a, b: a == b,
    "Ne": lambda a, b: a != b,
    "Lt": lambda a, b: a < b,
    "Le": lambda a, b: a <= b,
    "Gt": lambda a, b: a > b,
    "Ge": lambda a, b: a >= b,
}


class Leave(Exception):
    """A break, continue or return on its way out."""

    def __init__(self, kind: str, values: list[Any] | None = None) -> None:
        self.kind = kind
        self.values = values or []


class Machine:
    """Runs functions of a program; ``trace`` lists the calls of operators with their arguments."""

    def __init__(self, program: ir.Program) -> None:
        self.program = program
        self.trace: list[tuple[Any, ...]] = []
        self.steps = 0

    def call(self, name: str, *args: Any) -> Any:
        function = self.program[name]
        env = dict(zip(function.params, args, strict=True))
        try:
            self.run(function.body, env)
        except Leave as leave:
            if leave.kind != "return":
                raise
            return leave.values[0] if len(leave.values) == 1 else tuple(leave.values)
        return None

    def value(self, e: Any, env: dict[Any, Any]) -> Any:
        kind = type(e).__name__
        if isinstance(e, ir.Var):
            return env[e]
        if kind in ("ConstInt", "ConstBool", "ConstFloat"):
            return e.value
        if kind == "And":
            return self.value(e.left, env) and self.value(e.right, env)
        if kind == "Or":
            return self.value(e.left, env) or self.value(e.right, env)
        if isinstance(e, ir.BinaryExpr):
            left = self.value(e.left, env)
            return BINARY[kind](left, self.value(e.right, env))
        if kind == "Not":
            return not self.value(e.operand, env)
        if kind == "Neg":
            return -self.value(e.operand, env)
        if kind == "Cast":
            return self.value(e.operand, env)
        if kind == "MakeTuple":
            return tuple(self.value(x, env) for x in e.elements)
        if kind == "TupleGetItemExpr":
            return self.value(e.tuple, env)[e.index]
        if kind == "Call":
            args = [self.value(x, env) for x in e.args]
            if e.op.is_function:
                return self.call(e.op.name, *args)
            self.trace.append((e.op.name, *args))
            return sum(a for a in args if not isinstance(a, tuple)) * 3 + len(self.trace)
        raise AssertionError(kind)

    def run(self, s: Any, env: dict[Any, Any]) -> list[Any]:
        """Run a statement; the result is what its final yield yields."""
        self.steps += 1
        assert self.steps < 100_000, "endless"
        match s:
            case ir.SeqStmts():
                out: list[Any] = []
                for inner in s.stmts:
                    out = self.run(inner, env)
                return out
            case ir.AssignStmt():
                env[s.var] = self.value(s.value, env)
            case ir.EvalStmt():
                self.value(s.expr, env)
            case ir.YieldStmt():
                return [self.value(v, env) for v in s.value]
            case ir.ReturnStmt():
                raise Leave("return", [self.value(v, env) for v in s.value])
            case ir.BreakStmt():
                raise Leave("break")
            case ir.ContinueStmt():
                raise Leave("continue")
            case ir.IfStmt():
                taken = self.value(s.condition, env)
                body = s.then_body if taken else s.else_body
                got = self.run(body, env) if body is not None else []
                env.update(zip(s.return_vars, got, strict=bool(s.return_vars)))
            case ir.ForStmt():
                bounds = [self.value(x, env) for x in (s.start, s.stop, s.step)]
                carried = [self.value(a.initValue, env) for a in s.iter_args]
                for i in range(*bounds):
                    env[s.loop_var] = i
                    carried, left = self.iteration(s, env, carried)
                    if left:
                        break
                env.update(zip(s.return_vars, carried, strict=True))
            case ir.WhileStmt():
                carried = [self.value(a.initValue, env) for a in s.iter_args]
                while True:
                    env.update(zip(s.iter_args, carried, strict=True))
                    if not self.value(s.condition, env):
                        break
                    carried, left = self.iteration(s, env, carried)
                    if left:
                        break
                env.update(zip(s.return_vars, carried, strict=True))
            case ir.ScopeStmt():
                return self.run(s.body, env)
            case _:
                raise AssertionError(type(s))
        return []

    def iteration(self, s: Any, env: dict[Any, Any], carried: list[Any]) -> tuple[list[Any], bool]:
        env.update(zip(s.iter_args, carried, strict=True))
        try:
            got = self.run(s.body, env)
        except Leave as leave:
            if leave.kind == "return":
                raise
            return carried, leave.kind == "break"
        return (got if s.iter_args else []), False


def outcome(program: ir.Program, name: str, *args: Any) -> tuple[Any, list[tuple[Any, ...]]]:
    """What a function returns, and its calls in order."""
    machine = Machine(program)
    return machine.call(name, *args), machine.trace


def defined_once_and_dominated(function: ir.Function) -> None:
    """Assert SSA form: one definition for each variable, every use dominated, yields last and of the right number."""
    defined: set[Any] = set()

    def define(var: Any, visible: set[Any]) -> None:
        assert var not in defined, f"{var.name_hint} is defined twice"
        defined.add(var)
        visible.add(var)

    def use(e: Any, visible: set[Any]) -> None:
        stack = [e]
        while stack:
            x = stack.pop()
            if isinstance(x, ir.Var):
                assert x in visible, f"{x.name_hint} is not visible"
                continue
            for field in x.FIELDS:
                got = getattr(x, field.name)
                for item in got.values() if isinstance(got, dict) else got if isinstance(got, list) else [got]:
                    if isinstance(item, ir.Expr):
                        stack.append(item)

    def block(body: Any, visible: set[Any], yields: int) -> None:
        stmts = ir.flatten_to_stmts(body)
        for s in stmts[:-1]:
            assert not isinstance(s, ir.YieldStmt)
        for s in stmts:
            stmt(s, visible, yields if s is stmts[-1] else 0)
        if yields and not isinstance(stmts[-1], ir.ScopeStmt):
            assert isinstance(stmts[-1], ir.YieldStmt)
            assert len(stmts[-1].value) == yields

    def stmt(s: Any, visible: set[Any], yields: int) -> None:
        if isinstance(s, ir.IfStmt):
            use(s.condition, visible)
            for body in (s.then_body, s.else_body):
                if body is not None:
                    block(body, set(visible), len(s.return_vars))
            assert not s.return_vars or s.else_body is not None
        elif isinstance(s, ir.ForStmt | ir.WhileStmt):
            assert len(s.iter_args) == len(s.return_vars)
            inner = set(visible)
            for arg in s.iter_args:
                use(arg.initValue, visible)
                define(arg, inner)
            if isinstance(s, ir.ForStmt):
                for e in (s.start, s.stop, s.step):
                    use(e, visible)
                define(s.loop_var, inner)
            else:
                use(s.condition, inner)
            block(s.body, inner, len(s.iter_args))
        elif isinstance(s, ir.ScopeStmt):
            block(s.body, visible, yields)
        elif isinstance(s, ir.AssignStmt):
            use(s.value, visible)
            define(s.var, visible)
        elif isinstance(s, ir.EvalStmt):
            use(s.expr, visible)
        elif isinstance(s, ir.YieldStmt | ir.ReturnStmt):
            for e in s.value:
                use(e, visible)
        for var in getattr(s, "return_vars", ()):
            define(var, visible)

    visible: set[Any] = set()
    for param in function.params:
        define(param, visible)
    block(function.body, visible, 0)


def has_nested_call(function: ir.Function) -> bool:
    """True when a call is anywhere but as the whole value of an assignment or expression statement."""
    from pypto.ir.node import children

    def below(node: Any) -> bool:
        for child in children(node):
            if isinstance(child, ir.Call | ir.Submit):
                whole = isinstance(node, ir.AssignStmt | ir.EvalStmt)
                if not whole:
                    return True
            if below(child):
                return True
        return False

    return below(function.body)


SYMBOLS = {
    "Add": "+",
    "Sub": "-",
    "Mul": "*",
    "FloorMod": "%",
    "Lt": "<",
    "Gt": ">",
    "Ge": ">=",
    "Eq": "==",
    "And": "and",
    "Or": "or",
}


def spell(e: Any) -> str:
    """An expression as short text."""
    if isinstance(e, ir.Var):
        return e.name_hint
    if hasattr(e, "value"):
        return str(e.value)
    if isinstance(e, ir.BinaryExpr):
        return f"({spell(e.left)} {SYMBOLS[type(e).__name__]} {spell(e.right)})"
    if isinstance(e, ir.UnaryExpr):
        return f"{type(e).__name__.lower()}({spell(e.operand)})"
    if isinstance(e, ir.Call):
        return f"{e.op.name}({', '.join(map(spell, e.args))})"
    if isinstance(e, ir.MakeTuple):
        return f"[{', '.join(map(spell, e.elements))}]"
    assert isinstance(e, ir.TupleGetItemExpr)
    return f"{spell(e.tuple)}[{e.index}]"


def show(body: Any, indent: str = "") -> str:
    """Statements as short text, independent of the printer: carried values in brackets, results behind arrows."""
    lines: list[str] = []
    for s in ir.flatten_to_stmts(body):
        lines += [f"{indent}# {c}" for c in s.leading_comments]
        results = "".join(f" -> {v.name_hint}" for v in getattr(s, "return_vars", ()))
        carried = "".join(f" [{a.name_hint} = {spell(a.initValue)}]" for a in getattr(s, "iter_args", ()))
        inner = [getattr(s, "body", None)]
        match s:
            case ir.AssignStmt():
                lines.append(f"{indent}{s.var.name_hint} = {spell(s.value)}")
            case ir.EvalStmt():
                lines.append(indent + spell(s.expr))
            case ir.YieldStmt():
                lines.append(f"{indent}yield {', '.join(map(spell, s.value))}")
            case ir.ReturnStmt():
                lines.append(f"{indent}return {', '.join(map(spell, s.value))}")
            case ir.ForStmt():
                bounds = ", ".join(map(spell, (s.start, s.stop, s.step)))
                lines.append(f"{indent}for {s.loop_var.name_hint} in {bounds}{carried}{results}:")
            case ir.WhileStmt():
                lines.append(f"{indent}while {spell(s.condition)}{carried}{results}:")
            case ir.IfStmt():
                lines.append(f"{indent}if {spell(s.condition)}{results}:")
                inner = [s.then_body, s.else_body]
            case _:
                lines.append(f"{indent}{type(s).__name__}")
        for at, part in enumerate(inner):
            if part is not None:
                if at:
                    lines.append(f"{indent}else:")
                text = show(part, indent + "  ")
                lines.append(text or f"{indent}  pass")
    return "\n".join(lines) + "".join(f"\n{indent}# {c} (end)" for c in body.trailing_comments)
