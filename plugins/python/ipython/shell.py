"""Runs executions one after the other in IPython's InteractiveShell in this process.

    python3 ipython.py DIRECTORY

kernel.py exchanges messages with the host, as for jupyter.py. No part of Jupyter is used. A zygote
makes the shell ahead: it executes this file as a module and calls prepare. Its forks call begin.
"""

import atexit
import builtins
import os
import re
import sys
import tempfile
import types
import warnings
from itertools import repeat

INSTALL = (
    'the template chooses IPython as the kernel of Python, but it cannot be loaded: put "ipython" into '
    "dependencies.python of the template, or install it in the template's files, on Debian with apt-get install python3-ipython"
)
OLDEST = 8  # major version of IPython
MAX_MATCHES = 1000
SETTINGS = "/tmp/.ipython"
INLINE = "module://matplotlib_inline.backend_inline"
COLOURS = re.compile(r"\x1b\[[0-9;]*m")
RULE = re.compile(r"-+\s*")
TEXT = "text/plain"
TIMED = re.compile(r"""get_ipython\(\)\.run_(?:line_magic\('time', |cell_magic\('time', '', )('(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*")\)""")
AWAIT = re.compile(r"\bawait\b")
# The parts of the interpreter that a shell changes when it is made.
OF_SYS = "ps1", "ps2", "ps3", "displayhook", "excepthook", "breakpointhook"

host = None  # the module of kernel.py
READY = None  # the shell that was made ahead, and the state of the interpreter that it needs


class State:
    """The present values of the parts of the interpreter that a shell changes."""

    def __init__(self):
        self.builtins, self.path = dict(vars(builtins)), sys.path[:]
        self.sys = {name: getattr(sys, name) for name in OF_SYS if hasattr(sys, name)}
        self.main, self.filters = sys.modules["__main__"], warnings.filters[:]

    def restore(self):
        """Restores the values of that time. Modules imported since stay."""
        names = vars(builtins)
        for name in [name for name in names if name not in self.builtins]:
            del names[name]
        names.update(self.builtins)
        for name in OF_SYS:
            if name in self.sys:
                setattr(sys, name, self.sys[name])
            elif hasattr(sys, name):
                delattr(sys, name)
        sys.path[:], sys.modules["__main__"] = self.path, self.main
        warnings.filters[:] = self.filters


def prepare():
    """Makes the shell ahead and restores the interpreter's state."""
    global READY
    before, directory = State(), tempfile.mkdtemp(prefix="yurt-")
    load_backend()
    register, atexit.register = atexit.register, lambda function, *arguments, **options: function
    try:
        shell = make(directory)
        rehearse(shell)
        READY = shell, State()
    finally:
        atexit.register = register
        before.restore()
        import shutil

        shutil.rmtree(directory, ignore_errors=True)
    type(shell).clear_instance()


def load_backend():
    """Imports the backend of preloaded matplotlib while there is no shell that it would change."""
    if "matplotlib.pyplot" in sys.modules:
        try:
            import matplotlib_inline.backend_inline  # noqa: F401
        except ImportError:
            pass


def rehearse(shell):
    """Uses the shell once, so that it loads its modules."""
    import io

    outputs, sys.stderr = (sys.stdout, sys.stderr), io.StringIO()
    sys.stdout = io.StringIO()
    try:
        for code in ("1 + 1", "%time pass", "import asyncio\nawait asyncio.sleep(0)", "1 / 0", "1 +"):
            shell.run_cell(code, store_history=False)
        shell.complete("impor", "impor", 5)
    finally:
        sys.stdout, sys.stderr = outputs
    for name in ("asyncio", "_", "__", "___", "_0"):
        shell.user_ns.pop(name, None)
    shell.history_manager.output_hist.clear()
    shell.displayhook._ = shell.displayhook.__ = shell.displayhook.___ = ""
    shell.failed = None


