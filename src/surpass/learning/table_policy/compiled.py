"""The loops of mirror descent as a template of the engine, with the types of their arguments."""

from __future__ import annotations

from surpass.engine import chance
from surpass.engine.specialise import Template
from surpass.engine.types import record_of, types_of
from surpass.learning.table_policy import arrays, kernels
from surpass.learning.table_policy.arrays import Choices, Critic, Odds, RowSums, StepRecord, Trials

_RECORDS = {
    "choices": record_of(Choices, "i2 i1 i1 i2"),
    "odds": record_of(Odds, "i1 i1 i2 f2"),
    "record": record_of(StepRecord, "i1 i1 n1 n1 s1 s2"),
    "trials": record_of(Trials, "n1 n1 n1 n1 s1 s2"),
    "critic": record_of(Critic, "f1 f1 f2 f1 f1"),
    "sums": record_of(RowSums, "f1 f2 f2 f2 f2 f1 f1 f2 f2 f1"),
}
TEMPLATE = Template(
    kernels,
    {
        "sample": types_of("batch choices odds i2 i1 record trials f batch i i i i1", **_RECORDS),
        "sum_up": types_of("batch choices odds record trials critic f1 i1 sums i i", **_RECORDS),
    },
    (arrays, chance),
    general=frozenset({"sum_up"}),
)
