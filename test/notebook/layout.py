"""Writes random values with IPython and with pretty.py, and fails if the texts differ.

    python layout.py PRETTY COUNT"""

import collections
import dataclasses
import datetime
import decimal
import enum
import os
import random
import re
import runpy
import sys
import types

from IPython.core.formatters import PlainTextFormatter

LIMIT = 1 << 30


class Plain:
    pass


class Lines:
    def __repr__(self):
        return "first line\nsecond " + "y" * 20 + "\nthird"


class Tree:
    def _repr_pretty_(self, p, cycle):
        with p.group(2, "Tree(", ")"):
            p.text("a")
            p.breakable()
            p.pretty(list(range(5)))
            p.text(",")
            p.breakable("")
            with p.indent(1):
                p.break_()
                p.text("b")


class List(list):
    pass


class Colour(enum.Enum):
    RED = 1


class Wrong(Exception):
    pass


@dataclasses.dataclass
class Order:
    price: int
    parts: list


Pair = collections.namedtuple("Pair", "left right")


def function(a, b=2, *c, d, **e):
    pass


def leaf(some):
    return some.choice((
        some.randrange(10 ** some.randrange(1, 30)), "x" * some.randrange(40), some.random(), None, 1j, ..., b"abc", range(5), slice(1, 2),
        PLAIN, Lines(), Tree(), function, len, Plain, int, Colour, Colour.RED, Order, Pair, decimal.Decimal("1.5"), datetime.datetime(2020, 1, 1),
        re.compile(r"a\d\n", some.choice((0, re.I, re.I | re.M))), set(range(some.randrange(40))), frozenset(["a", 1, None]), super(Plain, PLAIN),
        collections.Counter("abracadabra"), collections.OrderedDict(), ValueError(), KeyError, os.path.join, PLAIN.__init__,
    ))  # fmt: skip


def tree(some, depth):
    if depth == 0 or some.random() < 0.3:
        return leaf(some)
    inner = [tree(some, depth - 1) for _ in range(some.randrange(9))]
    named = {some.choice(("key %d" % i, i, (i, "t"))): value for i, value in enumerate(inner)}
    cyclic = inner[:2]
    cyclic.append(cyclic)
    return some.choice((
        inner, inner, tuple(inner), named, named, cyclic, List(inner), collections.deque(inner, some.choice((None, 50))),
        collections.UserList(inner), collections.OrderedDict(named), collections.defaultdict(list, named), types.MappingProxyType(named),
        types.SimpleNamespace(a=inner, bc=named), Wrong(*inner), Order(5, inner), Pair(inner, 1),
    ))  # fmt: skip


PLAIN = Plain()
mine, theirs = runpy.run_path(sys.argv[1])["pretty"], PlainTextFormatter()
some = random.Random(1)
values = [tree(some, 4) for _ in range(int(sys.argv[2]))]
values += [list(range(2000)), set(range(2000)), dict.fromkeys(range(2000)), (), (1,), [[]] * 500, "é" * 200, os.environ]
for value in values:
    want, (text, whole) = theirs(value), mine(value, LIMIT)
    if text != want or not whole:
        sys.exit("IPython writes\n%s\nand we\n%s" % (want, text))