def shell_class():
    """The class of the shell. IPython is imported here, as a template may lack it."""
    import IPython

    if IPython.version_info[0] < OLDEST:
        raise ImportError("IPython %s is older than %d" % (IPython.__version__, OLDEST))
    from IPython.core.autocall import ExitAutocall, IPyAutocall
    from IPython.core.displayhook import DisplayHook
    from IPython.core.displaypub import DisplayPublisher
    from IPython.core.interactiveshell import ExecutionInfo, ExecutionResult, InteractiveShell
    from IPython.core.macro import Macro
    from IPython.lib.pretty import _repr_pprint
    from traitlets import Type

    class Hook(DisplayHook):
        """Shows the value of a cell's last expression."""

        later = None  # calls that a cell has put off until after the response

        def catch_up(self):
            """Assigns the value to its names for the next cell."""
            calls, self.later = self.later, None
            for function, argument in calls or ():
                try:
                    function(argument)
                except Exception:  # the user's code has replaced them
                    pass

        def write_output_prompt(self):
            pass

        def write_format_data(self, format_dict, md_dict=None):
            if host is not None:
                host.publish(format_dict, main=True)

        def finish_displayhook(self):
            pass

        def quiet(self):
            inputs = self.shell.history_manager.input_hist_parsed
            return bool(inputs) and ";" in inputs[-1] and super().quiet()

        def update_user_ns(self, result):
            if self.later is None:
                super().update_user_ns(result)
            else:
                self.later += (super().update_user_ns, result),

        def log_output(self, format_dict):
            if self.later is None:
                super().log_output(format_dict)
            else:
                self.later += (super().log_output, format_dict),

        def compute_format_data(self, result):
            text = text_of(self.shell, result) if type(result) in NUMBERS else None
            return super().compute_format_data(result) if text is None else ({TEXT: text}, {})

    class Publisher(DisplayPublisher):
        """Shows the values that display() is given."""

        def publish(self, data, metadata=None, source=None, *, transient=None, update=False, **options):
            host.publish(data, display_id=(transient or {}).get("display_id"), update=update)

        def clear_output(self, wait=False):
            host.clear_output(wait)

    class Exit(ExitAutocall):
        """exit and quit, which end a cell and not the interpreter."""

        def __call__(self, code=None):
            raise SystemExit(code)

    class ZMQInteractiveShell(InteractiveShell):
        """The shell. By this class name and by "kernel", libraries recognise a notebook, not a
        terminal."""

        displayhook_class, display_pub_class = Type(Hook), Type(Publisher)
        kernel = None
        records = ExecutionInfo, ExecutionResult
        written = staticmethod(_repr_pprint)  # shows a value as repr does
        callers = IPyAutocall, Macro  # their names alone call them
        # Plain attributes: see lighten.
        execution_count, last_execution_succeeded, last_execution_result = 1, True, None
        display_formatter = history_manager = prefilter_manager = payload_manager = builtin_trap = display_trap = None
        shown_by, tables = None, ()  # the formatters, and the tables of those for other types than text
        stock = None  # the transformers without the user's own
        failed = None  # the traceback of the error that was shown last
        interrupted = False  # code that awaits was interrupted and raises a cancellation

        def init_user_ns(self):
            super().init_user_ns()
            self.user_ns["exit"] = self.user_ns["quit"] = Exit()
            self.user_ns_hidden.update({name: self.user_ns[name] for name in ("exit", "quit")})

        def init_virtualenv(self):
            pass

        def transform_cell(self, raw_cell):
            return raw_cell + "\n" if plain_python(self, raw_cell) else TIMED.sub(timed, super().transform_cell(raw_cell))

        def time_awaiting(self, statement):
            """%time of code that awaits, which IPython's own %time cannot compile."""
            return host.magics_part().timed_awaiting(self.transform_cell(statement), sys._getframe(1).f_locals)

        def should_run_async(self, raw_cell, *, transformed_cell=None, **options):
            if transformed_cell is not None and "await" not in transformed_cell and "async" not in transformed_cell:
                return False
            return super().should_run_async(raw_cell, transformed_cell=transformed_cell, **options)

        def init_hooks(self):
            super().init_hooks()
            from IPython.core import page, payloadpage

            self.set_hook("show_in_pager", page.as_hook(payloadpage.page), 99)

        def enable_gui(self, gui=None):
            pass

        def system(self, cmd):
            self.user_ns["_exit_code"] = host.shell_part().system(self.var_expand(cmd, depth=1))

        def showtraceback(self, *arguments, **options):
            kind, error, trace = sys.exc_info()
            if not options.get("exception_only") or not isinstance(error, SystemExit):
                super().showtraceback(*arguments, **options)
                if self.failed is None and hasattr(error, "exceptions"):
                    self.failed = of_group(error, trace)
            elif error.code not in (None, 0):  # the exit code suffices, without text on standard error
                self.failed = lines_of(self.InteractiveTB.structured_traceback(kind, error, trace, tb_offset=1))

        def _showtraceback(self, etype, evalue, stb):
            if self.interrupted and etype.__name__ == "CancelledError":
                return
            self.failed = lines_of(stb)
            try:
                sys.stderr.write("\n".join(plain(stb)) + "\n")
            except Exception:  # standard error may be closed
                pass

    ZMQInteractiveShell.__module__, ZMQInteractiveShell.__qualname__ = "ipykernel.zmqshell", ZMQInteractiveShell.__name__
    return ZMQInteractiveShell


