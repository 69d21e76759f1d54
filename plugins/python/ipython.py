"""Runs one execution after the other in IPython's InteractiveShell, in this process.

    python3 ipython.py DIRECTORY

kernel.py speaks to the host, as beside jupyter.py; of Jupyter there is no part here. A zygote makes
the shell ahead: it executes this file under another name and calls prepare. Its forks call begin.
"""

import atexit
import builtins
import os
import re
import sys
import tempfile
import types
import warnings

INSTALL = (
    'the template chooses IPython as the kernel of Python, and has none that works: put "ipython" into '
    "dependencies.python of the template, or install it in the template's files, on Debian with apt-get install python3-ipython"
)
OLDEST = 8  # major version of IPython
MAX_MATCHES = 1000
SETTINGS = "/tmp/.ipython"
INLINE = "module://matplotlib_inline.backend_inline"
COLOURS = re.compile(r"\x1b\[[0-9;]*m")
RULE = re.compile(r"-+\s*")
TEXT = "text/plain"
NUMBERS = frozenset((int, float, bool, complex))  # types that are shown as text alone
NAME = re.compile(r"[A-Za-z_]\w*")
MARKS = re.compile("[?!#%$]")  # of magics, commands and help
PROMPTS = frozenset(("In", "Out"))
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
        """Has the interpreter be as it was then, but for the modules that were imported since."""
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
    """Makes the shell ahead, and leaves the interpreter as one without."""
    global READY
    before, directory = State(), tempfile.mkdtemp(prefix="yurt-")
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


def rehearse(shell):
    """Has the shell load the modules of its first use."""
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
    """The class of the shell. IPython is imported here, which a template need not have."""
    import IPython

    if IPython.version_info[0] < OLDEST:
        raise ImportError("IPython %s is older than %d" % (IPython.__version__, OLDEST))
    from IPython.core.autocall import ExitAutocall
    from IPython.core.displayhook import DisplayHook
    from IPython.core.displaypub import DisplayPublisher
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets import Type

    class Hook(DisplayHook):
        """Shows the value of a cell's last expression."""

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

        def compute_format_data(self, result):
            if type(result) in NUMBERS and shown_as_text(self.shell.display_formatter, result):
                return {TEXT: self.shell.display_formatter.formatters[TEXT](result)}, {}
            return super().compute_format_data(result)

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
        """The shell. By this name and by "kernel" libraries know that what they show goes to a
        notebook and to no terminal."""

        displayhook_class, display_pub_class = Type(Hook), Type(Publisher)
        kernel = None
        stock = None  # the transformers without the user's own
        failed = None  # the traceback of the error that was shown last
        interrupted = False  # code that awaits was interrupted, and says so by a cancellation

        def init_user_ns(self):
            super().init_user_ns()
            self.user_ns["exit"] = self.user_ns["quit"] = Exit()
            self.user_ns_hidden.update({name: self.user_ns[name] for name in ("exit", "quit")})

        def init_virtualenv(self):
            pass

        def transform_cell(self, raw_cell):
            return raw_cell + "\n" if plain_python(self, raw_cell) else super().transform_cell(raw_cell)

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
            elif error.code not in (None, 0):  # the code says it all, and standard error nothing
                self.failed = lines_of(self.InteractiveTB.structured_traceback(kind, error, trace, tb_offset=1))

        def _showtraceback(self, etype, evalue, stb):
            if self.interrupted and etype.__name__ == "CancelledError":
                return
            self.failed = lines_of(stb)
            try:
                sys.stderr.write("\n".join(plain(stb)) + "\n")
            except Exception:  # standard error may be closed, or anything
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
    config.HistoryManager.hist_file = ":memory:"  # without the thread that writes one to the disk
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
    shell.stock = transformers(shell)
    return shell


def transformers(shell):
    """The functions that transform a cell, one kind after the other."""
    manager, lines = shell.input_transformer_manager, shell.prefilter_manager
    kinds = manager.cleanup_transforms, manager.line_transforms, manager.token_transformers, shell.input_transformers_post
    return [list(kind) for kind in kinds + (lines.transformers, lines.checkers, lines.handlers)]


