"""A thin layer over llvmlite's IR builder: loops, array elements and vectors of any width.

Pointers are opaque: every load, store and address computation names its element type.
Floating-point operations are neither reordered nor contracted, so the bits of a result do not
depend on the processor.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from llvmlite import ir

INT64, INT32, BYTE = ir.IntType(64), ir.IntType(32), ir.IntType(8)
POINTER, VOID = ir.PointerType(), ir.VoidType()
NUMBERS = {"float32": ir.FloatType(), "float64": ir.DoubleType()}
INDICES = {"int32": INT32, "int64": INT64}

CACHE_LINE = 64


@dataclass(frozen=True)
class CodeBuilder:
    """Builds the body of one function. Values and types are LLVM's, not numbers."""

    function: Any
    builder: Any

    @classmethod
    def begin_function(
        cls, module: Any, name: str, parameters: dict[str, Any], *, internal: bool = False
    ) -> CodeBuilder:
        """Add a function without a result to a module; `end_function` completes it.

        An internal function can be called within the module only. It is not inlined: its callers
        are loops over rows, in which a call costs little, and code would be generated for each.
        """
        kind = ir.FunctionType(VOID, list(parameters.values()))
        function = ir.Function(module, kind, name)
        if internal:
            function.linkage = "internal"
            function.attributes.add("noinline")
        for argument, argument_name in zip(function.args, parameters, strict=True):
            argument.name = argument_name
        return cls(function, ir.IRBuilder(function.append_basic_block("entry")))

    def end_function(self) -> Any:
        """Return from the function, and return it."""
        self.builder.ret_void()
        return self.function

    @property
    def arguments(self) -> Sequence[Any]:
        """The function's arguments in order."""
        arguments: Sequence[Any] = self.function.args
        return arguments

    @contextmanager
    def loop(self, start: Any, stop: Any, step: int = 1) -> Iterator[Any]:
        """Loop over a range of int64, from `start` up to but not including `stop`."""
        build = self.builder
        counter = self.variable(INT64, start)
        test, body, end = (build.append_basic_block(name) for name in ("test", "body", "end"))
        build.branch(test)
        build.position_at_end(test)
        value = build.load(counter, typ=INT64)
        build.cbranch(build.icmp_signed("<", value, stop), body, end)
        build.position_at_end(body)
        yield value
        build.store(build.add(value, int64(step)), counter)
        build.branch(test)
        build.position_at_end(end)

    @contextmanager
    def blocks(self, start: Any, stop: Any, size: int) -> Iterator[tuple[Any, Any]]:
        """Loop over a range by blocks of `size`: the start and stop of each."""
        with self.loop(start, stop, size) as first:
            yield first, self.minimum(self.builder.add(first, int64(size)), stop)

    def variable(self, kind: Any, value: Any) -> Any:
        """A variable on the stack, which LLVM promotes to registers."""
        with self.builder.goto_entry_block():
            address = self.builder.alloca(kind)
        self.builder.store(value, address)
        return address

    def element(self, base: Any, kind: Any, offset: Any) -> Any:
        """Address of an element of an array."""
        return self.builder.gep(base, [offset], source_etype=kind)

    def load(self, base: Any, kind: Any, offset: Any) -> Any:
        """An element of an array."""
        return self.builder.load(self.element(base, kind, offset), typ=kind)

    def load_index(self, base: Any, kind: Any, offset: Any) -> Any:
        """An integer of an array, as int64."""
        value = self.load(base, kind, offset)
        return value if value.type == INT64 else self.builder.sext(value, INT64)

    def store(self, value: Any, base: Any, kind: Any, offset: Any) -> None:
        """Set an element of an array."""
        self.builder.store(value, self.element(base, kind, offset))

    def load_vector(self, address: Any, kind: Any, lanes: int, align: int | None = None) -> Any:
        """A vector at an address; without `align`, at one that the compiler aligned."""
        return self.builder.load(address, align=align, typ=ir.VectorType(kind, lanes))

    def broadcast(self, value: Any, lanes: int) -> Any:
        """A vector with `value` in all lanes."""
        undefined = ir.Constant(ir.VectorType(value.type, lanes), ir.Undefined)
        single = self.builder.insert_element(undefined, value, int32(0))
        mask = ir.Constant(ir.VectorType(INT32, lanes), [0] * lanes)
        return self.builder.shuffle_vector(single, undefined, mask)

    def minimum(self, a: Any, b: Any) -> Any:
        """The smaller of two integers."""
        return self.builder.select(self.builder.icmp_signed("<", a, b), a, b)

    def is_zero(self, number: Any) -> Any:
        """Whether a floating-point number is zero."""
        return self.builder.fcmp_ordered("==", number, ir.Constant(number.type, 0.0))

    def prefetch(self, address: Any, size: int) -> None:
        """Prefetch bytes to the second-level cache. An invalid address is no error."""
        kind = ir.FunctionType(VOID, [POINTER, INT32, INT32, INT32])
        prefetch = self.builder.module.declare_intrinsic("llvm.prefetch", [POINTER], kind)
        read, locality, data_cache = int32(0), int32(2), int32(1)
        for offset in range(0, size, CACHE_LINE):
            line = self.element(address, BYTE, int64(offset))
            self.builder.call(prefetch, [line, read, locality, data_cache])


def int64(value: int) -> Any:
    """A constant."""
    return ir.Constant(INT64, value)


def int32(value: int) -> Any:
    """A constant."""
    return ir.Constant(INT32, value)