def make(directory):
    """Returns a shell that keeps its files in the directory."""
    made = shell_class()
    import IPython
    from IPython.core.profiledir import ProfileDir
    from traitlets.config import Config

    config = Config()
    config.HistoryManager.hist_file = ":memory:"  # without a thread that writes to disk
    config.InteractiveShell.colors = "nocolor" if IPython.version_info[0] > 8 else "NoColor"
    module = types.ModuleType("__main__")
    module.__builtins__ = builtins
    os.makedirs(directory, exist_ok=True)
    profile = ProfileDir.create_profile_dir_by_name(directory, "default")
    warnings.filterwarnings("ignore", "To exit: use 'exit'")
    shell = made.instance(config=config, ipython_dir=directory, profile_dir=profile, user_module=module, user_ns=vars(module))
    shell.kernel = types.SimpleNamespace(shell=shell)
    shell.loop_runner = finish
    shell.extension_manager.load_extension("storemagic")
    lighten(shell.displayhook, "shell", "exec_result")
    lighten(shell.history_manager, "shell", "_i", "_ii", "_iii", "_i00", "input_hist_parsed", "input_hist_raw", "output_hist_reprs", "db_input_cache")
    lighten(shell.payload_manager, "_payload")
    lighten(shell.display_formatter, "formatters")
    lighten(shell.display_formatter.formatters[TEXT], "type_printers", "deferred_printers", "singleton_printers")
    shell.stock = tuple(kind.copy() for kind in transformers(shell))
    return shell


def timed(call):
    """The call of %time, or of time_awaiting if its code awaits."""
    return "await get_ipython().time_awaiting(%s)" % call[1] if AWAIT.search(call[1]) else call[0]


def finish(coroutine):
    """Runs code that awaits."""
    if host is not None:
        return host.KERNEL.finish(coroutine)
    import asyncio

    loop = asyncio.new_event_loop()
    try:
        return loop.run_until_complete(coroutine)
    finally:
        loop.close()


def plain(traceback):
    """The parts of a traceback, without colours and without Yurt's frames."""
    ours = ["File %s/" % directory for directory in ((host.HERE, os.path.dirname(host.SELF)) if host else ())]
    parts = [COLOURS.sub("", str(part)) for part in traceback or ()]
    return [part for part in parts if not part.startswith(tuple(ours))]


def of_group(error, trace):
    """The traceback of a group of errors, which IPython leaves to Python, without IPython's own frames."""
    import traceback

    while trace is not None and "/IPython/core/" in trace.tb_frame.f_code.co_filename:
        trace = trace.tb_next
    return [part.rstrip("\n") for part in traceback.format_exception(type(error), error, trace)]


def lines_of(traceback):
    """The parts of a traceback for the envelope."""
    return [line for line in plain(traceback) if line and not RULE.fullmatch(line)]
