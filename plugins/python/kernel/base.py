"""Runs executions one after the other in one interpreter, which keeps its state.

    python3 kernel.py DIRECTORY

kernel.py is one file in the sandbox, since each file takes time to open. It joins shared.py and
the files of this folder, in this order: base.py has the imports and the limits, wire.py the
format of messages, show.py displays, explain.py errors, loop.py the event loop, history.py In
and Out, shell.py IPython's syntax, notebook.py the names that notebooks expect, cell.py the
compilation of a cell, and main.py the request loop.

The user's code shares this interpreter and can break all of it. An exception in the kernel's
own code ends the interpreter at once, and the host gets its cause. Needs CPython 3.8 or later.

Many interpreters never get a request. So the kernel imports only modules that Python has loaded
anyway or that are written in C; the others are imported after the first response: traceback and
json take 2 MB.
"""


import os
import select
import sys

import _ast
import _json
import _signal
import _thread
import binascii
import builtins
import io
import posix

# The kernel's own copy: the user's code may replace len or repr. For the same reason the kernel
# calls the functions of posix, as user code may replace those of os.
__builtins__ = dict(vars(builtins))

HERE = os.path.abspath(sys.argv[1])
WORKSPACE = os.getcwd()
REQUESTS = os.path.join(HERE, "requests")
CONTROL = 3
SELF = sys._getframe().f_code.co_filename

MAX_DISPLAY = 15 << 20  # bytes of one: the host takes 16 MiB for an execution
MAX_TYPES = 32  # of a display
MAX_TYPE = 128  # characters of one's name
MAX_DISPLAY_ID = 256  # bytes
MAX_TEXT = 1 << 20  # characters of a plain-text representation
MAX_STACK = 200
MAX_MESSAGE = 16000
EXIT_INTERRUPTED = 130

RECALLED = ("_", "__", "___")  # the values of the last expressions

ONLY_AST = 0x400
TOP_LEVEL_AWAIT = 0x2000
COROUTINE = 0x80  # CO_COROUTINE
FUTURES = 0x1FF0000  # compiler flags that a "from __future__ import" sets
