"""Runs executions one after the other as Jupyter does, by ipykernel's own kernel and shell
in this process.

    python3 jupyter.py DIRECTORY

kernel.py exchanges messages with the host. ipykernel answers by messages of Jupyter's protocol,
which its session would send to clients; here the session passes them to kernel.py.
"""

import asyncio
import logging
import os
import re
import signal
import socket
import sys
import types

import kernel as host

OURSELVES = sys.modules["__main__"], sys.modules.pop("kernel")  # the user's code takes the names
host.OURSELVES = host

INSTALL = (
    'the template chooses ipykernel as the kernel of Python, but it cannot be loaded: put "ipykernel" into '
    "dependencies.python of the template, or install it in the template's files, on Debian with apt-get install python3-ipykernel"
)
OLDEST = 6  # major version of ipykernel
COLOURS = re.compile(r"\x1b\[[0-9;]*m")
RULE = re.compile(r"-+\s*")


class Jupyter(host.Kernel):
    """A kernel whose requests ipykernel executes."""

    def __init__(self):
        super().__init__()
        self.loop = asyncio.new_event_loop()
        asyncio.set_event_loop(self.loop)
        self.heed_signals()
        self.ipython = None  # ipykernel's kernel
        self.replied = None  # its last reply

    def heed_signals(self):
        """Makes signals wake the loop, as ipykernel interrupts code that awaits from the loop."""
        ours, theirs = socket.socketpair()
        self.woken = ours, theirs  # keeps them open
        ours.setblocking(False)
        theirs.setblocking(False)
        self.loop.add_reader(ours, ours.recv, 4096)
        signal.set_wakeup_fd(theirs.fileno(), warn_on_full_buffer=False)

    def run(self, request):
        restore = self.prepare(request)
        try:
            if self.ipython is None:
                try:
                    self.ipython = start(self)
                except ImportError as error:
                    return 1, missing(error), False
            self.replied = None
            try:
                self.running = True
                self.check()
                self.finish(self.ask(request["code"]))
                called = self.call_defined(request)
            finally:
                self.running = False
            return called or self.outcome()
        except BaseException as error:
            code = host.EXIT_INTERRUPTED if isinstance(error, KeyboardInterrupt) else 1
            return code, host.explain(error), False
        finally:
            restore()

    def consult(self, request):
        """Asks ipykernel a question about code."""
        if self.ipython is None:
            self.ipython = start(self)
        if request["ask"] == "inspect":
            reply = self.awaited(self.ipython.do_inspect(request["code"], request["cursor"], request.get("detail", 0)))
            data = {mime: COLOURS.sub("", text) for mime, text in reply.get("data", {}).items() if isinstance(text, str)}
            return {"found": bool(reply.get("found")), "data": data}
        reply = self.awaited(self.ipython.do_complete(request["code"], request["cursor"]))
        kinds = {}
        for match in reply.get("metadata", {}).get("_jupyter_types_experimental", ()):
            kinds[match.get("text")] = str(match.get("type") or "").replace("<unknown>", "")
        matches = [{"text": text, "type": kinds.get(text, "")} for text in reply.get("matches", ())[:1000]]
        return {"matches": matches, "cursor_start": reply["cursor_start"], "cursor_end": reply["cursor_end"]}

    def awaited(self, reply):
        return self.finish(reply) if asyncio.iscoroutine(reply) or asyncio.isfuture(reply) else reply

    def counted(self):
        count = (self.replied or {}).get("execution_count")
        return count if isinstance(count, int) else 0

    def call_defined(self, request):
        """Calls the handler of code that only defines things; returns None for other code."""
        handler = request.get("handler")
        if handler is None or self.replied is None or self.replied.get("status") != "ok":
            return None
        try:
            tree = compile(request["code"], "<cell>", "exec", host.ONLY_AST | host.TOP_LEVEL_AWAIT, True)
        except (SyntaxError, ValueError, RecursionError):  # magics
            return None
        function = self.ipython.shell.user_ns.get(handler["name"])
        if not callable(function) or not host.only_defines(request["code"], tree, handler["name"]):
            return None
        return self.call(function, handler)

    def ask(self, code):
        """Sends the code to ipykernel, as a request to execute it."""
        content = {"code": code, "silent": False, "store_history": True, "user_expressions": {}, "allow_stdin": True, "stop_on_error": False}
        request = self.ipython.session.msg("execute_request", content)
        self.ipython.set_parent([], request, channel="shell")
        return self.ipython.execute_request(None, [], request)

    def outcome(self):
        """ipykernel's reply as exit code, envelope and whether the interpreter must end."""
        if self.replied is None:
            raise RuntimeError("ipykernel has not replied")
        exiting = False
        for payload in self.replied.get("payload") or ():
            if payload.get("source") == "page":  # the output of object? and of magics, which notebooks show in a pager
                host.publish({mime: COLOURS.sub("", text) for mime, text in (payload.get("data") or {}).items() if isinstance(text, str)})
            exiting = exiting or payload.get("source") == "ask_exit" and not payload.get("keepkernel")
        if exiting:
            return 0, self.leave(), True
        result = getattr(self.ipython.shell, "last_execution_result", None)
        error = getattr(result, "error_in_exec", None)
        if isinstance(error, Left):
            code = host.exit_code(error.exit)
            return code, host.explain_exit(error.exit) if code else b'{"result":null}', False
        # If only a representation of the value fails, ipykernel 7.3 reports failed code with an error that is None.
        unshown = self.replied.get("ename") == "NoneType" and getattr(result, "success", False)
        if self.replied.get("status") == "ok" or unshown:
            return 0, host.value_envelope(getattr(result, "result", None)), False
        kind, message = str(self.replied.get("ename")), str(self.replied.get("evalue"))
        if len(message) > host.MAX_MESSAGE:
            message = message[: host.MAX_MESSAGE] + "…"
        stack = [line for line in plain(self.replied.get("traceback")) if line and not RULE.fullmatch(line)]
        envelope = host.encode({"error": {"type": kind, "message": message, "stacktrace": stack[: host.MAX_STACK]}})
        return host.EXIT_INTERRUPTED if kind == "KeyboardInterrupt" else 1, envelope, False

    def take(self, kind, content):
        """Receives every message of ipykernel."""
        if kind in ("display_data", "update_display_data", "execute_result"):
            name = (content.get("transient") or {}).get("display_id")
            host.publish(content["data"], kind == "execute_result", name, kind == "update_display_data")
        elif kind == "clear_output":
            host.clear_output(content.get("wait", False))
        elif kind == "error":
            try:
                sys.stderr.write("\n".join(plain(content["traceback"])) + "\n")
            except Exception:  # standard error may be closed
                pass
        elif kind == "execute_reply":
            if os.getpid() != self.pid:  # a fork that reached the end of the code
                host.flush()
                os._exit(content["status"] != "ok")
            self.replied = content


