"""Implements magics. Read when code first uses one.

kernel.py sets the name host to itself, and shell to the module of shell.py.
"""

import gc
import os
import sys
import time

host = shell = None
LINE, CELL = {}, {}  # functions by names of magics
NO_EFFECT = {
    "alias_magic", "autoawait", "automagic", "autoreload", "autosave", "aimport", "code_wrap", "colors", "config", "doctest_mode", "gui",
    "logoff", "logon", "logstart", "logstate", "logstop", "matplotlib", "pdb", "pprint", "unload_ext", "xmode",
}  # fmt: skip
ALIASES = {
    "cat": "cat", "cp": "cp", "head": "head", "ldir": "ls -F -l | grep /$", "less": "cat", "lf": "ls -F -l | grep ^-", "ll": "ls -F -l",
    "ls": "ls -F", "lx": "ls -F -l | grep ^-..x", "man": "man", "mkdir": "mkdir", "more": "cat", "mv": "mv", "rm": "rm", "rmdir": "rmdir",
    "tail": "tail",
}  # fmt: skip
PROGRAMS = "bash", "node", "perl", "pypy", "python", "python2", "python3", "ruby", "sh"
NOT_SUPPORTED = {
    "store": "write the value to a file in the session",
    "load": "read the file and send its text as code, or use %run",
    "edit": "write a file and use %run",
    "notebook": "keep the code that you send",
    "recall": "there is no next cell to fill; %rerun runs earlier cells",
    "rep": "there is no next cell to fill; %rerun runs earlier cells",
    "bookmark": "keep the directory in a variable and use %cd $variable",
}
EXTENSIONS = {"autoreload", "storemagic", "tensorboard"}
WITH_IPYTHON = 'with IPython in the template (dependencies = { python = ["ipython"] }) all of IPython is there'
UNITS = ("s", 1), ("ms", 1e3), ("μs", 1e6), ("ns", 1e9)
LEAST = 0.2  # seconds that a run of %timeit takes


def line(*names):
    """Makes a function the line magics of these names."""

    def named(function):
        LINE.update(dict.fromkeys(names, function))
        return function

    return named


def cell(*names):
    def named(function):
        CELL.update(dict.fromkeys(names, function))
        return function

    return named


def find(name, kind):
    """The function of a magic, or None."""
    if kind == "cell":
        if name not in CELL and name in PROGRAMS:
            return lambda text, body: script(name + " " + text, body)
        return CELL.get(name)
    if name in LINE:
        return LINE[name]
    if name in NO_EFFECT:
        return lambda text: None
    if name in ALIASES:
        return lambda text: alias(ALIASES[name], text)
    if name in NOT_SUPPORTED:
        return lambda text: fail("%%%s is not supported: %s" % (name, NOT_SUPPORTED[name]))
    return None


def names_of(kind, user):
    if kind == "cell":
        return sorted({*CELL, *PROGRAMS, *user.given["cell"]})
    return sorted({*LINE, *NO_EFFECT, *ALIASES, *user.given["line"]})


def fail(message):
    raise shell.UsageError(message)


def refuse(name, kind, user):
    """Reports an unknown magic and names the most similar one."""
    from difflib import get_close_matches

    mark, other = ("%%", "line") if kind == "cell" else ("%", "cell")
    text = "there is no %s magic %s%s in Yurt's own kernel" % (kind, mark, name)
    if user.find_magic(name, other) is not None:
        text += ", but the %s magic %s%s" % (other, "%" if kind == "cell" else "%%", name)
        text += "; it stands in the first line of a cell" if other == "cell" else "; it takes one line"
    else:
        near = get_close_matches(name, names_of(kind, user), 1, 0.5)
        text += "; the nearest is %s%s" % (mark, near[0]) if near else "; %lsmagic lists those that there are"
    fail(text + "; " + WITH_IPYTHON)


def options(text, flags, kind):
    """The options before the text, with their values. In flags, a colon follows a letter with a value."""
    found, rest = {}, text.lstrip()
    while rest.startswith("-") and len(rest) > 1 and rest[1].isalpha():
        word, _, after = rest.partition(" ")
        letter, value = word[1], word[2:]
        at = flags.find(letter)
        if at < 0:
            fail("%s has no option -%s; its options are %s" % (kind, letter, " ".join("-" + c for c in flags if c != ":")))
        if flags[at + 1 : at + 2] == ":":
            if not value:
                value, _, after = after.lstrip().partition(" ")
            found[letter] = value
            rest = after.lstrip()
        else:
            found[letter] = True
            rest = ("-" + value + " " + after) if value else after.lstrip()
    return found, rest


def number(given, letter, default, kind, most):
    text = given.get(letter, default)
    try:
        value = int(text)
    except ValueError:
        value = 0
    if not 1 <= value <= most:
        fail("%s -%s is %r; it is a number from 1 to %d" % (kind, letter, text, most))
    return value


def user_names():
    """The names that user code has defined."""
    hidden = {"In", "Out", "display", "exit", "quit", "get_ipython"}
    return sorted(name for name in host.KERNEL.module.__dict__ if not name.startswith("_") and name not in hidden)


def words(text):
    import shlex

    try:
        return shlex.split(text, comments=True)
    except ValueError as error:
        fail("%s: %s" % (error, text))
