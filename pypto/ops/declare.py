"""The single declaration of an operator, and everything that follows from it alone.

A :class:`Declaration` states parameters, type rule, effects, NumPy meaning and documentation. Argument binding, call construction,
the signature that people see, effects queries and memory facts are computed from it here; parser, printer, runtime and reference
pages read the same object. There is no second list of operators.

A parameter is either an *operand* (it becomes an argument of the IR call) or a *keyword* (it becomes an entry of ``Call.kwargs``).
The order of parameters is the order people write; operands keep that order in the IR.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pypto.diagnostics import Error, InvalidValueError, did_you_mean
from pypto.ir.attrs import AttrValue
from pypto.ir.dtypes import DataType
from pypto.ir.enums import ArgEffect, MemorySpace, WriteChannel
from pypto.ir.expr import EMPTY, Call, ConstInt, Expr, MakeTuple, make_op_call
from pypto.ir.function import Function
from pypto.ir.op import DeclaredOp, create_internal_op_call, get_op, register_op
from pypto.ir.span import UNKNOWN, Span
from pypto.ir.types import ScalarType, TileType, TupleType, Type
from pypto.ops.keywords import check_keyword, keyword_value, resolve_cast_mode, resolve_pad, same_value
from pypto.ops.operands import (
    check_operand_kind,
    converted,
    describe_type,
    dim_text,
    kind_text,
    public_name,
    stamp_constant,
    stamp_scalar,
    to_operand,
)
from pypto.ops.params import (
    MISSING,
    OPERANDS,
    ArityError,
    KeywordError,
    Kind,
    Lanes,
    Missing,
    OperandError,
    OperandTypeError,
    Param,
    RankCount,
    ResultSpec,
    default_text,
    refuse_value,
    too_many,
    values_from_passes,
)

__all__ = [
    "MISSING",
    "OPERANDS",
    "ArityError",
    "Declaration",
    "KeywordError",
    "Kind",
    "Lanes",
    "Missing",
    "OperandError",
    "OperandTypeError",
    "Param",
    "RankCount",
    "ResultSpec",
    "check_operand_kind",
    "default_facts",
    "describe_type",
    "dim_text",
    "keyword_value",
    "kind_text",
    "op",
    "public_name",
    "refuse_value",
    "resolve_cast_mode",
    "resolve_pad",
    "stamp_constant",
    "stamp_scalar",
    "to_operand",
    "values_from_passes",
]

Rule = Callable[["Declaration", Sequence[Expr], Mapping[str, AttrValue]], Type]
"""A type rule: operator, operands and keywords to the result type. It also checks everything that can be wrong with them."""

Memory = MemorySpace | str | None
"""Where a tile result lives: a space, the name of the keyword that says so, ``"inherit"`` (from the first tile operand), or None."""


_OPTIONAL_FACTS: Mapping[str, Any] = {
    "meaning": None,
    "lanes": Lanes.ALL,
    "short": False,
    "memory": None,
    "memory_inputs": EMPTY,
    "writes": (),
    "reads_writes": (),
    "reads_when": EMPTY,
    "valid_only": (),
    "spellings": (),
    "alias": None,
    "fresh": False,
    "scratch": (),
    "indices": (),
    "scalar_variant": None,
    "tile_form": None,
    "composite": False,
    "hardware_only": False,
    "internal_only": False,
    "pure_types": False,
    "promotes": False,
    "relabels": False,
    "write_channel": None,
    "category": "",
    "static_value": None,
    "remote": None,
    "posts": None,
    "waits": None,
    "collective": False,
    "signals": (),
    "ranks": None,
    "counts_ranks": False,
    "allocates": False,
    "window_of": None,
    "context_of": None,
    "carries_out": None,
    "kernel": None,
    "blocks": None,
    "implied_forms": EMPTY,
}


class Declaration(DeclaredOp):
    """One operator, declared once. See :func:`op` for the fields."""

    __slots__ = (
        "alias",
        "allocates",
        "blocks",
        "carries_out",
        "category",
        "collective",
        "composite",
        "context_of",
        "counts_ranks",
        "doc",
        "fresh",
        "hardware_only",
        "implied_forms",
        "indices",
        "internal_only",
        "kernel",
        "keyword_params",
        "lanes",
        "max_operands",
        "meaning",
        "memory",
        "memory_inputs",
        "min_operands",
        "operand_params",
        "param_index",
        "params",
        "posts",
        "promotes",
        "pure_types",
        "ranks",
        "reads_when",
        "reads_writes",
        "relabels",
        "remote",
        "required_keywords",
        "result",
        "result_forms",
        "scalar_variant",
        "scratch",
        "short",
        "signals",
        "spellings",
        "static_value",
        "tile_form",
        "type_memo",
        "valid_only",
        "waits",
        "window_of",
        "write_channel",
        "writes",
    )

    def __init__(self, name: str, **facts: Any) -> None:
        super().__init__(name)
        facts = {**_OPTIONAL_FACTS, **facts}
        self.params: tuple[Param, ...] = tuple(facts.pop("params"))
        self.result: Rule = facts.pop("result")
        self.meaning: Callable[..., Any] | None = facts.pop("meaning")
        self.lanes: Lanes = facts.pop("lanes")
        self.doc: str = facts.pop("doc")
        self.short: bool = facts.pop("short")
        self.memory: Memory = facts.pop("memory")
        self.memory_inputs: Mapping[str, tuple[MemorySpace, ...]] = facts.pop("memory_inputs")
        self.writes: tuple[str, ...] = tuple(facts.pop("writes"))
        self.reads_writes: tuple[str, ...] = tuple(facts.pop("reads_writes"))
        self.reads_when: Mapping[str, tuple[str, AttrValue]] = facts.pop("reads_when")
        self.valid_only: tuple[str, ...] = tuple(facts.pop("valid_only"))
        self.spellings: tuple[str, ...] = tuple(facts.pop("spellings"))
        self.alias: str | None = facts.pop("alias")
        self.fresh: bool | str = facts.pop("fresh")
        self.scratch: tuple[str, ...] = tuple(facts.pop("scratch"))
        self.indices: tuple[str, ...] = tuple(facts.pop("indices"))
        self.scalar_variant: str | None = facts.pop("scalar_variant")
        self.tile_form: str | None = facts.pop("tile_form")
        self.composite: bool = facts.pop("composite")
        self.hardware_only: bool = facts.pop("hardware_only")
        self.internal_only: bool = facts.pop("internal_only")
        self.pure_types: bool = facts.pop("pure_types")
        self.promotes: bool = facts.pop("promotes")
        self.relabels: bool = facts.pop("relabels")
        self.write_channel: WriteChannel | None = facts.pop("write_channel")
        self.result_forms: Callable[[Type], Sequence[Type]] | None = facts.pop("result_forms")
        self.static_value: Callable[[Sequence[Expr]], Expr | None] | None = facts.pop("static_value")
        self.remote: str | None = facts.pop("remote")
        self.posts: str | None = facts.pop("posts")
        self.waits: str | None = facts.pop("waits")
        self.collective: bool = facts.pop("collective")
        self.signals: tuple[str, ...] = tuple(facts.pop("signals"))
        self.counts_ranks: bool = facts.pop("counts_ranks")
        self.allocates: bool = facts.pop("allocates")
        self.window_of: str | None = facts.pop("window_of")
        self.context_of: str | None = facts.pop("context_of")
        self.carries_out: tuple[str, str] | None = facts.pop("carries_out")
        self.kernel: Callable[[Sequence[Type], Mapping[str, AttrValue]], Function] | None = facts.pop("kernel")
        self.blocks: str | None = facts.pop("blocks")
        self.ranks: Callable[[Sequence[Expr], Mapping[str, AttrValue]], RankCount] | None = facts.pop("ranks")
        self.implied_forms: Mapping[str, Mapping[str, AttrValue]] = facts.pop("implied_forms")
        self.category: str = facts.pop("category") or _category(name)
        self.operand_params = tuple(p for p in self.params if p.is_operand)
        self.keyword_params = {p.name: p for p in self.params if not p.is_operand}
        self.required_keywords = tuple([p.name for p in self.params if not p.is_operand and p.default is MISSING])
        self.param_index = {p.name: i for i, p in enumerate(self.params)}
        self.min_operands = sum(p.default is MISSING for p in self.operand_params)
        self.max_operands = len(self.operand_params)
        self.type_memo: dict[tuple[object, ...], tuple[tuple[Type, ...], Type]] = {}
        self._audit()

    def _audit(self) -> None:
        names = [p.name for p in self.params]
        if len(set(names)) != len(names):
            raise InvalidValueError(f"operator {self.name!r} has two parameters of one name")
        touched = (
            *self.signals,
            *self.writes,
            *self.reads_writes,
            *self.scratch,
            *self.indices,
            *self.valid_only,
            *self.reads_when,
        )
        singles = [n for n in (self.alias, self.remote, self.posts, self.waits, self.window_of, self.context_of) if n is not None]
        for what in (*touched, *singles):
            if what not in names:
                raise InvalidValueError(f"operator {self.name!r} declares an effect on {what!r}, which is no parameter of it")
        if self.meaning is None and not (self.composite or self.hardware_only or self.internal_only):
            raise InvalidValueError(f"operator {self.name!r} needs a meaning, unless it is composite, internal or hardware-only")
        if self.write_channel is not None and not (self.writes or self.reads_writes):
            raise InvalidValueError(f"operator {self.name!r} names a write channel but writes nothing")
        if self.remote is not None and "peer" not in names:
            raise InvalidValueError(f"operator {self.name!r} reaches another rank and needs a parameter 'peer' that says which")
        if not self.doc:
            raise InvalidValueError(f"operator {self.name!r} needs a line of documentation")

    # -- what people see ---------------------------------------------------------------------------------------------

    @property
    def namespace(self) -> str:
        """Everything before the last dot."""
        return self.name.rpartition(".")[0]

    @property
    def leaf(self) -> str:
        """The last component of the name."""
        return self.name.rpartition(".")[2]

    @property
    def signature(self) -> inspect.Signature:
        """The signature people write, defaults included."""
        positional = inspect.Parameter.POSITIONAL_OR_KEYWORD
        parameters = [
            inspect.Parameter(
                p.name,
                inspect.Parameter.KEYWORD_ONLY if p.keyword_only else positional,
                default=inspect.Parameter.empty if p.required else (None if p.default is MISSING else p.default),
            )
            for p in self.params
            if not p.internal
        ]
        return inspect.Signature(parameters)

    # -- facts -------------------------------------------------------------------------------------------------------

    def params_of(self, count: int) -> Sequence[Param]:
        """The operand parameters of a call with that many IR arguments, in their order."""
        return self.operand_params if count == len(self.operand_params) else self.operand_params[:count]

    @property
    def communicates(self) -> bool:
        """True when it reaches other ranks, or waits for them."""
        return self.remote is not None or self.posts is not None or self.waits is not None or self.collective

    def arg_effect(self, index: int, kwargs: Mapping[str, AttrValue] = EMPTY, count: int | None = None) -> ArgEffect | None:
        """What the operator does to the operand at ``index``, in a call with ``count`` IR arguments or, without, with all of them."""
        params = self.operand_params if count is None else self.params_of(count)
        if index >= len(params):
            return None
        name = params[index].name
        if name in self.reads_writes:
            return ArgEffect.ReadWrite
        if name in self.reads_when:
            keyword, value = self.reads_when[name]
            if kwargs.get(keyword, self.keyword_params[keyword].default) == value:
                return ArgEffect.ReadWrite
        return ArgEffect.Write if name in self.writes or name in self.scratch else ArgEffect.Read

    @property
    def alias_index(self) -> int | None:
        """Position of the operand whose storage the result is, or None."""
        for index, param in enumerate(self.operand_params):
            if param.name == self.alias:
                return index
        return None

    def operand_at(self, args: Sequence[Expr], name: str | None) -> Expr | None:
        """The operand of a call that the parameter ``name`` stands for; None for no name, or when it is left out."""
        if name is not None:
            for param, arg in zip(self.params_of(len(args)), args, strict=False):
                if param.name == name:
                    return arg
        return None

    def get_attr_keys(self) -> list[str]:
        return ["category", "composite", "hardware_only", "internal_only"]

    def get_attr(self, key: str) -> Any:
        return getattr(self, key) if key in self.get_attr_keys() else super().get_attr(key)

    # -- binding: from what people write to a call -----------------------------------------------------------------------

    def params_for(self, positional: Sequence[Any]) -> Sequence[Param]:
        """The parameters in the order in which those positional values stand for them."""
        return self.params

    def bind(self, positional: Sequence[Any], named: Mapping[str, Any]) -> list[Any]:
        """Values in parameter order, MISSING where omitted.

        Raises:
            ArityError: too many values, an unknown or repeated name, or a required parameter left out.
        """
        params = self.params
        if len(positional) > len(params):
            raise self._too_many(len(positional))
        bound: list[Any] = [*positional, *([MISSING] * (len(params) - len(positional)))]
        for at in range(len(positional)):
            if params[at].keyword_only:
                raise self._too_many(len(positional))
        for name, value in named.items():
            at = self.param_index.get(name, -1)
            if at < 0 or params[at].internal:
                raise self.unknown_parameter(name)
            if bound[at] is not MISSING:
                raise ArityError(f"{self.name} got {name!r} twice", name)
            bound[at] = value
        return bound

    def _too_many(self, given: int) -> ArityError:
        most = sum(not p.keyword_only for p in self.params)
        return too_many(self.name, most, given, self.spelling())

    def unknown_parameter(self, name: str) -> ArityError:
        """The error for a keyword that the operator does not have."""
        close = did_you_mean(name, [p.name for p in self.params if not p.internal])
        hint = f"did you mean {close!r}?" if close else f"signature: {self.spelling()}"
        return ArityError(f"{self.name} has no parameter {name!r}", name, hint)

    def spelling(self) -> str:
        """Name and signature as one line of text."""
        shown: list[str] = []
        star = False
        for p in self.params:
            if p.internal:
                continue
            if p.keyword_only and not star:
                shown.append("*")
                star = True
            default = "" if p.required else f"={p.same_as or default_text(p.default)}"
            shown.append(p.name + default)
        return f"{public_name(self)}({', '.join(shown)})"

    def build(self, bound: Sequence[Any], span: Span = UNKNOWN) -> Call:
        """A call from values in parameter order: operands are expressions (or Python numbers and lists), keywords plain values.

        Picks the scalar form of the operator when a scalar stands where a tile or tensor may; re-types constant scalars.

        Raises:
            ArityError: a required parameter is missing.
            OperandError, InvalidTypeError, InvalidValueError: what the parameter or the type rule refuses.
        """
        args, kwargs = self.collect(bound, span)
        if self.scalar_variant is not None and self.has_scalar_form(args):
            other = get_op(self.scalar_variant)
            kept = {k: v for k, v in kwargs.items() if not isinstance(other, Declaration) or k in other.keyword_params}
            dropped = [k for k in kwargs if k not in kept]
            if dropped:
                raise ArityError(f"{self.name} with a scalar takes no {dropped[0]!r}", dropped[0])
            return create_internal_op_call(other, args, kept, span)
        for at, param in enumerate(self.operand_params[: len(args)]):
            wanted = self.stamped_dtype(param, kwargs)
            if wanted is not None:
                args[at] = stamp_constant(args[at], wanted)
        return create_internal_op_call(self, args, kwargs, span)

    def has_scalar_form(self, args: Sequence[Expr]) -> bool:
        """True when a scalar stands where a tile or tensor may, so that the scalar form of the operator is meant."""
        return any(
            p.kind is Kind.SHAPED_OR_SCALAR and type(a.type) is ScalarType
            for p, a in zip(self.operand_params, args, strict=False)
        )

    def collect(self, bound: Sequence[Any], span: Span = UNKNOWN) -> tuple[list[Expr], dict[str, AttrValue]]:
        """Operands and stored keywords from values in parameter order; raises what :meth:`build` raises but for the type rule."""
        args: list[Expr] = []
        kwargs: dict[str, AttrValue] = {}
        pending = 0
        for param, value in zip(self.params, bound, strict=True):
            if not param.is_operand:
                self._keyword(param, value, kwargs)
                continue
            if value is None and (param.default is None or param.same_as is not None):
                if not param.nullable:
                    raise OperandTypeError(
                        f"{self.name} takes a {param.kind.value} as {param.name!r}, not None",
                        len(args),
                        hint=f"leave {param.name!r} out",
                    )
                value = MISSING
            if value is MISSING:
                if param.same_as is not None:
                    value = args[[p.name for p in self.operand_params].index(param.same_as)]
                elif param.default is MISSING:
                    raise ArityError(f"{self.name} needs {param.name!r}", param.name, hint=f"signature: {self.spelling()}")
                elif param.default is None:
                    pending += 1
                    continue
                else:
                    value = param.default
            if pending:
                if not self.operand_params[len(args)].placeholder:
                    missing = self.operand_params[len(args)].name
                    raise ArityError(f"{self.name} needs {missing!r} when {param.name!r} is given", missing)
                args.extend(MakeTuple([], span) for _ in range(pending))
                pending = 0
            args.append(self.operand(param, value, len(args), args, span))
        return args, kwargs

    def stamped_dtype(self, param: Param, kwargs: Mapping[str, AttrValue]) -> DataType | None:
        """The element type that the scalar operand of ``param`` must have, where a keyword or the declaration says so."""
        wanted: Any = param.stamp
        if isinstance(wanted, str):
            keyword = self.keyword_params.get(wanted)
            wanted = None if keyword is None else kwargs.get(wanted, keyword.default)
        return wanted if isinstance(wanted, DataType) else None

    def _keyword(self, param: Param, value: Any, kwargs: dict[str, AttrValue]) -> None:
        if value is MISSING:
            if param.default is MISSING:
                raise ArityError(f"{self.name} needs {param.name!r}", param.name, hint=f"signature: {self.spelling()}")
            if not param.stored:
                return
            value = param.default
        try:
            stored = keyword_value(self, param, value)
        except Error as error:
            error.parameter = param.name
            raise
        if stored is None or (not param.stored and param.default is not MISSING and same_value(stored, param)):
            return
        kwargs[param.name] = stored

    def operand(self, param: Param, value: Any, at: int, args: Sequence[Expr], span: Span) -> Expr:
        """One operand as an expression of the kind its parameter asks for.

        Raises:
            OperandTypeError: it is of another kind.
        """
        if param.enum is not None and isinstance(value, param.enum):
            value = ConstInt(int(value.value), DataType.INDEX, span)
        expr = to_operand(value, span)
        if expr is None:
            raise OperandTypeError(f"{self.name} takes a {param.kind.value} as {param.name!r}, got {value!r}", at)
        if param.single and type(expr.type) is ScalarType:
            return MakeTuple([expr], span)
        if isinstance(param.stamp, str) and param.stamp not in self.keyword_params and type(expr.type) is ScalarType:
            names = [p.name for p in self.operand_params]
            expr = stamp_scalar(self, expr, args[names.index(param.stamp)], at, param.stamp_as)
        if param.cast is not None:
            expr = converted(expr, param.cast)
        return expr

    # -- construction: from IR operands to a typed call ----------------------------------------------------------------

    def make_call(self, args: list[Expr], kwargs: Mapping[str, AttrValue], span: Span) -> Call:
        """A typed call of IR operands and stored keywords; takes ownership of ``args``.

        Raises:
            ArityError, OperandError, InvalidTypeError, InvalidValueError: whatever is wrong with them.
        """
        if kwargs:
            for key, value in kwargs.items():
                param = self.keyword_params.get(key)
                if param is None:
                    raise InvalidValueError(f"{self.name} has no keyword {key!r}", hint=f"signature: {self.spelling()}")
                check_keyword(self, param, value)
        for name in self.required_keywords:
            if name not in kwargs:
                raise ArityError(f"{self.name} needs {name!r}", name, hint=f"signature: {self.spelling()}")
        return make_op_call(self, args, kwargs or EMPTY, EMPTY, self.deduce_type(args, kwargs), span)

    def deduce_type(self, args: Sequence[Expr], kwargs: Mapping[str, AttrValue]) -> Type:
        """The result type; kinds and number of the operands are checked first, then the rule."""
        if self.pure_types:
            key = (*[id(a.type) for a in args], *kwargs.items())
            known = self.type_memo.get(key)
            if known is not None:
                return known[1]
            result = self._deduce(args, kwargs)
            if len(self.type_memo) > 4096:
                self.type_memo.clear()
            self.type_memo[key] = (tuple([a.type for a in args]), result)
            return result
        return self._deduce(args, kwargs)

    def retyped(self, args: Sequence[Expr], kwargs: Mapping[str, AttrValue]) -> Type:
        """The result type for operands that passes may have changed: :meth:`deduce_type`, but for constants out of range."""
        with values_from_passes():
            return self.deduce_type(args, kwargs)

    def _deduce(self, args: Sequence[Expr], kwargs: Mapping[str, AttrValue]) -> Type:
        given = len(args)
        if not self.min_operands <= given <= self.max_operands:
            wanted = str(self.min_operands)
            if self.max_operands != self.min_operands:
                wanted += f" to {self.max_operands}"
            raise ArityError(f"{self.name} takes {wanted} operands, got {given}", hint=f"signature: {self.spelling()}")
        for at, (param, arg) in enumerate(zip(self.params_of(given), args, strict=False)):
            check_operand_kind(self, param, arg, at)
            wanted = None if param.stamp is None else self.stamped_dtype(param, kwargs)
            if wanted is not None and getattr(arg.type, "dtype", None) is not wanted:
                raise OperandError(
                    f"{self.name} takes {param.name!r} as {wanted.name}, got {describe_type(arg.type)}",
                    at,
                    hint=f"cast it first: pl.cast(..., pl.{wanted.name})",
                )
        return self._placed(self.result(self, args, kwargs), args, kwargs)

    def _placed(self, result: Type, args: Sequence[Expr], kwargs: Mapping[str, AttrValue]) -> Type:
        if isinstance(result, TileType) and result.memory_space is None:
            space = self.result_space(args, kwargs)
            if space is not None:
                return TileType(result.shape, result.dtype, result.memref, result.tile_view, space)
        if isinstance(result, TupleType):
            placed = [self._placed(t, args, kwargs) for t in result.types]
            if any(a is not b for a, b in zip(placed, result.types, strict=True)):
                return TupleType(placed)
        return result

    def other_results(self, deduced: Type) -> Sequence[Type]:
        return () if self.result_forms is None else self.result_forms(deduced)

    def result_space(self, args: Sequence[Expr], kwargs: Mapping[str, AttrValue]) -> MemorySpace | None:
        """Where a tile result of this call lives."""
        memory = self.memory
        if isinstance(memory, MemorySpace) or memory is None:
            return memory
        if memory == "inherit":
            return next((a.type.memory_space for a in args if isinstance(a.type, TileType)), None)
        value = kwargs.get(memory, self.keyword_params[memory].default)
        return value if isinstance(value, MemorySpace) else None


def _category(name: str) -> str:
    head = name.split(".")[0]
    return {"tile": "TileOp", "tensor": "TensorOp", "system": "SyncOp", "array": "ArrayOp", "pld": "DistributedOp"}.get(
        head, "Op"
    )


def op(
    name: str,
    *,
    params: Sequence[Param],
    result: Rule,
    meaning: Callable[..., Any] | None = None,
    lanes: Lanes = Lanes.ALL,
    doc: str,
    short: bool = False,
    memory: Memory = None,
    memory_inputs: Mapping[str, tuple[MemorySpace, ...]] = EMPTY,  # type: ignore[assignment]
    writes: Sequence[str] = (),
    reads_writes: Sequence[str] = (),
    reads_when: Mapping[str, tuple[str, AttrValue]] = EMPTY,  # type: ignore[assignment]
    valid_only: Sequence[str] = (),
    spellings: Sequence[str] = (),
    alias: str | None = None,
    fresh: bool | str = False,
    scratch: Sequence[str] = (),
    indices: Sequence[str] = (),
    scalar_variant: str | None = None,
    tile_form: str | None = None,
    composite: bool = False,
    hardware_only: bool = False,
    internal_only: bool = False,
    pure_types: bool = False,
    promotes: bool = False,
    relabels: bool = False,
    write_channel: WriteChannel | None = None,
    result_forms: Callable[[Type], Sequence[Type]] | None = None,
    category: str = "",
    static_value: Callable[[Sequence[Expr]], Expr | None] | None = None,
    remote: str | None = None,
    posts: str | None = None,
    waits: str | None = None,
    collective: bool = False,
    signals: Sequence[str] = (),
    ranks: Callable[[Sequence[Expr], Mapping[str, AttrValue]], RankCount] | None = None,
    counts_ranks: bool = False,
    allocates: bool = False,
    window_of: str | None = None,
    context_of: str | None = None,
    carries_out: tuple[str, str] | None = None,
    kernel: Callable[[Sequence[Type], Mapping[str, AttrValue]], Function] | None = None,
    blocks: str | None = None,
    implied_forms: Mapping[str, Mapping[str, AttrValue]] = EMPTY,  # type: ignore[assignment]
    kind: Callable[..., Declaration] = Declaration,
) -> Declaration:
    """Declare an operator.

    Args:
        name: dotted name, for instance ``tile.add``.
        params: parameters in the order people write them.
        result: the type rule.
        meaning: NumPy function of the operands (arrays, numbers, tuples of numbers) in IR order; keywords are passed by name when it
            has a parameter of that name, and ``out`` (a :class:`ResultSpec`) when it asks for it.
        lanes: how result elements depend on operand elements.
        doc: one sentence or more; the reference page is made from it.
        short: reachable as ``pl.<leaf>``. When a tensor and a tile operator share a leaf and both are short, the operand decides.
        memory: where a tile result lives.
        memory_inputs: memory spaces that an operand may be in.
        writes: operands that are written; those not named anywhere are read.
        reads_writes: operands that are read and written.
        reads_when: written operands that are also read when a keyword has a value: ``{"output_tensor": ("atomic", 1)}``.
        valid_only: operands of which the meaning gets the valid region only (with REDUCE and CONTRACT that holds for all).
        spellings: further names people may use in place of the last component; when it is ``short``, ``pl.<spelling>`` is the short form.
        alias: the operand whose storage the result is.
        fresh: the elements of the result hold nothing yet, so that reading them is an error at run time; the name of a keyword says: unless
            that keyword is given.
        indices: array operands that say where elements come from or go to; with MOVE they are given as they are when poison is moved.
        scratch: operands that only lend their room: what they hold is neither read nor of use afterwards.
        scalar_variant: the operator meant when the last operand is a scalar.
        tile_form: for a tensor operator, the tile operator with the same operands and keywords that it becomes inside a kernel.
        composite: a lowering rule replaces it before code is made.
        hardware_only: has no meaning off the machine.
        internal_only: only passes create it.
        pure_types: the rule looks at nothing but operand types and keywords, so its results are remembered.
        promotes: operands of another element type are converted to that of the result before the meaning is applied.
        relabels: the result is the first operand under another type; of the same type it is that operand.
        write_channel: the engine that does the writing.
        static_value: the value of a call where the types of its operands state it, else None; orchestration code takes that value.
        result_forms: types that a pass may give the result instead of the deduced one.
        remote: the operand that lies on the rank that the operand ``peer`` says. The meaning is that of the same operation at home: it gets
            the other rank's array in the place of this operand, and no ``peer``.
        posts: the operand whose signal cell it posts to.
        waits: the operand whose signal cell it waits for; the meaning says whether the wait is over.
        collective: every rank of the domain takes part. The meaning is applied once: it gets a list over the ranks for each operand, writes
            in place and returns nothing; each rank's result is its own ``alias`` operand.
        signals: the operands that are signals: cells that ranks post to and wait for, no data.
        ranks: how many ranks a call can run on, as far as the shapes of its operands say.
        counts_ranks: its result is the number of ranks of the run.
        allocates: its result is the pointer of a new window buffer; the first operand is its size, the keyword ``name`` its name.
        window_of: the pointer operand of which the result is a window.
        context_of: the distributed operand of which the result is the communication context.
        carries_out: for the dispatch of a collective to one rank, the collective, and the way in which it runs.
        kernel: gives the function that the rank runs, for the types of the operands and the keywords of a call.
        blocks: the keyword that says how many blocks of a rank run the kernel at once; each gets its number and how many they are as its
            last two arguments.
        implied_forms: spellings under which these keywords need not be written, and the keywords.
        kind: what makes the declaration, for operators whose operands come in several arrangements.

    A meaning that has a parameter ``world`` gets the rank's door to the other ranks.
    """
    declaration = kind(
        name,
        params=params,
        result=result,
        meaning=meaning,
        lanes=lanes,
        doc=doc,
        short=short,
        memory=memory,
        memory_inputs=memory_inputs,
        writes=writes,
        reads_writes=reads_writes,
        reads_when=reads_when,
        valid_only=valid_only,
        spellings=spellings,
        alias=alias,
        fresh=fresh,
        scratch=scratch,
        indices=indices,
        scalar_variant=scalar_variant,
        tile_form=tile_form,
        composite=composite,
        hardware_only=hardware_only,
        internal_only=internal_only,
        pure_types=pure_types,
        promotes=promotes,
        relabels=relabels,
        write_channel=write_channel,
        result_forms=result_forms,
        category=category,
        static_value=static_value,
        remote=remote,
        posts=posts,
        waits=waits,
        collective=collective,
        signals=signals,
        ranks=ranks,
        counts_ranks=counts_ranks,
        allocates=allocates,
        window_of=window_of,
        context_of=context_of,
        carries_out=carries_out,
        kernel=kernel,
        blocks=blocks,
        implied_forms=implied_forms,
    )
    register_op(declaration)
    return declaration


def default_facts() -> dict[str, Any]:
    """What :func:`op` takes for the facts that are left out, for subclasses of :class:`Declaration` that are no registry entries."""
    parameters = inspect.signature(op).parameters.values()
    return {p.name: p.default for p in parameters if p.default is not inspect.Parameter.empty and p.name != "kind"}
