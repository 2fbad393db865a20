"""Compile generated LLVM modules for this processor, as functions that release the GIL."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm

# LLVM's optimisation level, as of clang -O3.
OPTIMISATION = 3

_C_TYPES = {"ptr": ctypes.c_void_p, "i64": ctypes.c_int64, "float": ctypes.c_float,
            "double": ctypes.c_double}  # fmt: skip
_COMPILING = threading.Lock()


def compile_function(module: Any) -> Callable[..., None]:
    """Compile a module and return its only external function.

    It takes addresses of arrays, integers and floats, returns nothing and releases the GIL. It is
    compiled anew in every process: that takes a tenth of a second, and a cache on disk would need
    a writable folder and to know when it is out of date.
    """
    (function,) = (
        function
        for function in module.functions
        if function.blocks and function.linkage != "internal"
    )
    with _COMPILING:
        engine = _compile(str(module))
        address = engine.get_function_address(function.name)
    types = [_C_TYPES[str(argument.type)] for argument in function.args]
    compiled = ctypes.CFUNCTYPE(None, *types)(address)
    compiled.engine = engine  # type: ignore[attr-defined]  # keeps the machine code alive
    return compiled


def _compile(assembly: str) -> Any:
    machine = _target_machine()
    parsed = llvm.parse_assembly(assembly)
    parsed.verify()
    tuning = llvm.create_pipeline_tuning_options(speed_level=OPTIMISATION)
    tuning.loop_vectorization = True
    passes = llvm.create_pass_builder(machine, tuning)
    passes.getModulePassManager().run(parsed, passes)
    engine = llvm.create_mcjit_compiler(parsed, machine)
    engine.finalize_object()
    return engine


def _target_machine() -> Any:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_triple(llvm.get_process_triple())
    return target.create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=llvm.get_host_cpu_features().flatten(),
        opt=OPTIMISATION,
        codemodel="jitdefault",
        jit=True,
    )
