"""Runs one piece of user code in a sandbox and reports its outcome.

    python3 harness.py spec.json [HOST:PORT]

The directory of the specification also has main.py, the user's code, and report.py, which
is read only after a failure, to explain it. The outcome is written to descriptor 3, once:
{"result": value} or {"error": {"type", "message", "stacktrace"}}. With HOST:PORT, a handler
is loaded once. It serves the invocations of the AWS Lambda Runtime API at that address, one
after the other, and the outcomes go there.

Each run compiles this file anew and pays for its length and its imports. It imports only
modules that the interpreter has loaded anyway, and uses the C part of json directly:
the json package costs 6 ms, asyncio 50 ms. Needs CPython 3.8 or later.
"""

import os
import sys
import time

STARTED = 0  # when this run began
HERE = WORKSPACE = ""  # the directories of this file and of the run
FILENAME = "main.py"  # the name of the user's code in tracebacks; an entry has its own
SOURCES = ""  # directory of the user's code, where it finds its modules
HANDLER_MODULE = "handler"
EXIT_INTERRUPTED = 130  # as a shell reports SIGINT
ONLY_AST = 0x400  # as ast has it


class Channel:
    """The descriptor for the outcome. It sends once, and only in the process that made
    it: a fork that reaches the end of the user's code must not send."""

    FD = 3

    def __init__(self):
        self.owner = os.getpid()
        try:
            os.set_inheritable(self.FD, False)
            self.file = self._file()
        except OSError:
            self.file = None  # run by hand

    def _file(self):
        stat = os.fstat(self.FD)
        return stat.st_dev, stat.st_ino

    def send(self, data):
        """Writes data, unless the user's code has closed the descriptor or opened a
        file that took its number."""
        file, self.file = self.file, None
        if file is None or os.getpid() != self.owner:
            return
        try:
            if self._file() == file:
                while data:
                    data = data[os.write(self.FD, data) :]
        except OSError:
            pass


def decode(text):
    """json.loads without importing json. The text is compact and valid."""
    try:
        from _json import make_scanner
    except ImportError:
        return stdlib("json").loads(text)

    class Options:
        strict = True
        object_hook = object_pairs_hook = None
        parse_float = float
        parse_int = int
        parse_constant = float

    return make_scanner(Options)(text, 0)[0]


class StandardPath:
    """Within it, imports find the standard library and installed packages, even if
    files in the workspace have their names."""

    def __enter__(self):
        self.path = sys.path
        sys.path = [entry for entry in self.path if entry not in (SOURCES, "")]

    def __exit__(self, *_):
        sys.path = self.path


def stdlib(name):
    """Imports a module of the standard library."""
    if name not in sys.modules:
        with StandardPath():
            __import__(name)
    return sys.modules[name]


def load_report():
    """The module that explains failures. It refers to this one."""
    module = type(sys)("report")
    module.__file__ = os.path.join(HERE, "report.py")
    module.harness = HARNESS
    with open(module.__file__, "rb") as file:
        exec(compile(file.read(), module.__file__, "exec"), module.__dict__)
    return module


def load_part(name):
    """A module of ours that few runs need."""
    module = type(sys)(name)
    path = os.path.join(HERE, name)
    with open(path, "rb") as file:
        exec(compile(file.read(), path, "exec"), module.__dict__)
    return module


def run_code(source, spec):
    """Runs the source as a script and returns the envelope of its last expression's value.
    If the source only defines things, a handler among them, it calls the handler."""
    name, tree = spec.get("handler"), None if spec.get("entry") else parse(source)
    if name and tree and name.encode() in source and load_part("defines.py").only_defines(tree, name):
        return run_definitions(source, spec, tree)
    _, value = execute(source, "__main__", lambda: split(source, tree))
    return value_envelope(value)


def run_definitions(source, spec, tree):
    """Calls the handler that the tree defines."""
    name = spec["handler"]
    module, _ = execute(source, HANDLER_MODULE, lambda: (compile_source(tree), None))
    function = getattr(module, name, None)
    if not callable(function):  # a name that was imported
        return b'{"result":null}'
    spec["called"], spec["event"] = True, {}
    result = call_handler(function, spec, STARTED + spec["timeout"])
    return b'{"handler":' + write_json(name) + b',"result":' + result + b"}"


def run_handler(source, spec):
    """Calls the handler of the source and returns the envelope of its result."""
    return b'{"result":' + call_handler(load_handler(source, spec), spec, STARTED + spec["timeout"]) + b"}"


def called_handler(spec):
    """Whether the run calls, or has called, a handler."""
    return spec["kind"] == "handler" or "called" in spec


