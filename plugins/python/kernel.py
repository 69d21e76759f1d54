"""Runs one execution after the other in one interpreter, whose state lasts between them.

    python3 kernel.py DIRECTORY

Requests come from the FIFO "requests" in the directory, a JSON object a line. What is
said of them goes to descriptor 3, likewise: "display" for what an execution shows, and
"done". With each done goes a mark to descriptors 1 and 2: what was written before it is
of that execution. SIGINT interrupts the execution that runs.

The user's code shares this interpreter and can break whatever is here. An exception in the
kernel's own code ends the interpreter at once, and the host is told why. Needs CPython 3.8 or
later.

Many interpreters wait for a first request that never comes. So this imports what has been
loaded anyway, or is written in C, and the rest when it has answered once: traceback and json
are 2 MB.
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

# The kernel's own copy: the user's code may replace len or repr for itself. For the same reason
# the functions of posix are called here, and not those of os, which are others' to replace.
__builtins__ = dict(vars(builtins))

HERE = os.path.abspath(sys.argv[1])
WORKSPACE = os.getcwd()
REQUESTS = os.path.join(HERE, "requests")
CONTROL = 3
SELF = sys._getframe().f_code.co_filename

MAX_ENVELOPE = 8 << 20  # bytes of a result
MAX_DISPLAYS = 256  # of an execution; what is more is left out on the host
MAX_TYPES = 32  # of a display
MAX_TYPE = 128  # characters of one's name
MAX_DISPLAY_ID = 256  # bytes
MAX_TEXT = 1 << 20  # characters of a plain-text representation
MAX_STACK = 200
MAX_MESSAGE = 16000
MAX_ROWS = 1000  # of a data frame, as data
EXIT_INTERRUPTED = 130

RECALLED = ("_", "__", "___")  # the values of the last expressions

ONLY_AST = 0x400
TOP_LEVEL_AWAIT = 0x2000
COROUTINE = 0x80  # CO_COROUTINE
FUTURES = 0x1FF0000  # compiler flags that a "from __future__ import" sets

MAGIC = (
    "IPython's magics and shell escapes (%timeit, !ls, %pip, obj?) are not supported; "
    "write Python, run a command in the session, or name packages in \"dependencies\" of the execution"
)


class Kernel:
    """What the interpreter is for."""

    def __init__(self):
        self.pid = posix.getpid()
        self.requests = os.open(REQUESTS, os.O_RDONLY | os.O_CLOEXEC)
        # Where user code does not come upon them by chance.
        self.control = self.aside(CONTROL)
        os.close(CONTROL)
        self.streams = [self.aside(1), self.aside(2)]
        self.buffer = b""
        # Two, since one may be used by the handler of signals while it waits.
        self.ready, self.glance = select.poll(), select.poll()
        self.ready.register(self.requests, select.POLLIN)
        self.glance.register(self.requests, select.POLLIN)
        # Interrupts: user code runs and is interrupted at once; a request is at hand, and
        # is interrupted before it begins; a message is being written, and goes first.
        self.running = self.busy = self.writing = self.interrupted = False
        self.main, self.turn = _thread.get_ident(), _thread.allocate_lock()
        self.current = None
        self.answer = None  # the last done, with its marks
        self.count = 0
        self.futures = 0
        self.loop = None
        self.module = None
        self.recalled = [None] * 3
        self.held = b""  # a message that goes with the next
        self.empty = None  # the standard input of the next execution, where it has none

    @staticmethod
    def aside(fd):
        import fcntl

        return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 200)

    def serve(self):
        """Answers requests for ever."""
        try:
            while True:
                self.serve_one()
        except BaseException as error:
            self.broken(error)

    def serve_one(self):
        request = self.request()
        try:
            self.handle(request)
        except KeyboardInterrupt:  # it came when the code had just ended
            self.running = False
            if self.answer is None:
                self.finish_with(1, b'{"error":{"type":"KeyboardInterrupt","message":"","stacktrace":[]}}', False)
        self.complete()

    def broken(self, error):
        """Ends the interpreter: the kernel's own code failed, and would answer no request any more.
        The host also tells of an interpreter that ends without an answer. Python's own end would
        wait for the threads of the user's code."""
        try:
            if posix.getpid() == self.pid:
                sys.setrecursionlimit(10000)
                self.running = False
                cause = ("%s: %s" % (type(error).__name__, message(error))).replace(HERE + "/", "")
                if self.busy and self.answer is None:
                    self.reply(*self.done(1, b'{"result":null}', True, cause))
                else:
                    text = "yurt: the code before this broke the interpreter of its context: %s\n" % cause
                    posix.write(self.streams[1], text.encode("utf-8", "backslashreplace"))
        finally:
            posix._exit(1)

    def complete(self):
        """Does ahead, once there is an answer, what the next execution needs; and imports what a
        failure needs to be explained, while nothing has gone wrong."""
        try:
            self.empty = Stdin(b"")
            if self.count == 1:
                standard("traceback")
        except BaseException:  # no more descriptors, or an interrupt; there is a next time
            pass

    def request(self):
        """The next request."""
        self.busy = False
        # One that came since the last answer is for a request that is here, if any is.
        early, self.interrupted = self.interrupted, False
        if early and self.waiting():
            self.interrupted = True
        if not self.buffer:
            self.wait()
        self.busy = True
        while b"\n" not in self.buffer:  # which is not for long: requests come whole
            self.buffer += posix.read(self.requests, 65536)
        line, _, self.buffer = self.buffer.partition(b"\n")
        request = decode(line)
        if "file" in request:
            with open(request["file"], "rb") as file:
                request = decode(file.read().rstrip())
        return request

    def wait(self):
        """Returns when a request can be read."""
        while not self.readable(self.ready.poll()):
            os.close(os.open(REQUESTS, os.O_RDONLY))  # the host is away: this waits for it

    def handle(self, request):
        if request["id"] == self.current:
            if self.answer is not None:
                self.reply(*self.answer)  # the host was restarted and did not hear it
            return
        self.current, self.answer = request["id"], None
        self.finish_with(*self.run(request))

    def finish_with(self, code, envelope, exiting):
        flush()
        self.answer = self.done(code, envelope, exiting)
        self.interrupted = False
        self.reply(*self.answer)
        if exiting:
            posix._exit(code)

    def done(self, code, envelope, exiting, broken=None):
        """The message that an execution is done, and its mark."""
        message = {"id": self.current, "done": {"exit_code": code, "exiting": exiting, "envelope": Raw(envelope)}}
        if broken is not None:
            message["done"]["broken"] = broken
        return encode(message), b"\x1eyurt:%s\x1e" % self.current.encode()

    def reply(self, message, mark):
        for stream in self.streams:
            try:
                posix.write(stream, mark)
            except OSError:  # closed by user code that closes everything
                pass
        self.say(message)

    def say(self, message):
        """Writes a message whole, whatever threads and interrupts there are."""
        main = _thread.get_ident() == self.main
        with self.turn:
            self.writing = self.writing or main
            message, self.held = self.held + message + b"\n", b""
            while message:
                message = message[posix.write(self.control, message) :]
            if main:
                self.writing = False
        if main and self.running:
            self.check()

    def check(self):
        if self.interrupted:
            self.interrupted = False
            raise KeyboardInterrupt

    def run(self, request):
        """Runs a request, and returns its exit code, its envelope and whether the
        interpreter is to end."""
        self.count += 1
        restore = self.prepare(request)
        try:
            try:
                self.running = True
                self.check()
                value, called = self.execute(request["code"], "<cell %d>" % self.count, request.get("handler"))
                if posix.getpid() != self.pid:  # a fork that fell off the end of the code
                    flush()
                    posix._exit(0)
                if value is not None:
                    self.recall(value)
                    show(value, main=True)
                figures()
            finally:
                self.running = False
            return called or (0, value_envelope(value), False)
        except SystemExit as exit:
            code = exit_code(exit)
            if posix.getpid() != self.pid:
                posix._exit(code)
            return code, self.leave(), True
        except BaseException as error:
            self.running = False
            if posix.getpid() != self.pid:
                standard("traceback").print_exc()
                posix._exit(1)
            figures_after_error()
            code = EXIT_INTERRUPTED if isinstance(error, KeyboardInterrupt) else 1
            return code, explain(error), False
        finally:
            restore()
            BACKEND.forget()

    def recall(self, value):
        """Keeps the last three values where notebooks have them, unless the user's code
        has given these names a meaning of its own."""
        names = self.module.__dict__
        if all(names.get(name) is shown for name, shown in zip(RECALLED, self.recalled)):
            self.recalled = [value] + self.recalled[:2]
            names.update(zip(RECALLED, self.recalled))

    def prepare(self, request):
        """Sets up what an execution has to itself, and returns how to take it back."""
        for number, stream in enumerate(self.streams, 1):
            try:
                posix.dup2(stream, number)
            except OSError:
                pass
        repair()
        _signal.signal(_signal.SIGINT, self.interrupt)
        given, empty, self.empty = request.get("stdin"), self.empty, None
        stdin = getattr(sys, "stdin", None)
        sys.stdin = empty if empty is not None and not given else Stdin(binascii.a2b_base64(given or ""))
        if request.get("cwd"):
            try:
                os.chdir(request["cwd"])
            except OSError as error:
                posix.write(2, ("yurt: the working directory stays %s: %s\n" % (os.getcwd(), error)).encode("utf-8", "backslashreplace"))
        before = {}
        for item in request.get("env", ()):
            name, _, value = item.partition("=")
            before[name] = os.environ.get(name)
            os.environ[name] = value
            if name == "PYTHONPATH":
                find_also(value.split(os.pathsep))

        def restore():
            sys.stdin = stdin
            for name, value in before.items():
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value

        return restore

    def interrupt(self, number, frame):
        if posix.getpid() != self.pid:
            return
        if self.running and not self.writing:
            raise KeyboardInterrupt
        self.interrupted = self.busy or self.waiting()

    def waiting(self):
        """Whether there is a request that was not read yet."""
        return bool(self.buffer) or self.readable(self.glance.poll(0))

    @staticmethod
    def readable(events):
        return any(event & select.POLLIN for _, event in events)

    def execute(self, source, filename, handler):
        """Runs the source, and returns the value of its last expression, or None; and what came
        of its handler if it was called, or None."""
        if source.startswith("\ufeff"):  # a byte order mark, which Python takes from a file
            source = source[1:]
        SOURCES.keep(filename, source)
        body, last, defined = self.compile(source, filename, handler)
        value = None
        for code in (body, last):
            if code is not None and code.co_flags & COROUTINE:
                value = self.finish(awaited((body, last), self.module.__dict__))
                break
        else:
            for code in (body, last):
                if code is not None:
                    value = eval(code, self.module.__dict__)
        function = self.module.__dict__.get(handler["name"]) if defined else None
        called = self.call(function, handler) if callable(function) else None
        return value if last is not None else None, called

    def call(self, function, handler):
        """Calls a handler, and returns what run returns."""
        import time

        calls = part("handler.py")
        if not hasattr(calls, "complete"):
            calls.stdlib, calls.write_json, calls.load_report = standard, write_json, lambda: part("report.py")
            calls.complete = lambda awaitable: KERNEL.finish(calls.awaited(awaitable))
            part("report.py").harness = calls
        name = handler["name"]
        spec = {"event": {}, "max_result": MAX_VALUE, "context": calls.fields(name, self.current, handler["memory_mb"])}
        try:
            data = calls.call_handler(function, spec, time.monotonic() + handler["timeout"])
        except calls.Failure as failure:
            sys.stderr.write("%s: %s\n" % (failure.kind, failure))
            return 1, encode({"error": {"type": failure.kind, "message": str(failure), "stacktrace": Raw(b"[]")}}), False
        return 0, b'{"handler":' + write_json(name) + b',"result":' + data + b"}", False

    def compile(self, source, filename, handler):
        flags = TOP_LEVEL_AWAIT | self.futures
        if expression_at_most(source):
            try:
                return None, compile(source, filename, "eval", flags, True), False
            except (SyntaxError, ValueError):  # it is more, or wrong, as is found out below
                pass
        try:
            tree = compile(source, filename, "exec", flags | ONLY_AST, True)
        except SyntaxError as error:
            if magic(error, source):
                error.msg = MAGIC
            raise
        except ValueError as error:  # NUL characters, before Python 3.12
            raise SyntaxError(str(error)) from None
        last, defined = None, handler is not None and only_defines(source, tree, handler["name"])
        if not defined and tree.body and isinstance(tree.body[-1], _ast.Expr) and not silenced(source, tree.body[-1]):
            last = _ast.Expression(tree.body.pop().value)
            last = compile(last, filename, "eval", flags, True)
            self.futures |= last.co_flags & FUTURES
        body = None
        if tree.body:
            body = compile(tree, filename, "exec", flags, True)
            self.futures |= body.co_flags & FUTURES
        return body, last, defined

    def finish(self, coroutine):
        """Awaits what a top-level await made, in the one loop of the interpreter."""
        import asyncio

        if self.loop is None or self.loop.is_closed():
            self.loop = asyncio.new_event_loop()
            asyncio.set_event_loop(self.loop)
        task = self.loop.create_task(coroutine)
        try:
            return self.loop.run_until_complete(task)
        except (KeyboardInterrupt, SystemExit):
            task.cancel()
            try:
                self.loop.run_until_complete(task)
            except BaseException:
                pass
            raise

    def leave(self):
        """Does what Python does at its end, while the output is still this execution's."""
        import atexit

        try:
            atexit._run_exitfuncs()
        except BaseException:
            pass
        flush()
        return b'{"result":null}'


