"""Writes values as IPython does: text that is too long for a line is broken at brackets, sets
are sorted, and classes and functions have full names. kernel.py reads this at the first
value for which repr does not suffice."""

import collections
import contextlib
import os
import re
import types

WIDTH = 79  # characters of a line
MOST = 1000  # items of one collection


class Enough(Exception):
    """The text has reached its limit."""


class Group:
    """A part of the text whose breaks are used all together or not at all."""

    def __init__(self, depth):
        self.depth, self.breaks, self.broken = depth, 0, False


class Break:
    """A possible end of a line."""

    def __init__(self, sep, indentation, group):
        self.sep, self.indentation, self.group = sep, indentation, group


class Printer:
    """The printer that a _repr_pretty_ method gets. It holds text back until it knows whether
    the text fits in the line; if not, it breaks the outermost group first."""

    def __init__(self, limit):
        self.limit = limit
        self.written, self.length, self.column = [], 0, 0
        self.held, self.width = collections.deque(), 0
        self.groups = [Group(0)]
        self.open = [[self.groups[0]]]  # groups that can still be broken, by depth
        self.indentation = 0
        self.max_seq_length, self.verbose, self.max_width = MOST, False, WIDTH
        self.stack = []

    def write(self, text):
        self.written.append(text)
        self.length += len(text)
        if self.length > self.limit:
            raise Enough

    def newline(self, indentation):
        self.write("\n" + " " * indentation)
        self.column = indentation

    def text(self, text):
        if not self.held:
            self.write(text)
            self.column += len(text)
            return
        self.hold(text, len(text))

    def breakable(self, sep=" "):
        group = self.groups[-1]
        if group.broken:
            self.flush()
            self.newline(self.indentation)
            return
        group.breaks += 1
        self.hold(Break(sep, self.indentation, group), len(sep))

    def break_(self):
        group = self.outermost()
        if group:
            self.release(group)
        self.flush()
        self.newline(self.indentation)

    def hold(self, item, width):
        self.held.append(item)
        self.width += width
        while self.column + self.width > WIDTH:
            group = self.outermost()
            if group is None:
                return
            self.release(group)

    def outermost(self):
        """Marks the outermost group with a break as broken and returns it."""
        for groups in self.open:
            for place, group in enumerate(reversed(groups)):
                if group.breaks:
                    del groups[place]  # counted from the wrong end like IPython, for the same lines
                    group.broken = True
                    return group
            for group in groups:
                group.broken = True
            groups.clear()
        return None

    def release(self, group):
        """Writes the held text up to the group's last break, and the text after it."""
        while group.breaks:
            self.put(self.held.popleft())
        while self.held and isinstance(self.held[0], str):
            self.put(self.held.popleft())

    def flush(self):
        while self.held:
            self.put(self.held.popleft())

    def put(self, item):
        if isinstance(item, str):
            self.width -= len(item)
            self.write(item)
            self.column += len(item)
            return
        self.width -= len(item.sep)
        item.group.breaks -= 1
        if item.group.broken:
            self.newline(item.indentation)
            return
        if not item.group.breaks:
            self.shut(item.group)
        self.write(item.sep)
        self.column += len(item.sep)

    def shut(self, group):
        if group in self.open[group.depth]:
            self.open[group.depth].remove(group)

    def begin_group(self, indent=0, open=""):
        if open:
            self.text(open)
        group = Group(self.groups[-1].depth + 1)
        self.groups.append(group)
        while len(self.open) <= group.depth:
            self.open.append([])
        self.open[group.depth].append(group)
        self.indentation += indent

    def end_group(self, dedent=0, close=""):
        self.indentation -= dedent
        group = self.groups.pop()
        if not group.breaks:
            self.shut(group)
        if close:
            self.text(close)

    @contextlib.contextmanager
    def group(self, indent=0, open="", close=""):
        self.begin_group(indent, open)
        try:
            yield
        finally:
            self.end_group(indent, close)

    @contextlib.contextmanager
    def indent(self, indent):
        self.indentation += indent
        try:
            yield
        finally:
            self.indentation -= indent

    def pretty(self, value):
        cycle = id(value) in self.stack
        self.stack.append(id(value))
        self.begin_group()
        try:
            how(value)(value, self, cycle)
        finally:
            self.end_group()
            self.stack.pop()


def how(value):
    """The function that writes the value, from the first of its classes that has one."""
    for cls in type(value).__mro__:
        if NAMED:
            named = NAMED.pop((cls.__module__, cls.__name__), None)
            if named is not None:
                KNOWN[cls] = named
        known = KNOWN.get(cls)
        if known is not None:
            return known
        if callable(cls.__dict__.get("_repr_pretty_")):
            return cls._repr_pretty_
        if cls is not object and "__repr__" in cls.__dict__:
            return by_repr
    return by_address


def by_repr(value, p, cycle):
    with p.group():
        for number, line in enumerate(repr(value).splitlines()):
            if number:
                p.break_()
            p.text(line)


def by_address(value, p, cycle):
    with p.group(1, "<", ">"):
        p.pretty(type(value))
        p.text(" at 0x%x" % id(value))
        if cycle:
            p.text(" ...")


def items(values, p, write):
    """Writes items with commas, after which lines may end."""
    for number, value in enumerate(values):
        if number:
            p.text(",")
            p.breakable()
        if number >= MOST:
            p.text("...")
            return
        write(value)