def complete(awaitable):
    """Awaits it and returns the result."""
    return stdlib("asyncio").run(awaited(awaitable))


def load_handler(source, spec):
    """Runs the source and returns its handler."""
    module, _ = execute(source, HANDLER_MODULE, lambda: (compile_source(source), None))
    function = getattr(module, spec["handler"].rpartition(".")[2], None)
    if not callable(function):
        raise Failure("HandlerNotFound", load_report().handler_not_found(module, spec["handler"], function))
    return function


def execute(source, name, compiled):
    """Executes the source as the module name; returns the module and the value of its last
    expression. compiled returns the code of both, and None if there is no last expression."""
    module = type(sys)(name)
    sources = Sources()
    sources.keep(FILENAME, source.decode("utf-8", "replace"))
    sys.meta_path.insert(0, sources)
    module.__file__ = os.path.join(WORKSPACE, FILENAME)
    module.__loader__ = sources
    module.__builtins__ = __builtins__
    sys.modules[name] = module
    code, last = compiled()
    exec(code, module.__dict__)
    return module, None if last is None else eval(last, module.__dict__)


def compile_source(source, flags=0):
    """The code of a source or of its tree; or its tree."""
    try:
        return compile(source, FILENAME, "exec", flags, dont_inherit=True)
    except ValueError as error:  # NUL characters, before Python 3.12
        raise SyntaxError(str(error)) from None


def parse(source):
    """The tree of the source, or None if its nesting is too deep for Python."""
    try:
        return compile_source(source, ONLY_AST)
    except RecursionError:
        return None


def split(source, tree):
    """The code of the source without its last expression, and that expression's code or None."""
    if tree is None or not tree.body or type(tree.body[-1]).__name__ != "Expr":
        return compile_source(source if tree is None else tree), None
    from _ast import Expression

    try:
        last = compile(Expression(tree.body.pop().value), FILENAME, "eval", dont_inherit=True)
        return compile_source(tree), last
    except RecursionError:
        return compile_source(source), None


def flush():
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:  # closed, replaced, or without a reader
            pass


def run(spec, source):
    """Runs the code and returns its exit code and the envelope of its outcome."""
    try:
        return 0, (run_handler if spec["kind"] == "handler" else run_code)(source, spec)
    except SystemExit as exit:
        code = exit_code(exit)
        if not called_handler(spec):
            return code, b'{"result":null}'
        failure = Failure("SystemExit", "the handler exited with code %d instead of returning" % code)
        return code, load_report().envelope(failure)
    except BaseException as error:
        code = EXIT_INTERRUPTED if isinstance(error, KeyboardInterrupt) else 1
        return code, explain(error)


def explain(error):
    """Shows an error on standard error and returns its envelope. Must not fail, even if
    the user's code has broken parts of the interpreter."""
    try:
        sys.setrecursionlimit(max(sys.getrecursionlimit(), 1000))
        report = load_report()
        try:
            report.show(error)
        except BaseException:  # standard error may be closed
            pass
        return report.envelope(error)
    except BaseException:
        name = "".join(c for c in type(error).__name__ if c.isalnum() or c == "_")
        return b'{"error":{"type":"%s","message":"","stacktrace":[]}}' % name.encode()


def leave(code, handler):
    """Ends the process as Python does, but does not wait for a handler's threads,
    as AWS Lambda does not."""
    threading = sys.modules.get("threading")
    if handler and threading is not None:
        others = [t for t in threading.enumerate() if not t.daemon and t is not threading.main_thread()]
        if others:
            stdlib("atexit")._run_exitfuncs()
            flush()
            os._exit(code)
    sys.exit(code)


def read_source(entry):
    """The user's code: the snippet beside this file, or the entry of a project."""
    global FILENAME, SOURCES
    path = os.path.join(HERE, FILENAME)
    if entry:
        FILENAME = entry
        path = os.path.join(WORKSPACE, entry)
        SOURCES = os.path.dirname(path)
    with open(path, "rb") as file:
        return file.read()


