"""The language: features, instructions, packing, the call stack and traces."""

from surpass.machine.features import PREVIOUS_ACTION, Feature, PreviousAction, comparison, flag
from surpass.machine.instructions import STEPS, Action, Instruction, Operand, binary, integer, pointer, variables
from surpass.machine.interface import Decision, Interface, Slot
from surpass.machine.kernel import kernel
from surpass.machine.state import Outcome, State

__all__ = [
    "PREVIOUS_ACTION",
    "STEPS",
    "Action",
    "Decision",
    "Feature",
    "Instruction",
    "Interface",
    "Operand",
    "Outcome",
    "PreviousAction",
    "Slot",
    "State",
    "binary",
    "comparison",
    "flag",
    "integer",
    "kernel",
    "pointer",
    "variables",
]