class Raw:
    """JSON that is written already."""

    def __init__(self, data):
        self.data = data


def encode(message):
    """The message as JSON in bytes; what it holds is ours but for strings."""
    if isinstance(message, Raw):
        return message.data
    if isinstance(message, dict):
        return b"{" + b",".join(encode(str(k)) + b":" + encode(v) for k, v in message.items()) + b"}"
    try:
        if type(message) is str:
            return _json.encode_basestring(message).encode()
        return dumps(message, _json.encode_basestring).encode()
    except UnicodeEncodeError:  # half a surrogate pair
        return dumps(message).encode()


def dumps(value, strings=_json.encode_basestring_ascii):
    """json.dumps, without numbers that JSON does not have."""
    return "".join(_json.make_encoder({}, refuse, strings, None, ":", ",", False, False, False)(value, 0))


def refuse(value):
    raise TypeError("JSON has no %s" % type(value).__name__)


class Scan:
    """How decode reads JSON: as json does."""

    strict = True
    object_hook = object_pairs_hook = None
    parse_float, parse_int, parse_constant = float, int, float


def decode(data):
    """What JSON without white space around it says."""
    return _json.make_scanner(Scan)(data.decode(), 0)[0]


def standard(name):
    """A module of the standard library, whatever the user has by the names of those that it
    needs."""
    if name not in STANDARD:
        theirs = {other: module for other, module in sys.modules.items() if users(str(getattr(module, "__file__", "")))}
        path = sys.path
        sys.path = [entry for entry in path if entry not in (WORKSPACE, "")]
        for other in theirs:
            del sys.modules[other]
        try:
            STANDARD[name] = __import__(name)
        finally:
            sys.path = path
            sys.modules.update(theirs)
    return STANDARD[name]


