"""The enumerations of the language. Those stored in operator keywords as plain numbers are ``IntEnum``."""

from __future__ import annotations

from enum import Enum, IntEnum, IntFlag


class FunctionType(Enum):
    """What kind of code a function is."""

    Opaque = 0
    Orchestration = 1
    InCore = 2
    AIC = 3
    AIV = 4
    Group = 5
    Spmd = 6
    Inline = 7
    Graph = 8


class Level(Enum):
    """Where in the machine a function runs."""

    AIV = 0
    AIC = 1
    CORE_GROUP = 2
    CHIP_DIE = 3
    CHIP = 4
    HOST = 5
    CLUSTER_0 = 6
    CLUSTER_1 = 7
    CLUSTER_2 = 8
    GLOBAL = 9
    L2CACHE = 3
    PROCESSOR = 4
    UMA = 4
    NODE = 5
    POD = 6
    CLOS1 = 7
    CLOS2 = 8


class Role(Enum):
    """Whether a function orders work or does it."""

    Orchestrator = 0
    SubWorker = 1


class ForKind(Enum):
    """How the iterations of a loop relate."""

    Sequential = 0
    Parallel = 1
    Unroll = 2
    Pipeline = 3


class ScopeKind(Enum):
    """The kinds of scope statement."""

    InCore = 0
    Cluster = 2
    Hierarchy = 3
    Spmd = 4
    Runtime = 5
    CommDomain = 6
    SplitAiv = 7


class ScopeMode(Enum):
    """Who orders the tasks of a runtime scope."""

    AUTO = 0
    MANUAL = 1


class MemorySpace(Enum):
    """Where a tile lives; ``Mem`` is another name for it."""

    DDR = 0
    Vec = 1
    Mat = 2
    Left = 3
    Right = 4
    Acc = 5
    Bias = 6
    ScalarLocal = 7
    LeftScale = 8
    RightScale = 9


class TensorLayout(Enum):
    """Layout of a tensor in global memory."""

    ND = 0
    DN = 1
    NZ = 2
    MX_A_ZZ = 3
    MX_B_NN = 4


class TileLayout(Enum):
    """Layout of a tile, block level and inside a block."""

    none_box = 0
    row_major = 1
    col_major = 2


class PadValue(Enum):
    """What fills the lanes outside the valid region."""

    null = 0
    zero = 1
    max = 2
    min = 3


class CompactMode(Enum):
    """Compaction of a tile."""

    null = 0
    normal = 1


class ParamDirection(Enum):
    """How a function uses a parameter."""

    In = 0
    Out = 1
    InOut = 2


class ArgDirection(Enum):
    """The resolved use of an argument at one call."""

    Input = 0
    Output = 1
    InOut = 2
    OutputExisting = 3
    NoDep = 4
    Scalar = 5


class ArgEffect(Enum):
    """What an operator does to an argument."""

    Read = 0
    Write = 1
    ReadWrite = 2


class WriteChannel(Enum):
    """By which engine an operator writes global memory."""

    Dma = 0
    Scalar = 1


class InlineLanguage(Enum):
    """The language of a verbatim statement."""

    Python = 0


class SplitMode(IntEnum):
    """How a tile is split over two vector cores."""

    NONE = 0
    UP_DOWN = 1
    LEFT_RIGHT = 2


class PipeType(IntEnum):
    """The engines of a core."""

    MTE1 = 0
    MTE2 = 1
    MTE3 = 2
    M = 3
    V = 4
    S = 5
    FIX = 6
    ALL = 7


class CoreType(IntEnum):
    """Vector or cube core."""

    VECTOR = 0
    CUBE = 1


class NotifyOp(IntEnum):
    """What a notify does to the signal cell."""

    AtomicAdd = 0
    Set = 1


class WaitCmp(IntEnum):
    """What a wait compares with."""

    Eq = 0
    Ge = 1


class AtomicType(IntEnum):
    """How a store combines with what is there."""

    None_ = 0
    Add = 1


class ReduceOp(IntEnum):
    """The operation of a reduction between ranks."""

    Sum = 0
    Max = 1
    Min = 2
    Prod = 3


DISTRIBUTED_ENUMS = (NotifyOp, WaitCmp, ReduceOp)
"""The enumerations that programs write as ``pld.<name>``."""


class CastMode(IntEnum):
    """Rounding of a cast."""

    none = 0
    rint = 1
    round = 2
    floor = 3
    ceil = 4
    trunc = 5
    odd = 6


class MaskPattern(IntEnum):
    """Which elements of each two or four a masked gather takes; the rightmost digit stands for the first element."""

    P0101 = 1
    P1010 = 2
    P0001 = 3
    P0010 = 4
    P0100 = 5
    P1000 = 6
    P1111 = 7


class CompareResult(IntFlag):
    """What is known of the order of two integers; the numbers are fixed, and combine as sets of less, equal, greater."""

    kInconsistent = 0
    kEQ = 1
    kLT = 2
    kLE = 3
    kGT = 4
    kGE = 5
    kNE = 6
    kUnknown = 7


Mem = MemorySpace

STORED_AS_INT: tuple[type[IntEnum], ...] = (
    PipeType,
    CoreType,
    SplitMode,
    NotifyOp,
    WaitCmp,
    AtomicType,
    ReduceOp,
    CastMode,
    MaskPattern,
)
"""Enumerations whose members are stored in keywords and attributes as plain numbers."""

LINQU_LEVEL: dict[Level, int] = {
    Level.AIV: 0,
    Level.AIC: 0,
    Level.CORE_GROUP: 0,
    Level.CHIP_DIE: 1,
    Level.CHIP: 2,
    Level.HOST: 3,
    Level.CLUSTER_0: 4,
    Level.CLUSTER_1: 5,
    Level.CLUSTER_2: 6,
    Level.GLOBAL: 7,
}


def level_to_linqu_level(level: Level) -> int:
    """The 0..7 numbering of levels; 3 and above is host and beyond."""
    return LINQU_LEVEL[level]


def is_incore_type(function_type: FunctionType) -> bool:
    """True for the kinds of function that run on a core."""
    return function_type in (FunctionType.InCore, FunctionType.AIC, FunctionType.AIV)


IMPLIED_PLACE: dict[FunctionType, tuple[Level, Role]] = {
    FunctionType.Orchestration: (Level.CHIP, Role.Orchestrator),
    FunctionType.Graph: (Level.CHIP, Role.Orchestrator),
    FunctionType.InCore: (Level.CHIP_DIE, Role.SubWorker),
    FunctionType.AIC: (Level.AIC, Role.SubWorker),
    FunctionType.AIV: (Level.AIV, Role.SubWorker),
    FunctionType.Group: (Level.CORE_GROUP, Role.SubWorker),
}
"""Level and role that a function type implies; the other types imply none."""

ARG_DIRECTION_NAMES: dict[ArgDirection, str] = {
    ArgDirection.Input: "input",
    ArgDirection.Output: "output",
    ArgDirection.InOut: "inout",
    ArgDirection.OutputExisting: "output_existing",
    ArgDirection.NoDep: "no_dep",
    ArgDirection.Scalar: "scalar",
}
"""Spelling of argument directions after ``pl.adir.``."""
