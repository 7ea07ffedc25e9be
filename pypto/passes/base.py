"""What a pass is: a named function from program to program with declared properties, whose dataclass fields are its options."""

from __future__ import annotations

import dataclasses
import gc
import inspect
from collections.abc import Callable
from typing import Any, ClassVar

from pypto.diagnostics import Error, InternalError, InvalidTypeError
from pypto.ir.function import Function, Program
from pypto.passes.context import PassContext
from pypto.passes.properties import IRProperty, IRPropertySet, PassProperties


class Pass:
    """Base of passes. Subclass it as a small frozen dataclass, state the properties, and write :meth:`transform`.

    Calling a pass runs the instruments of the context in force around it. An :class:`~pypto.diagnostics.Error` that leaves it says
    in a note which pass it came from. The name is the class name unless ``NAME`` says otherwise.
    """

    NAME: ClassVar[str] = ""
    REQUIRED: ClassVar[tuple[IRProperty, ...]] = ()
    PRODUCED: ClassVar[tuple[IRProperty, ...]] = ()
    INVALIDATED: ClassVar[tuple[IRProperty, ...]] = ()

    def transform(self, program: Program) -> Program:
        """The program after the pass; the same object when nothing changes."""
        raise InternalError(f"the pass {self.get_name()} has no transform")

    def __call__(self, program: Program) -> Program:
        """Run the pass on a program.

        Raises:
            InvalidTypeError: ``program`` is not a Program.
        """
        if not isinstance(program, Program):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidTypeError(f"the pass {self.get_name()} takes a Program, got {type(program).__name__}")
        context = PassContext.current()
        instruments = context.get_instruments() if context is not None else ()
        for instrument in instruments:
            instrument.before_pass(self, program)
        collects = gc.isenabled()
        gc.disable()  # a pass makes many nodes and frees few; looking through them again and again costs more than the work
        try:
            result = self.transform(program)
        except Error as error:
            where = f"raised by the pass {self.get_name()}"
            if error.note is None or where not in error.note:
                error.note = where if error.note is None else f"{error.note}; {where}"
            raise
        finally:
            if collects:
                gc.enable()
        for instrument in instruments:
            instrument.after_pass(self, result)
        return result

    def get_name(self) -> str:
        """The CamelCase name."""
        return self.NAME or type(self).__name__

    def get_properties(self) -> PassProperties:
        """All three property sets."""
        return PassProperties(self.get_required_properties(), self.get_produced_properties(), self.get_invalidated_properties())

    def get_required_properties(self) -> IRPropertySet:
        """What the input must have."""
        return IRPropertySet(self.REQUIRED)

    def get_produced_properties(self) -> IRPropertySet:
        """What the output has."""
        return IRPropertySet(self.PRODUCED)

    def get_invalidated_properties(self) -> IRPropertySet:
        """What the output may have lost."""
        return IRPropertySet(self.INVALIDATED)

    def get_options(self) -> dict[str, Any]:
        """The options whose value is not the default, by name."""
        if not dataclasses.is_dataclass(self):
            return {}
        options: dict[str, Any] = {}
        for option in dataclasses.fields(self):
            value = getattr(self, option.name)
            default = option.default
            if option.default_factory is not dataclasses.MISSING:
                default = option.default_factory()
            if default is dataclasses.MISSING or value != default:
                options[option.name] = value
        return options

    @classmethod
    def summary(cls) -> str:
        """The first paragraph of the documentation, as one line."""
        return " ".join((inspect.getdoc(cls) or "").split("\n\n")[0].split())

    def __str__(self) -> str:
        from pypto.passes.pipeline_text import pass_to_text

        return pass_to_text(self)


class FunctionPass(Pass):
    """Base of passes that look at one function at a time; write :meth:`transform_function`."""

    def transform_function(self, function: Function, program: Program) -> Function:
        """The function after the pass; the same object when nothing changes."""
        raise InternalError(f"the pass {self.get_name()} has no transform_function")

    def transform(self, program: Program) -> Program:
        return program.with_functions([self.transform_function(f, program) for f in program.functions.values()])


class _WrappedPass(Pass):
    """A pass made from a plain function."""

    def __init__(self, transform: Callable[[Program], Program], name: str, properties: PassProperties) -> None:
        self._transform = transform
        self._name = name
        self._properties = properties

    def transform(self, program: Program) -> Program:
        result = self._transform(program)
        if not isinstance(result, Program):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidTypeError(f"the pass {self._name} must return a Program, got {type(result).__name__}")
        return result

    def get_name(self) -> str:
        return self._name

    def get_required_properties(self) -> IRPropertySet:
        return IRPropertySet(self._properties.required)

    def get_produced_properties(self) -> IRPropertySet:
        return IRPropertySet(self._properties.produced)

    def get_invalidated_properties(self) -> IRPropertySet:
        return IRPropertySet(self._properties.invalidated)


def create_program_pass(
    transform: Callable[[Program], Program], name: str = "", properties: PassProperties | None = None
) -> Pass:
    """A pass from a function ``program -> program``; the name defaults to that of the function."""
    return _WrappedPass(transform, name or getattr(transform, "__name__", "ProgramPass"), properties or PassProperties())


def create_function_pass(
    transform: Callable[[Function], Function], name: str = "", properties: PassProperties | None = None
) -> Pass:
    """A pass from a function ``function -> function``, which is applied to every function of the program."""
    name = name or getattr(transform, "__name__", "FunctionPass")

    def run(program: Program) -> Program:
        functions: list[Function] = []
        for function in program.functions.values():
            result = transform(function)
            if not isinstance(result, Function):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise InvalidTypeError(f"the pass {name} must return a Function, got {type(result).__name__}")
            functions.append(result)
        return program.with_functions(functions)

    return _WrappedPass(run, name, properties or PassProperties())