STANDARD = {}
stdlib = standard  # as shared.py calls it


def find_also(directories):
    """Looks for modules in more directories, from now on: packages that were installed
    for one execution stay for those after it."""
    missing = [path for path in directories if path and path not in sys.path]
    if missing:
        sys.path[1:1] = missing


class Stdin(io.TextIOWrapper):
    """What the request gave. input() beyond its end is refused: nobody is there to type."""

    def __init__(self, data):
        super().__init__(io.BytesIO(data), encoding="utf-8", errors="replace")

    def fileno(self):
        raise io.UnsupportedOperation("standard input is what the request gave; it is no file")


def ask(prompt="", /):
    """input(), from what the request gave."""
    sys.stdout.write(str(prompt))
    line = sys.stdin.readline()
    if not line:
        raise EOFError("input(): nobody is there to answer; give the answers as stdin of the request, a line each")
    return line[:-1] if line.endswith("\n") else line


def repair():
    """Opens standard output and error again if user code closed them."""
    for number, name in ((1, "stdout"), (2, "stderr")):
        stream = getattr(sys, name, None)
        if stream is None or getattr(stream, "closed", False):
            stream = open(number, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False)
            setattr(sys, name, stream)
            setattr(sys, "__%s__" % name, stream)


async def awaited(codes, names):
    """Runs code of which some awaits: all of it may make tasks of the loop."""
    value = None
    for code in codes:
        if code is not None:
            value = eval(code, names)
            if code.co_flags & COROUTINE:
                value = await value
    return value


