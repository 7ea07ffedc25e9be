"""The vocabulary: every operator declared once, one file per family. Importing this package registers all of them."""

from pypto.ops import (
    binary,
    bitwise,
    builtin,
    cast,
    collectives,
    communication,
    compare,
    expand,
    gather,
    indexing,
    matmul,
    memory,
    patterns,
    reduce,
    shaping,
    sort,
    system,
    transfer,
    unary,
    windows,
)
from pypto.ops.declare import Declaration, Kind, Lanes, OperandError, Param, ResultSpec, op

__all__ = ["Declaration", "Kind", "Lanes", "OperandError", "Param", "ResultSpec", "op"]