class Left(BaseException):
    """Ends code that calls exit or quit. At a SystemExit, IPython would explain how to exit."""

    def __init__(self, code):
        super().__init__(code)
        self.exit = SystemExit(code)


def keep(shell):
    """Makes a shell's exit and quit end the running code, not the interpreter with its state."""
    from ipykernel.zmqshell import ZMQExitAutocall

    class Leave(ZMQExitAutocall):
        """exit and quit, which end a cell and not the interpreter."""

        def __call__(self, code=None, keep_kernel=None):
            raise Left(code)

    shell.exiter = Leave(shell)
    names = dict.fromkeys(("exit", "quit"), shell.exiter)
    shell.user_ns.update(names)
    shell.user_ns_hidden.update(names)
    shell.set_custom_exc((Left,), lambda *_, **options: None)


def missing(error):
    """The envelope that names the package to install."""
    return host.encode({"error": {"type": "ModuleNotFoundError", "message": "%s (%s)" % (INSTALL, error), "stacktrace": []}})


def plain(traceback):
    """The parts of a traceback, without colours and without Yurt's frames."""
    parts = [COLOURS.sub("", str(part)) for part in traceback or ()]
    ours = tuple("File %s/" % directory for directory in (host.HERE, os.path.dirname(host.SELF)))
    return [part for part in parts if not part.startswith(ours)]


def start(kernel):
    """Returns ipykernel's kernel and its shell, with a session that passes messages to kernel."""
    import ipykernel

    if int(ipykernel.__version__.partition(".")[0]) < OLDEST:
        raise ImportError("ipykernel %s is older than %d" % (ipykernel.__version__, OLDEST))
    from ipykernel.ipkernel import IPythonKernel
    from ipykernel.kernelapp import IPKernelApp
    from jupyter_client.session import Session
    from tornado.ioloop import IOLoop
    from traitlets.config import Application, Config

    class Messages(Session):
        """A session that sends ipykernel's messages only to the host."""

        def send(self, stream, msg_or_type, content=None, parent=None, *args, **options):
            message = msg_or_type
            if not isinstance(message, dict):
                message = self.msg(message, content=content, parent=parent)
            kernel.take(message["header"]["msg_type"], message["content"])
            return message

    class Kernel(IPythonKernel):
        """ipykernel's kernel without its connections."""

        _supports_kernel_subshells = False

        def _input_request(self, prompt, ident, parent, password=False):
            return host.ask(prompt)

    config = Config()
    config.HistoryManager.hist_file = ":memory:"  # without a thread that writes to disk
    config.IPKernelApp.parent_handle = 1  # libraries recognise a notebook by this section
    app = IPKernelApp.instance(config=config)  # where %matplotlib and libraries look for the kernel
    options = {}
    if "shell_channel_thread" in Kernel.class_trait_names():  # it compares this with the current thread
        import threading

        options["shell_channel_thread"] = types.SimpleNamespace(parent_thread=threading.main_thread())
    made = Kernel.instance(config=config, session=Messages(), log=logging.getLogger("ipykernel"), **options)
    made.io_loop = IOLoop.current()
    Application.instance().kernel = made  # where %matplotlib and %gui look for it
    made.shell.extension_manager.load_extension("storemagic")
    app.kernel, app.shell = made, made.shell
    keep(made.shell)
    host.rich().enrich(made.shell)
    fitted = host.Fitted(["PIL.ImageShow"])
    sys.meta_path.insert(0, fitted)
    fitted.adopt()
    if not os.environ.get("MPLBACKEND"):
        os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"
    if "matplotlib" in sys.modules:  # imported before the fork of this process
        sys.modules["matplotlib"].rcParams["backend"] = os.environ["MPLBACKEND"]
    sys.path.insert(0, "")
    return made


host.KERNEL = Jupyter()
signal.signal(signal.SIGINT, host.KERNEL.interrupt)
host.settle()
try:
    host.KERNEL.ipython = start(host.KERNEL)
except Exception:  # the first execution may install it, and else reports the error
    pass
host.KERNEL.serve()