def flush():
    for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
        try:
            stream.flush()
        except Exception:  # closed, replaced, or nobody reads it
            pass


def magic(error, source):
    lines = source.splitlines()
    if not error.lineno or error.lineno > len(lines):
        return False
    line = lines[error.lineno - 1]
    if line.strip()[:1] in ("%", "!", "?") or line.rstrip().endswith("?"):
        return True
    at = (error.offset or 1) - 1
    before = line[:at].rstrip()
    return line[at : at + 1] in ("%", "!") and before.endswith("=") and before[-2:-1] not in tuple("=!<>")  # x = !ls


def expression_at_most(source):
    """Whether the source looks like one expression: a line that begins as one may, and has nothing
    that is in no expression, or that Python would warn of twice. Such a line is compiled in one
    step, and without its tree."""
    return (
        len(source) <= MAX_LINE
        and source.isascii()
        and (source[:1].isalnum() or source[:1] in STARTS)
        and not any(mark in source for mark in ("\n", "\r", "\f", "\\", "=", ";"))
        and source.partition(" ")[0] not in KEYWORDS
    )


MAX_LINE = 400
STARTS = ("_", "(", "[", "{", "'", '"', "-", "+", "~", ".")
KEYWORDS = {"import", "from", "del", "pass", "global", "assert", "raise", "return", "with", "for", "while", "if", "def", "class", "try"}


