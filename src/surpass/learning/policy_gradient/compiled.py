"""The policy gradient's loops as a template of the engine, with the types of their arguments."""

from __future__ import annotations

from surpass.engine import chance
from surpass.engine.specialise import Template
from surpass.engine.types import record_of, types_of
from surpass.learning.policy_gradient import arrays, forward, kernels
from surpass.learning.policy_gradient.arrays import DecisionPlan, Pool, Record, Sums, Tree

_RECORDS = {
    "tree": record_of(Tree, "i2 i1 i1 i2 i1 i1 i1 i2 i i1 i i1 i i1 i1 s1 i1 i1 i1 i1 i"),
    "plan": record_of(DecisionPlan, "i1 i1 i1 i1 i1 i1 i1 i2 f2 f2 s3"),
    "pool": record_of(Pool, "i1 i2 f2 i1"),
    "record": record_of(Record, "i2 i2 f2 i2 i2 i2 i1 i1 i1 i1 i1 i1"),
    "sums": record_of(Sums, "f2 f1 f1 f1"),
}
_LOOPS = {
    "sample": "batch tree s2 plan pool i2 i1 record i i",
    "tabulate": "tree s2",
    "absorb": "plan plan i1",
    "adopt": "tree s2 plan i1 i1 i1",
    "follow": "tree s2 plan i1 i1 i1",
    "accumulate": "tree plan record f1 f2 f1 sums i i",
    "lose": "tree plan sums i1 f1",
    "slope": "tree plan sums i1 f1 i1 s2 s3",
    "spread": "tree plan i1 s2 s2 s2",
}
TEMPLATE = Template(
    kernels,
    {name: types_of(words, **_RECORDS) for name, words in _LOOPS.items()},
    (arrays, chance, forward),
    general=frozenset({"tabulate", "absorb", "accumulate", "lose", "slope"}),
)
