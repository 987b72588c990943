"""Kernels for the engine, made of those of an interface's features and instructions: one sees, one acts, one hints.

They are written as text and compiled with everything inlined, so that a declaration in small pieces costs no speed.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable, Sequence
from typing import Any

from surpass.machine.features import SIGNS, Comparison, CurrentFunction, Feature, PreviousAction, Value
from surpass.machine.instructions import Instruction
from surpass.machine.kernel import kernel
from surpass.machine.state import FUNCTION, PREVIOUS


@kernel
def compare(a: float, b: float) -> int:
    """Return 0, 1 or 2 as `a` is less than, equal to or greater than `b`."""
    return (a >= b) * 1 + (a > b) * 1


class _Writer:
    """Writes the text of a kernel, and gives names to the kernels that it calls."""

    def __init__(self) -> None:
        self.names: dict[str, Any] = {"compare": compare}
        self._name_of: dict[int, str] = {id(compare): "compare"}

    def call(self, function: Any, arguments: Sequence[object]) -> str:
        """Return the call of a kernel with the state and some arguments."""
        if id(function) not in self._name_of:
            name = getattr(function, "__name__", "kernel")
            name = name if name.isidentifier() else "kernel"  # one made of a lambda has no plain name
            while name in self.names:
                name += "_"
            self._name_of[id(function)], self.names[name] = name, function
        return f"{self._name_of[id(function)]}({', '.join(['state', *map(str, arguments)])})"

    def read(self, value: Value) -> str:
        """Return the call that reads a value."""
        return self.call(value.kernel, value.arguments)

    def see(self, feature: Feature | PreviousAction) -> str:
        """Return the number of a feature's value."""
        if isinstance(feature, PreviousAction):
            return f"state.registers[{PREVIOUS}]"
        if isinstance(feature, CurrentFunction):
            return f"state.registers[{FUNCTION}]"
        if not isinstance(feature, Comparison):
            return f"{self.call(feature.kernel, feature.arguments)} * 1"
        compared = f"compare({self.read(feature.left)}, {self.read(feature.right)})"
        seen = _renumber([feature.number(sign) for sign in SIGNS], compared)
        if feature.edge is None:
            return seen
        return f"{feature.edge_number} if {self.read(feature.edge)} else {seen}"

    def finish(self, name: str, label: str, body: str) -> Callable[..., Any]:
        """Return the kernel of a text; the text can be looked up like that of a file."""
        file = f"<{name} of {label}>"
        linecache.cache[file] = (len(body), None, body.splitlines(keepends=True), file)
        exec(compile(body, file, "exec"), self.names)  # text made of the declaration's numbers and kernels' names only
        return kernel(self.names[name])


def join_features(features: Sequence[Feature | PreviousAction], label: str) -> Callable[..., Any]:
    """Return the kernel `observe(state)` that gives the value number of each feature."""
    writer = _Writer()
    seen = "\n".join(f"        {writer.see(feature)}," for feature in features)
    body = f'def observe(state):\n    """Return the value numbers of the features."""\n    return (\n{seen}\n    )\n'
    return writer.finish("observe", label, body)


def join_values(values: Sequence[Value], label: str) -> Callable[..., Any]:
    """Return the kernel `hints(state)` that gives values as real numbers."""
    writer = _Writer()
    read = ", ".join(f"float({writer.read(value)} * 1)" for value in values)
    body = f'def hints(state):\n    """Return the hints."""\n    return ({read},)\n'
    return writer.finish("hints", label, body)


def join_instructions(instructions: Sequence[Instruction], label: str) -> Callable[..., Any]:
    """Return the kernel `act(state, instruction, operands)` that executes an action, given by its indices."""
    writer = _Writer()
    body = ["def act(state, instruction, operands):", '    """Execute an action in place."""']
    for number, instruction in enumerate(instructions):
        # A kernel receives the number of each operand's value; a pointer is passed unchanged.
        codes = [_renumber(o.codes or (0, 1), f"operands[{k}]") for k, o in enumerate(instruction.operands)]
        if number < len(instructions) - 1:
            body.append(f"    if instruction == {number}:")
        indent = "    " if number == len(instructions) - 1 else "        "
        body.append(f"{indent}return {writer.call(instruction.does, codes)}")
    return writer.finish("act", label, "\n".join(body) + "\n")


def _renumber(numbers: Sequence[int], text: str) -> str:
    """Return the number that stands at an index: reckoned where the numbers are evenly spaced, else looked up."""
    step = numbers[1] - numbers[0] if len(numbers) > 1 else 0
    if list(numbers) != [numbers[0] + step * k for k in range(len(numbers))]:
        return f"({', '.join(map(str, numbers))})[{text}]"
    if step == 0:
        return str(numbers[0])
    scaled = {1: text, -1: f"-{text}"}.get(step, f"{step} * {text}")
    return scaled if numbers[0] == 0 else f"{scaled} + {numbers[0]}"