def silenced(source, node):
    """Whether the last expression ends in a semicolon, by which its value is not shown."""
    lines = source.splitlines()
    rest = lines[node.end_lineno - 1].encode()[node.end_col_offset :].strip()
    return rest.startswith(b";")


# --- what an execution shows ---------------------------------------------------------


TEXTS = (
    ("text/html", "_repr_html_"),
    ("text/markdown", "_repr_markdown_"),
    ("text/latex", "_repr_latex_"),
    ("image/svg+xml", "_repr_svg_"),
    ("image/png", "_repr_png_"),
    ("image/jpeg", "_repr_jpeg_"),
    ("application/pdf", "_repr_pdf_"),
    ("application/json", "_repr_json_"),
    ("application/javascript", "_repr_javascript_"),
)


def bundle(value):
    """The MIME bundle of a value, and its metadata left out."""
    if type(value) in SIMPLE:  # which have no other representation
        return {"text/plain": plain(value)}
    data = {}
    if not isinstance(value, type) and not hasattr_safe(value, "_yurt_canary_method_that_no_object_has_"):
        data.update(called(value, "_repr_mimebundle_", include=None, exclude=None) or {})
        for mime, method in TEXTS:
            if mime not in data and hasattr_safe(value, method):
                shown = called(value, method)
                if shown is not None:
                    data[mime] = shown
        if type(value).__name__ == "Figure" and type(value).__module__ == "matplotlib.figure" and "image/png" not in data:
            data["image/png"] = png(value)
        frame_data(value, data)
    if "text/plain" not in data:
        data["text/plain"] = plain(value)
    return data


