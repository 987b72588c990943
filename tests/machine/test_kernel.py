"""Kernels are compiled for those that call them: for other compiled functions without a way in from Python."""

from __future__ import annotations

import pickle

import numba
import numpy as np
import pytest

from surpass.machine.kernel import Inner, kernel


@kernel
def add_to_first(values: np.ndarray, more: int) -> int:
    values[0] += more
    return int(values[0])


@numba.njit
def add_twice(values: np.ndarray) -> int:
    return add_to_first(values, 1) + add_to_first(values, more=2)


def test_a_kernel_does_the_same_called_from_compiled_code_and_from_python() -> None:
    compiled, called, plain = np.zeros(2, np.int64), np.zeros(2, np.int64), np.zeros(2, np.int64)
    assert isinstance(add_to_first, Inner)
    assert add_twice(compiled) == add_to_first(called, 1) + add_to_first(called, more=2) == add_twice.py_func(plain)
    assert compiled.tolist() == called.tolist() == plain.tolist() == [3, 0]


def test_only_a_call_from_python_compiles_a_way_in() -> None:
    @kernel
    def double(x: int) -> int:
        return 2 * x

    @numba.njit
    def call(x: int) -> int:
        return double(x) + 1

    assert isinstance(double, Inner)
    assert call(4) == 9
    (without,) = double.overloads.values()
    assert not without.library.get_pointer_to_function(without.fndesc.llvm_cpython_wrapper_name)
    assert double(4) == 8
    (with_one,) = double._with_a_way_in.overloads.values()
    assert with_one.library.get_pointer_to_function(with_one.fndesc.llvm_cpython_wrapper_name)


def test_a_kernel_can_be_sent_to_another_process() -> None:
    sent = pickle.loads(pickle.dumps(add_to_first))
    assert isinstance(sent, Inner)
    assert sent(np.array([4]), 3) == 7


@pytest.mark.parametrize("thing", [len, 3, add_to_first])
def test_only_a_function_can_be_a_kernel(thing: object) -> None:
    with pytest.raises(TypeError):
        kernel(thing)  # type: ignore[arg-type]