class Invocations:
    """A client of the AWS Lambda Runtime API: importing http.client would cost 20 ms. User
    code may close the connection, or open another file under its number."""

    def __init__(self, address):
        import _socket

        host, _, port = address.rpartition(":")
        self.address, self.module, self.host = (host, int(port)), _socket, address
        self.owner = os.getpid()
        self.connection = self.file = None

    def ask(self, method, path, body=b""):
        """Sends a request and returns the response's header, by lower-case name, and body."""
        head = "%s /2018-06-01/runtime/%s HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n\r\n"
        self.connect()
        self.connection.sendall((head % (method, path, self.host, len(body))).encode() + body)
        data = b""
        while b"\r\n\r\n" not in data:
            data += self.receive()
        head, _, data = data.partition(b"\r\n\r\n")
        lines = [line.partition(":") for line in head.decode("latin-1").split("\r\n")[1:]]
        header = {name.lower(): value.strip() for name, _, value in lines}
        if header.get("connection") == "close":
            self.file = None
        pieces, missing = [data], int(header.get("content-length", 0)) - len(data)
        while missing > 0:
            pieces.append(self.receive())
            missing -= len(pieces[-1])
        return header, b"".join(pieces)

    def connect(self):
        try:
            if self.file is not None and self.stat() == self.file:
                return
        except OSError:
            pass
        if self.connection is not None:
            self.connection.detach()  # another file has the number now
        self.connection = self.module.socket(self.module.AF_INET, self.module.SOCK_STREAM)
        self.connection.connect(self.address)
        self.connection.setsockopt(self.module.IPPROTO_TCP, self.module.TCP_NODELAY, 1)
        self.file = self.stat()

    def stat(self):
        stat = os.fstat(self.connection.fileno())
        return stat.st_dev, stat.st_ino

    def receive(self):
        data = self.connection.recv(1 << 16)
        if not data:
            raise OSError("the runtime API is gone")
        return data

    def fail(self, path, error):
        """Reports an error in AWS Lambda's format."""
        fields = decode(explain(error).decode())["error"]
        flush()
        body = {"errorType": fields["type"], "errorMessage": fields["message"], "stackTrace": fields["stacktrace"]}
        self.answer(path, write_json(body))

    def answer(self, path, body):
        """Sends a response. The host breaks the connection off if it is too large."""
        try:
            self.ask("POST", path, body)
        except OSError:
            self.file = None


def serve(api, spec, source):
    """Loads the handler and serves its invocations for ever."""
    try:
        function = load_handler(source, spec)
    except BaseException as error:
        api.fail("init/error", left(error))
        leave(1, True)
    # The plan has this process's name where an invocation's id belongs.
    process, own_id = os.path.basename(HERE), spec["context"]["aws_request_id"]
    while True:
        try:
            header, event = api.ask("GET", "invocation/next")
        except OSError:  # the host has closed the runtime API
            leave(1, True)
        name = header["lambda-runtime-aws-request-id"]
        deadline = time.monotonic() + int(header["lambda-runtime-deadline-ms"]) / 1000 - time.time()
        try:
            context = dict(spec["context"], aws_request_id=name if own_id == process else own_id)
            invocation = dict(spec, event=decode(event.decode()), context=context)
            result = call_handler(function, invocation, deadline)
        except BaseException as error:
            only_here(api)
            exiting = isinstance(error, (SystemExit, KeyboardInterrupt))
            api.fail("init/error" if exiting else "invocation/%s/error" % name, left(error))
            if exiting:
                leave(1, True)
            continue
        only_here(api)
        flush()
        api.answer("invocation/%s/response" % name, result)


def left(error):
    """The error; an exit of the handler as a failure."""
    if isinstance(error, SystemExit):
        return Failure("SystemExit", "the handler exited with code %d instead of returning" % exit_code(error))
    return error


def only_here(api):
    """Ends a fork that returned from the handler: its parent answers."""
    if os.getpid() != api.owner:
        flush()
        os._exit(0)


def begin():
    """Sets the values that differ from run to run; fork.py may have executed the rest
    of this file long before."""
    global STARTED, HERE, WORKSPACE, SOURCES
    STARTED, HERE = time.monotonic(), os.path.dirname(os.path.abspath(__file__))
    WORKSPACE = SOURCES = os.getcwd()


def main():
    begin()
    channel = Channel()
    with open(sys.argv[1], "rb") as file:
        spec = file.read()
    if sys.path[:1] == [HERE]:
        del sys.path[0]
    try:
        spec = decode(spec.decode())
        source = read_source(spec.get("entry"))
    except (ValueError, RecursionError) as error:
        channel.send(explain(Failure("InvalidEvent", "the event cannot be read: %s" % error)))
        sys.exit(1)
    except OSError as error:
        channel.send(explain(Failure("FileNotFound", "the entry cannot be read: %s" % error)))
        sys.exit(1)
    api = sys.argv[2:3]
    sys.argv[:] = [FILENAME] + spec.get("args", [])
    sys.path.insert(0, SOURCES)
    if api:
        serve(Invocations(api[0]), spec, source)
    code, envelope = run(spec, source)
    flush()
    channel.send(envelope)
    leave(code, called_handler(spec))


# Keeps this module alive when the user's code takes the name __main__.
HARNESS = sys.modules[__name__]
SELF = main.__code__.co_filename
main()