def hasattr_safe(value, name):
    try:
        return callable(getattr(value, name, None))
    except Exception:
        return False


def called(value, method, **options):
    """What a method of the value that makes a representation returns. One that fails
    costs its own type and nothing else."""
    try:
        function = getattr(value, method, None)
        if not callable(function):
            return None
        shown = function(**options)
    except Exception:
        return None
    return shown[0] if isinstance(shown, tuple) and len(shown) == 2 else shown


def plain(value):
    if type(value) in SIMPLE:
        text = repr(value)
        return text if len(text) <= MAX_TEXT else text[:MAX_TEXT] + "… (%d characters in all)" % len(text)
    try:
        text, whole = part("pretty.py").pretty(value, MAX_TEXT)
        return text if whole else text + "… (the rest is left out)"
    except (RecursionError, OSError):  # nested too deep for the printer; or the file of it was removed
        return repr(value)[:MAX_TEXT]


SIMPLE = {int, float, complex, bool, str, bytes, type(None)}  # which repr writes as a notebook does
PARTS = {}


def part(name):
    """The module in a file of ours, which is read when it is first needed."""
    if name not in PARTS:
        module = type(sys)("yurt_" + name.partition(".")[0])
        with open(os.path.join(HERE, name), "rb") as file:
            # In our name, for tracebacks to leave it out.
            exec(compile(file.read(), SELF, "exec"), module.__dict__)
        PARTS[name] = module
    return PARTS[name]


def only_defines(source, tree, name):
    """Whether the source only defines things, and a handler of that name among them."""
    return name in source and part("defines.py").only_defines(tree, name)


def frame_data(value, data):
    """A data frame as data: what is in it, with a schema, up to so many rows."""
    if type(value).__module__.partition(".")[0] != "pandas" or type(value).__name__ != "DataFrame":
        return
    try:
        data["application/vnd.dataresource+json"] = decode(value.head(MAX_ROWS).to_json(orient="table").encode())
    except Exception:  # columns of the same name, or what has no JSON
        pass


def png(figure):
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", bbox_inches="tight")
    return buffer.getvalue()


def show(value, main=False, display_id=None, update=False):
    publish(bundle(value), main, display_id, update)


def publish(data, main=False, display_id=None, update=False):
    """Tells the host of a display."""
    clean = {}
    for mime, shown in data.items():
        mime = str(mime)
        if not is_type(mime) or len(clean) == MAX_TYPES:
            continue  # the host takes it for a forgery
        if isinstance(shown, (bytes, bytearray)):
            shown = binascii.b2a_base64(shown, newline=False).decode()
        if mime.endswith("json") or isinstance(shown, str):
            try:
                clean[mime] = Raw(encode_value(shown))
            except (TypeError, ValueError, RecursionError):
                pass
        else:
            clean[mime] = str(shown)
    message = {"data": clean, "main": main, "update": update}
    if display_id is not None:
        message["display_id"] = str(display_id)
    if clean and posix.getpid() == KERNEL.pid:
        line = encode({"id": KERNEL.current, "display": message})
        if main:  # nothing but the done comes after it, as a rule
            KERNEL.held += line + b"\n"
        else:
            flush()
            KERNEL.say(line)


def is_type(mime):
    return "/" in mime and " " not in mime and len(mime) <= MAX_TYPE and mime.isascii() and mime.isprintable()


def encode_value(value):
    text = dumps(value)
    if len(text) > MAX_ENVELOPE * 2:
        raise ValueError("too large")
    return text.encode()