def plain_python(shell, source):
    """Whether no transformer of IPython's would change the source: it is one expression in one line, and
    begins with a name that has a value, or with none."""
    if host is None or not host.expression_at_most(source) or source[0] == "." or MARKS.search(source):
        return False
    if shell.stock != transformers(shell) or shell.autocall:
        return False
    name = NAME.match(source)
    if name is None:
        return True
    if name[0] in PROMPTS or source[name.end() : name.end() + 1] == ".":
        return False
    value = shell.user_ns.get(name[0], shell)
    if value is shell:
        return hasattr(builtins, name[0])
    from IPython.core.autocall import IPyAutocall
    from IPython.core.macro import Macro

    return not isinstance(value, (IPyAutocall, Macro))


def shown_as_text(formatter, number):
    """Whether IPython's own formatter shows the number, and no function that the user has set for its type."""
    kind = type(number)
    others = [formatter.ipython_display_formatter, formatter.mimebundle_formatter]
    others += [each for name, each in formatter.formatters.items() if name != TEXT]
    deferred = kind.__module__, kind.__name__
    return not any(kind in each.type_printers or deferred in each.deferred_printers or id(number) in each.singleton_printers for each in others)


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
    """The parts of a traceback, without colours and without our own frames."""
    ours = ["File %s/" % directory for directory in ((host.HERE, os.path.dirname(host.SELF)) if host else ())]
    parts = [COLOURS.sub("", str(part)) for part in traceback or ()]
    return [part for part in parts if not part.startswith(tuple(ours))]


def lines_of(traceback):
    """The parts that are kept of a traceback."""
    return [line for line in plain(traceback) if line and not RULE.fullmatch(line)]


class Runner:
    """The part of a kernel that runs code: the rest is kernel.py's."""

    interactive = None  # the shell; None while IPython cannot be imported

    def run(self, request):
        self.count += 1
        restore = self.prepare(request)
        try:
            if self.interactive is None:
                try:
                    furnish(self)
                except ImportError as error:
                    return 1, host.encode({"error": {"type": "ModuleNotFoundError", "message": "%s (%s)" % (INSTALL, error), "stacktrace": []}}), False
            try:
                self.running = True
                self.check()
                result = self.execute(request["code"])
                called = self.call_defined(request) if result.success else None
            finally:
                self.running = False
            return called or self.outcome(result)
        except BaseException as error:
            code = host.EXIT_INTERRUPTED if isinstance(error, KeyboardInterrupt) else 1
            return code, host.explain(error), False
        finally:
            restore()
            host.BACKEND.forget()

    def consult(self, request):
        """Has IPython answer a question about code."""
        if self.interactive is None:
            furnish(self)
        code, cursor = request["code"], request["cursor"]
        if request["ask"] == "inspect":
            return self.inspection(code, cursor, request.get("detail", 0))
        from itertools import islice

        from IPython.core.completer import provisionalcompleter, rectify_completions

        with provisionalcompleter():
            found = list(rectify_completions(code, list(islice(self.interactive.Completer.completions(code, cursor), MAX_MATCHES))))
        matches = [{"text": match.text, "type": (match.type or "").replace("<unknown>", "")} for match in found]
        start, end = (found[0].start, found[0].end) if found else (cursor, cursor)
        return {"matches": matches, "cursor_start": start, "cursor_end": end}

    def inspection(self, code, cursor, detail):
        from IPython.utils.tokenutil import token_at_cursor

        try:
            data = self.interactive.object_inspect_mime(token_at_cursor(code, cursor), detail_level=detail)
        except KeyError:
            return {"found": False, "data": {}}
        return {"found": True, "data": {mime: COLOURS.sub("", text) for mime, text in data.items() if isinstance(text, str)}}

    def execute(self, code):
        shell = self.interactive
        shell.failed, shell.interrupted = None, False
        result = shell.run_cell(code, store_history=True)
        for payload in shell.payload_manager.read_payload():
            if payload.get("source") == "page":  # what object? and %magics show beside a notebook
                host.publish({mime: COLOURS.sub("", text) for mime, text in (payload.get("data") or {}).items() if isinstance(text, str)})
        shell.payload_manager.clear_payload()
        if os.getpid() != self.pid:  # a fork that fell off the end of the code
            host.flush()
            os._exit(not result.success)
        return result

    def finish(self, coroutine):
        """Awaits code, which is cancelled by an interrupt."""
        loop = self.own_loop()
        task = loop.create_task(coroutine)
        try:
            return loop.run_until_complete(task)
        except (KeyboardInterrupt, SystemExit):
            self.interactive.interrupted = True
            task.cancel()
            try:
                loop.run_until_complete(task)
            except BaseException:
                pass
            raise

    def outcome(self, result):
        """The exit code and the envelope of a cell's outcome."""
        error = result.error_before_exec or result.error_in_exec
        if error is None:
            return 0, host.value_envelope(result.result), False
        code = host.EXIT_INTERRUPTED if isinstance(error, KeyboardInterrupt) else 1
        if isinstance(error, SystemExit):
            code = host.exit_code(error)
            if code == 0:
                return 0, b'{"result":null}', False
        stack = (self.interactive.failed or [])[: host.MAX_STACK]
        envelope = host.encode({"error": {"type": type(error).__name__, "message": host.message(error), "stacktrace": stack}})
        return code, envelope, False

    def call_defined(self, request):
        """Calls the handler of code that only defined it and other things; returns None for any other."""
        handler = request.get("handler")
        if handler is None:
            return None
        try:
            tree = compile(request["code"], "<cell>", "exec", host.ONLY_AST | host.TOP_LEVEL_AWAIT, True)
        except (SyntaxError, ValueError, RecursionError):  # magics
            return None
        function = self.interactive.user_ns.get(handler["name"])
        if not callable(function) or not host.only_defines(request["code"], tree, handler["name"]):
            return None
        return self.call(function, handler)