def sequence(start, end):
    def write(value, p, cycle):
        if cycle:
            p.text(start + "..." + end)
            return
        with p.group(len(start), start, ""):
            items(value, p, p.pretty)
            if len(value) == 1 and isinstance(value, tuple):
                p.text(",")
        p.text(end)

    return write


def collection(start, end):
    bracketed = sequence(start, end)

    def write(value, p, cycle):
        if cycle or len(value):
            bracketed(value if cycle else ordered(value), p, cycle)
        else:
            p.text(type(value).__name__ + "()")

    return write


def ordered(values):
    if len(values) >= MOST:
        return list(values)
    try:
        return sorted(values)
    except Exception:
        pass
    try:
        return sorted(values, key=str)
    except Exception:
        return list(values)


def mapping(start, end):
    def write(value, p, cycle):
        if cycle:
            p.text("{...}")
            return

        def pair(key):
            p.pretty(key)
            p.text(": ")
            p.pretty(value[key])

        with p.group(len(start), start, ""):
            items(value.keys(), p, pair)
        p.text(end)

    return write


class Raw:
    """Text that is written without quotes in place of a value."""

    def __init__(self, text):
        self.text = text

    def _repr_pretty_(self, p, cycle):
        p.text(self.text)


def call(p, name, *args, **named):
    """Writes a call of the name."""

    def argument(pair):
        if pair[0] is None:
            p.pretty(pair[1])
            return
        with p.group(len(pair[0]) + 1, pair[0] + "="):
            p.pretty(pair[1])

    with p.group(len(name) + 1, name + "(", ")"):
        items([(None, arg) for arg in args] + list(named.items()), p, argument)


def constructor(arguments):
    """The function for a class whose values are written as constructor calls."""

    def write(value, p, cycle):
        args, named = ((Raw("..."),), {}) if cycle else arguments(value)
        with p.group():
            call(p, type(value).__name__, *args, **named)

    return write


def error(value, p, cycle):
    with p.group():
        call(p, full_name(type(value)), *value.args)


def full_name(thing):
    module = getattr(thing, "__module__", None)
    name = getattr(thing, "__qualname__", None) or thing.__name__
    return name if module in (None, "builtins") else "%s.%s" % (module, name)


def kind(value, p, cycle):
    """Writes a class, unless its metaclass has an own repr."""
    if next(cls for cls in type(value).__mro__ if "__repr__" in cls.__dict__) is not type:
        by_repr(value, p, cycle)
    else:
        p.text(full_name(value))


def function(value, p, cycle):
    import inspect  # slower to import than all other modules here

    name = full_name(value)
    try:
        name += str(inspect.signature(value))
    except (TypeError, ValueError):
        pass
    p.text("<function %s>" % name)


def pattern(value, p, cycle):
    flags = [f for f in ("IGNORECASE", "LOCALE", "MULTILINE", "DOTALL", "UNICODE", "VERBOSE", "DEBUG") if value.flags & getattr(re, f)]
    text = Raw("r" + repr(value.pattern).replace("\\\\", "\\"))
    with p.group():
        call(p, "re.compile", text, *([Raw("|".join("re." + flag for flag in flags))] if value.flags else []))


def namespace(value, p, cycle):
    with p.group():
        if cycle:
            call(p, "namespace", Raw("..."))
        else:
            call(p, "namespace", **value.__dict__)


def parent(value, p, cycle):
    with p.group(8, "<super: "):
        p.pretty(value.__thisclass__)
        p.text(",")
        p.breakable()
        p.pretty(value.__self__)
    p.text(">")


KNOWN = {
    tuple: sequence("(", ")"),
    list: sequence("[", "]"),
    dict: mapping("{", "}"),
    set: collection("{", "}"),
    frozenset: collection("frozenset({", "})"),
    type(os.environ): mapping("environ{", "}"),
    types.MappingProxyType: mapping("mappingproxy({", "})"),
    super: parent,
    re.Pattern: pattern,
    type: kind,
    types.FunctionType: function,
    types.BuiltinFunctionType: function,
    types.SimpleNamespace: namespace,
    BaseException: error,
    collections.defaultdict: constructor(lambda v: ((v.default_factory, dict(v)), {})),
    collections.OrderedDict: constructor(lambda v: ((list(v.items()),) if v else (), {})),
    collections.deque: constructor(lambda v: ((list(v),), {} if v.maxlen is None else {"maxlen": v.maxlen})),
    collections.Counter: constructor(lambda v: ((dict(v.most_common()),) if v else (), {})),
    collections.UserList: constructor(lambda v: ((v.data,), {})),
}
NAMED = {}  # functions for classes that were not imported when registered, by module and name


def pretty(value, limit):
    """The value as text of at most limit characters, and whether that is all of it."""
    p, whole = Printer(limit), True
    try:
        p.pretty(value)
        p.flush()
    except Enough:
        whole = False
    return "".join(p.written)[:limit], whole


def furnish(module, limit, for_type):
    """Fills the stand-in for IPython.lib.pretty."""
    module.pretty = lambda obj, *ignored, **options: pretty(obj, limit)[0]
    module.pprint = lambda obj, *ignored, **options: print(pretty(obj, limit)[0])
    module.PrettyPrinter = module.RepresentationPrinter = Printer
    module.for_type = for_type