def figures():
    """Shows every open figure of matplotlib, and closes it."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is None:
        return
    try:
        for number in pyplot.get_fignums():
            figure = pyplot.figure(number)
            publish({"image/png": png(figure), "text/plain": plain(figure)})
    finally:
        pyplot.close("all")


def figures_after_error():
    try:
        figures()
    except BaseException:
        pass


class DisplayHandle:
    """What display(…, display_id=…) returns: lets the display be shown anew."""

    def __init__(self, display_id):
        self.display_id = display_id

    def display(self, value, **options):
        display(value, display_id=self.display_id, **options)

    def update(self, value, **options):
        update_display(value, display_id=self.display_id, **options)


def display(*values, display_id=None, raw=False, update=False, **ignored):
    """Shows values in as many MIME types as they have, as in a notebook."""
    if display_id is True:
        display_id = binascii.hexlify(os.urandom(8)).decode()
    elif display_id is not None and not (str(display_id).isprintable() and len(str(display_id).encode()) <= MAX_DISPLAY_ID):
        raise ValueError("a display_id has at most %d bytes, and no control characters" % MAX_DISPLAY_ID)
    for value in values:
        if raw:
            publish(value, display_id=display_id, update=update)
        else:
            show(value, display_id=display_id, update=update)
    return DisplayHandle(display_id) if display_id is not None else None


def update_display(value, *, display_id, **options):
    display(value, display_id=display_id, update=True, **options)


# --- why an execution failed ---------------------------------------------------------


def explain(error):
    """The envelope of an error, after showing it on standard error. It answers
    whatever state the user's code has left the interpreter in."""
    try:
        sys.setrecursionlimit(max(sys.getrecursionlimit(), 1000))
        trace = standard("traceback").TracebackException(type(error), error, beyond_us(error.__traceback__))
        prune(trace)
        try:
            flush()
            sys.stderr.write("".join(trace.format()))
        except Exception:  # standard error may be closed, or anything
            pass
        return encode({"error": {"type": type(error).__name__, "message": message(error), "stacktrace": stack(trace)}})
    except BaseException:
        return without_trace(error)


def without_trace(error):
    """The envelope where even traceback cannot be had."""
    try:
        return encode({"error": {"type": type(error).__name__, "message": message(error), "stacktrace": Raw(b"[]")}})
    except BaseException:
        name = "".join(c for c in type(error).__name__ if c.isalnum() or c == "_")
        return b'{"error":{"type":"%s","message":"","stacktrace":[]}}' % name.encode()


def beyond_us(trace):
    """The traceback from the first frame that is the user's."""
    first = trace
    while first is not None:
        name = first.tb_frame.f_code.co_filename
        if name != SELF and not name.endswith(("asyncio/base_events.py", "asyncio/runners.py", "asyncio/futures.py")):
            return first
        first = first.tb_next
    return None


def prune(trace, depth=0):
    """Takes our frames out of what the error was caused by, too."""
    for inner in (trace.__cause__, trace.__context__):
        if inner is not None and depth < 20:
            inner.stack[:] = [frame for frame in inner.stack if frame.filename != SELF]
            prune(inner, depth + 1)
    trace.stack[:] = [frame for frame in trace.stack if frame.filename != SELF]


def stack(trace, depth=0):
    """The user's lines alone, outermost first; what the error was caused by comes first."""
    lines = []
    cause, link = trace.__cause__, "The above exception was the direct cause of the following exception:"
    if cause is None and not trace.__suppress_context__:
        cause, link = trace.__context__, "During handling of the above exception, another exception occurred:"
    if cause is not None and depth < 20:
        lines += stack(cause, depth + 1)
        lines += [list(cause.format_exception_only())[-1].rstrip("\n")[:MAX_MESSAGE], link]
    mine = standard("traceback").StackSummary.from_list([frame for frame in trace.stack if users(frame.filename)])
    lines += [text.rstrip("\n") for text in mine.format()]
    if hasattr(trace, "msg"):  # of a syntax error, this is the line that is wrong
        where = list(trace.format_exception_only())[:-1]
        lines += ["".join(where).rstrip("\n")] if where else []
    return lines[:MAX_STACK]


def users(filename):
    return filename.startswith(("<cell ", WORKSPACE + "/")) and "site-packages" not in filename


def message(error):
    try:
        if isinstance(error, SyntaxError):
            where = [str(error.filename)] if error.filename else []
            where += ["line %d" % error.lineno] if error.lineno else []
            where += ["column %d" % error.offset] if error.offset else []
            text = "%s (%s)" % (error.msg, ", ".join(where)) if where else str(error.msg)
        else:
            text = str(error)
    except BaseException:  # an exception's own __str__ may fail in any way
        text = "<exception str() failed>"
    return text if len(text) <= MAX_MESSAGE else text[:MAX_MESSAGE] + "…"


