"""Runs one piece of user code in a sandbox and hands over what came of it.

    python3 harness.py spec.json [HOST:PORT]

Beside the specification lie main.py, the user's code, and report.py, which explains
failures and is read only when there is one. The outcome goes to descriptor 3, once:
{"result": value} or {"error": {"type", "message", "stacktrace"}}. With HOST:PORT, a handler
is loaded once and serves the invocations that the AWS Lambda Runtime API there hands out,
one after the other; the outcomes go there.

Every run pays for what this file imports and for its length, since a script is
compiled each time. So it imports what the interpreter has loaded anyway, and uses
the C part of json directly: the json package costs 6 ms, asyncio 50 ms. Needs
CPython 3.8 or later.
"""

import os
import sys
import time

STARTED = 0  # when this run began
HERE = WORKSPACE = ""  # the directories of this file and of the run
FILENAME = "main.py"  # what the user's code is called in tracebacks; an entry, by its own name
SOURCES = ""  # directory of the user's code, where it finds its modules
HANDLER_MODULE = "handler"
EXIT_INTERRUPTED = 130  # as a shell reports SIGINT
ONLY_AST = 0x400  # as ast has it


class Channel:
    """The descriptor that takes the outcome. It sends once, and only in the process
    that made it: a fork that falls off the end of the user's code has no say."""

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
        """Writes data. The user's code may have closed the descriptor, or opened a
        file that took its number: then there is nobody to tell."""
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
    """Within it, imports find the standard library and what is installed, whatever
    files of the same names lie in the workspace."""

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
    """The module that explains failures. It is given this one."""
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
    """Runs the source as a script is run, and returns the envelope of what its last expression
    is. Of source that only defines things, a handler among them, that is called."""
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
    """Whether it is a handler that runs, or has run."""
    return spec["kind"] == "handler" or "called" in spec


def complete(awaitable):
    """What an awaitable comes to."""
    return stdlib("asyncio").run(awaited(awaitable))


def load_handler(source, spec):
    """Runs the source and returns its handler."""
    module, _ = execute(source, HANDLER_MODULE, lambda: (compile_source(source), None))
    function = getattr(module, spec["handler"].rpartition(".")[2], None)
    if not callable(function):
        raise Failure("HandlerNotFound", load_report().handler_not_found(module, spec["handler"], function))
    return function


def execute(source, name, compiled):
    """Executes the source as the module name, and returns the module and the value of its last
    expression. compiled returns their code, and None for no expression."""
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
    """The code of the source, which may be its tree; or its tree."""
    try:
        return compile(source, FILENAME, "exec", flags, dont_inherit=True)
    except ValueError as error:  # NUL characters, before Python 3.12
        raise SyntaxError(str(error)) from None


def parse(source):
    """The tree of the source, or None where that is nested deeper than Python can make one."""
    try:
        return compile_source(source, ONLY_AST)
    except RecursionError:
        return None


def split(source, tree):
    """The code of the source and, apart, that of its last expression; None for none."""
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
        except Exception:  # closed, replaced, or nobody reads it
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
    """The envelope of an error, after showing it on standard error. It answers
    whatever state the user's code has left the interpreter in."""
    try:
        sys.setrecursionlimit(max(sys.getrecursionlimit(), 1000))
        report = load_report()
        try:
            report.show(error)
        except BaseException:  # standard error may be closed, or anything
            pass
        return report.envelope(error)
    except BaseException:
        name = "".join(c for c in type(error).__name__ if c.isalnum() or c == "_")
        return b'{"error":{"type":"%s","message":"","stacktrace":[]}}' % name.encode()


def leave(code, handler):
    """Ends the process as Python does. A handler's own threads are not waited for:
    it has returned, and AWS Lambda does not wait either."""
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
    """The AWS Lambda Runtime API, as far as it is needed here: http.client costs 20 ms to
    import. User code may close the connection, or have another file take its number."""

    def __init__(self, address):
        import _socket

        host, _, port = address.rpartition(":")
        self.address, self.module, self.host = (host, int(port)), _socket, address
        self.owner = os.getpid()
        self.connection = self.file = None

    def ask(self, method, path, body=b""):
        """Sends a request and returns the header, by lower-case names, and the body of the answer."""
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
            self.connection.detach()  # the number is another's by now
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
        """Tells of an error, in AWS Lambda's words."""
        fields = decode(explain(error).decode())["error"]
        flush()
        body = {"errorType": fields["type"], "errorMessage": fields["message"], "stackTrace": fields["stacktrace"]}
        self.answer(path, write_json(body))

    def answer(self, path, body):
        """Sends an answer. One that is too large breaks the connection off, and is known to be so."""
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
    # What the plan could not know of an invocation is named after this process.
    process, own_id = os.path.basename(HERE), spec["context"]["aws_request_id"]
    while True:
        try:
            header, event = api.ask("GET", "invocation/next")
        except OSError:  # whoever asked for this process is gone
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
    """The error, or what it means that the handler exits."""
    if isinstance(error, SystemExit):
        return Failure("SystemExit", "the handler exited with code %d instead of returning" % exit_code(error))
    return error


def only_here(api):
    """Ends a fork that came out of the handler: its parent has the say."""
    if os.getpid() != api.owner:
        flush()
        os._exit(0)


def begin():
    """Finds out what is different from run to run; the rest of this file may have been
    executed long before, by fork.py."""
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


# The user's code takes the name __main__; this keeps the module that had it alive.
HARNESS = sys.modules[__name__]
SELF = main.__code__.co_filename
main()
