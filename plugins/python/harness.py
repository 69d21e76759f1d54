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
MAX_DEPTH = 900  # of a result; JSON readers have limits too

# Attributes of the objects inside a handler's context.
IDENTITY = ("cognito_identity_id", "cognito_identity_pool_id")
CLIENT_CONTEXT = ("client", "custom", "env")
CLIENT = ("installation_id", "app_title", "app_version_name", "app_version_code", "app_package_name")


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


class Failure(Exception):
    """What went wrong in a way that is no exception of the user's code."""

    def __init__(self, kind, message):
        super().__init__(message)
        self.kind = kind


class Context:
    """The second argument of a handler, with the fields that AWS Lambda documents."""

    def __init__(self, fields, deadline):
        self.__dict__.update(fields)
        self.identity = Record(self.identity or {}, IDENTITY)
        if self.client_context is not None:
            self.client_context = Record(self.client_context, CLIENT_CONTEXT)
            if isinstance(self.client_context.client, dict):
                self.client_context.client = Record(self.client_context.client, CLIENT)
        self._deadline = deadline  # by the monotonic clock

    def get_remaining_time_in_millis(self):
        """Milliseconds until the execution is ended, never below zero."""
        return max(0, int((self._deadline - time.monotonic()) * 1000))

    def log(self, message):
        """Writes message to standard output, as AWS Lambda writes it to the log."""
        sys.stdout.write(str(message))

    def __repr__(self):
        return "Context(%s)" % ", ".join("%s=%r" % item for item in self.__dict__.items() if item[0][0] != "_")


class Record:
    """An object made of a JSON object; names that it lacks are None."""

    def __init__(self, fields, names):
        self.__dict__.update(dict.fromkeys(names))
        self.__dict__.update(fields)

    def __repr__(self):
        return "Record(%r)" % self.__dict__


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


def encode(value):
    """Strict json.dumps to bytes, without importing json: raises TypeError, ValueError
    or RecursionError for what JSON cannot hold."""
    try:
        return _encode(value, "encode_basestring").encode()
    except UnicodeEncodeError:  # half a surrogate pair; in ASCII it can be written
        return _encode(value, "encode_basestring_ascii").encode()


def _encode(value, strings):
    try:
        import _json

        encoder = _json.make_encoder({}, _refuse, getattr(_json, strings), None, ":", ",", False, False, False)
    except (ImportError, AttributeError, TypeError):  # a Python with another C part, or none
        ascii_only = strings.endswith("ascii")
        return stdlib("json").dumps(value, ensure_ascii=ascii_only, allow_nan=False, separators=(",", ":"))
    return "".join(encoder(value, 0))


def _refuse(value):
    raise TypeError(type(value).__name__)


def exact(value):
    """Whether value, which has no cycles, is nested no deeper than allowed and has
    string keys alone. json would make strings of numbers, and two keys become one."""
    level, depth = [value], 0
    while level:
        inner = []
        for node in level:
            if isinstance(node, dict):
                for key in node:
                    if not isinstance(key, str):
                        return False
                node = node.values()
            elif not isinstance(node, (list, tuple)):
                continue
            inner.extend(item for item in node if isinstance(item, (dict, list, tuple)))
        level, depth = inner, depth + 1
        if depth > MAX_DEPTH:
            return False
    return True


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


def run_code(source, spec):
    """Runs the source as a script is run."""
    execute(source, "__main__")
    return b"null"


def run_handler(source, spec):
    """Calls the handler of the source and returns its result in JSON."""
    return call_handler(load_handler(source, spec), spec, STARTED + spec["timeout"])


def load_handler(source, spec):
    """Runs the source and returns its handler."""
    module = execute(source, HANDLER_MODULE)
    function = getattr(module, spec["handler"].rpartition(".")[2], None)
    if not callable(function):
        raise Failure("HandlerNotFound", load_report().handler_not_found(module, spec["handler"], function))
    return function


def call_handler(function, spec, deadline):
    args = [spec["event"]]
    if takes_context(function):
        args.append(Context(spec["context"], deadline))
    result = function(*args)
    if hasattr(type(result), "__await__"):
        result = stdlib("asyncio").run(finish(result))
    return encode_result(result, spec["max_result"])


async def finish(awaitable):
    return await awaitable


def encode_result(result, limit):
    try:
        data = encode(result)
        writable = exact(result)
    except (TypeError, ValueError, RecursionError):
        writable = False
    if not writable:
        raise Failure("ResultNotSerializable", load_report().not_serializable(result))
    if len(data) > limit:
        text = "the result has %d bytes of JSON; at most %d are allowed: write it to a file instead"
        raise Failure("ResultTooLarge", text % (len(data), limit))
    return data


def execute(source, name):
    """Executes the source as the module name, and returns the module."""
    module = type(sys)(name)
    sources = Sources()
    sources.keep(FILENAME, source.decode("utf-8", "replace"))
    sys.meta_path.insert(0, sources)
    module.__file__ = os.path.join(WORKSPACE, FILENAME)
    module.__loader__ = sources
    module.__builtins__ = __builtins__
    sys.modules[name] = module
    exec(compile_source(source), module.__dict__)
    return module


def compile_source(source):
    try:
        return compile(source, FILENAME, "exec", dont_inherit=True)
    except ValueError as error:  # NUL characters, before Python 3.12
        raise SyntaxError(str(error)) from None


def takes_context(function):
    """Whether a handler can be called with two arguments, or else with the event alone."""
    bound = hasattr(function, "__self__")
    while True:
        code = getattr(function, "__code__", None)
        if code is None:
            return load_report().takes_context(function)
        inner = getattr(function, "__wrapped__", None)
        # A decorator that takes *args passes on what the function inside it takes.
        if not code.co_flags & 0x04 or inner is None:
            return code.co_flags & 0x04 or code.co_argcount - bound >= 2
        function = inner


def flush():
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:  # closed, replaced, or nobody reads it
            pass


def run(spec, source):
    """Runs the code and returns its exit code and the envelope of its outcome."""
    handler = spec["kind"] == "handler"
    try:
        result = (run_handler if handler else run_code)(source, spec)
        return 0, b'{"result":' + result + b"}"
    except SystemExit as exit:
        code = exit_code(exit)
        if not handler:
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
        self.answer(path, encode(body))

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
    leave(code, spec["kind"] == "handler")


# The user's code takes the name __main__; this keeps the module that had it alive.
HARNESS = sys.modules[__name__]
SELF = main.__code__.co_filename
main()