# --- what notebooks expect to find ---------------------------------------------------


class Notebook:
    """Finds, where IPython is not installed, the part of it that shows things, and
    the backend of matplotlib that shows figures through here."""

    MODULES = ("IPython", "IPython.display", "IPython.core", "IPython.core.display", "yurt_matplotlib")

    def find_spec(self, name, path=None, target=None):
        if name not in self.MODULES:
            return None
        from importlib.machinery import ModuleSpec

        return ModuleSpec(name, self, is_package=name in ("IPython", "IPython.core"))

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        if module.__name__ == "yurt_matplotlib":
            from matplotlib.backends.backend_agg import FigureCanvasAgg, FigureManagerBase

            module.FigureCanvas, module.FigureManager = FigureCanvasAgg, FigureManagerBase
            module.show = lambda *ignored, **options: figures()
            return
        module.get_ipython = lambda: None
        # What is asked for by libraries that find IPython imported, matplotlib among them.
        module.version_info, module.__version__ = (9, 0, 0, ""), "9.0.0"
        if module.__name__.endswith("display"):
            with open(os.path.join(HERE, "display.py"), "rb") as file:
                exec(compile(file.read(), module.__name__, "exec"), module.__dict__)
            module.display, module.update_display, module.DisplayHandle = display, update_display, DisplayHandle
            module.publish_display_data = lambda data, *ignored, **options: publish(data)


class ZMQInteractiveShell:
    """What get_ipython() returns. By this name and by "kernel" libraries know that what
    they show goes to a notebook and to no terminal, pandas how much of a frame it shows."""

    kernel, config = True, {}

    def run_line_magic(self, *ignored, **options):
        raise NotImplementedError(MAGIC)

    run_cell_magic = magic = system = run_line_magic


class Backend:
    """Has matplotlib, when it is imported here, take our backend: not by the
    environment, which other processes inherit."""

    NAME = "MPLBACKEND"

    def __init__(self):
        self.set = False

    def find_spec(self, name, path=None, target=None):
        if name == "matplotlib" and not os.environ.get(self.NAME):
            os.environ[self.NAME], self.set = "module://yurt_matplotlib", True
        return None

    def forget(self):
        if self.set:
            os.environ.pop(self.NAME, None)
            self.set = False


def furnish(kernel):
    """Makes the module that the user's code is in, and what it expects of a notebook."""
    module = type(sys)("__main__")
    module.__builtins__ = builtins
    kernel.module = sys.modules["__main__"] = module
    module.__dict__["display"] = display
    builtins.input = ask
    shell = ZMQInteractiveShell()
    builtins.get_ipython = lambda: shell
    sys.path.insert(0, WORKSPACE)
    sys.meta_path[:0] = [BACKEND, SOURCES]
    sys.meta_path.append(Notebook())


def settle():
    """Makes the process one for the user's code."""
    if not os.path.exists("/etc/fonts/fonts.conf"):  # without any, fontconfig complains on standard error
        os.environ.setdefault("FONTCONFIG_FILE", os.path.join(HERE, "fonts.conf"))
    sys.argv[:] = [""]
    if HERE in sys.path[:1]:
        del sys.path[0]
    for name in ("stdout", "stderr"):
        getattr(sys, name).reconfigure(line_buffering=True, errors="backslashreplace")
    null = os.open(os.devnull, os.O_RDONLY)
    posix.dup2(null, 0)
    os.close(null)


if __name__ == "__main__":
    KERNEL, BACKEND, SOURCES = Kernel(), Backend(), Sources()
    _signal.signal(_signal.SIGINT, KERNEL.interrupt)
    OURSELVES = sys.modules["__main__"]  # the user's code takes the name; this keeps it alive
    settle()
    furnish(KERNEL)
    KERNEL.serve()