def furnish(kernel):
    """Gives the kernel its shell: the one that was made ahead, or a new one."""
    global READY
    if READY is None:
        for name in [name for name, module in sys.modules.items() if name.partition(".")[0] == "IPython" and module is None]:
            del sys.modules[name]
        shell = make(SETTINGS)
    else:
        (shell, state), READY = READY, None
        state.builtins.pop("input", None)
        path = sys.path[:]
        state.restore()
        sys.path[:] = path
        for each in type(shell)._walk_mro():
            each._instance = shell
        from IPython.core.profiledir import ProfileDir

        shell.ipython_dir = SETTINGS
        shell.profile_dir = ProfileDir.create_profile_dir_by_name(SETTINGS, "default")
    shell.user_ns["_dh"][:] = [os.getcwd()]  # of the zygote until now
    kernel.interactive, kernel.module = shell, shell.user_module
    sys.path.insert(0, host.WORKSPACE)
    builtins.input = host.ask
    import getpass

    getpass.getpass = lambda prompt="Password: ", stream=None: host.ask(prompt)
    host.adapt_asyncio()
    host.rich().enrich(shell)
    fitted = host.Fitted(["PIL.ImageShow"])
    sys.meta_path.insert(0, fitted)
    fitted.adopt()
    inline(shell)


def inline(shell):
    """Has matplotlib show figures in the notebook, also where it was imported ahead."""
    host.BACKEND.module = INLINE
    sys.meta_path.insert(0, host.BACKEND)
    host.BACKEND.adopt()
    if "matplotlib.pyplot" in sys.modules and not os.environ.get(host.BACKEND.NAME):
        from matplotlib_inline import backend_inline

        backend_inline._enable_matplotlib_integration()


def begin(kernel_module):
    """Answers requests for ever."""
    global host
    host = kernel_module
    kernel = type("IPythonKernel", (Runner, host.Kernel), {})()
    host.KERNEL, host.BACKEND, host.SOURCES, host.OURSELVES = kernel, host.Backend(), host.Sources(), host
    host._signal.signal(host._signal.SIGINT, kernel.interrupt)
    host.settle()
    try:
        furnish(kernel)
    except Exception:  # the first execution may bring it, and says what is wrong if it does not
        pass
    kernel.serve()


if __name__ == "__main__":
    import kernel

    OURSELVES = sys.modules["__main__"], sys.modules.pop("kernel")  # the user's code takes the names
    begin(kernel)
