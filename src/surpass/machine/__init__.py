"""The language: features, instructions, packing, the call stack and traces."""

from surpass.machine.calls import NO_RECEIVER, enter, leave
from surpass.machine.dispatch import compare
from surpass.machine.features import (
    PREVIOUS_ACTION,
    Comparison,
    CurrentFunction,
    Feature,
    PreviousAction,
    Value,
    comparison,
    flag,
    value,
)
from surpass.machine.instructions import STEPS, Action, Instruction, Operand, binary, integer, pointer, variable
from surpass.machine.interface import Decision, Interface, Slot
from surpass.machine.kernel import kernel
from surpass.machine.state import (
    DEPTH,
    FUNCTION,
    PREVIOUS,
    RUNNING,
    SCORE,
    SIZE,
    SOLVED,
    WRONG,
    Outcome,
    State,
    registers,
)

__all__ = [
    "DEPTH",
    "FUNCTION",
    "NO_RECEIVER",
    "PREVIOUS",
    "PREVIOUS_ACTION",
    "RUNNING",
    "SCORE",
    "SIZE",
    "SOLVED",
    "STEPS",
    "WRONG",
    "Action",
    "Comparison",
    "CurrentFunction",
    "Decision",
    "Feature",
    "Instruction",
    "Interface",
    "Operand",
    "Outcome",
    "PreviousAction",
    "Slot",
    "State",
    "Value",
    "binary",
    "compare",
    "comparison",
    "enter",
    "flag",
    "integer",
    "kernel",
    "leave",
    "pointer",
    "registers",
    "value",
    "variable",
]
