"""The loop of the kernel.

Requests come from the FIFO "requests" in the directory, a JSON object a line. Messages about
them go to descriptor 3, likewise: "display" for what an execution shows, and "done". With each
done goes a mark to descriptors 1 and 2: output before it belongs to that execution. SIGINT
interrupts the execution that runs.
"""


INTERRUPTED = b'{"error":{"type":"KeyboardInterrupt","message":"","stacktrace":[]}}'


class Kernel(Loop):
    """The loop, and the state of the execution that runs."""

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
        self.module = None
        self.history = History()
        self.shell = None  # once code has asked for it
        self.shown = None  # a list of what %%capture keeps from being shown
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
            if "ask" in request:
                self.tell(request, INTERRUPTED)
            elif self.answer is None:
                self.finish_with(1, INTERRUPTED, False)
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

    def tell(self, request, envelope):
        """Says the answer to a question."""
        self.interrupted = False
        self.say(encode({"id": request["id"], "done": {"exit_code": 0, "exiting": False, "envelope": Raw(envelope)}}))

    def consider(self, request):
        """Answers a question about code, which is not run."""
        _signal.signal(_signal.SIGINT, self.interrupt)
        try:
            self.running = True
            self.check()
            data = b'{"result":' + write_json(self.consult(request)) + b"}"
            self.running = False
        except BaseException as error:
            self.running = False
            data = encode({"error": {"type": type(error).__name__, "message": message(error), "stacktrace": Raw(b"[]")}})
        if posix.getpid() != self.pid:
            posix._exit(0)
        self.tell(request, data)

    def consult(self, request):
        """The answer to a question."""
        answers, names = part("complete.py"), self.module.__dict__
        answers.standard = standard
        code, cursor = request["code"], request["cursor"]
        if request["ask"] == "inspect":
            return answers.inspect(code, cursor, request.get("detail", 0), names)
        return answers.complete(code, cursor, names)

    def handle(self, request):
        if "ask" in request:
            self.consider(request)
            return
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
        if self.counted() > 0:
            message["done"]["execution_count"] = self.counted()
        if broken is not None:
            message["done"]["broken"] = broken
        return encode(message), b"\x1eyurt:%s\x1e" % self.current.encode()

    def counted(self):
        """The number of the execution among those of the interpreter; 0 where it has none."""
        return self.count

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
                self.history.begin(self.module.__dict__, self.count, request["code"])
                if self.shell is not None:
                    self.shell.before(request["code"])
                value, called = self.execute(request["code"], "<cell %d>" % self.count, request.get("handler"))
                if posix.getpid() != self.pid:  # a fork that fell off the end of the code
                    flush()
                    posix._exit(0)
                if value is not None:
                    if type(value) is Leave:  # its name alone
                        value()
                    self.history.keep(self.module.__dict__, self.count, value)
                    show(value, main=True)
                figures()
                if self.shell is not None:
                    self.shell.after(value, None)
            finally:
                self.running = False
            return called or (0, value_envelope(value), False)
        except SystemExit as exit:
            self.running = False
            code = exit_code(exit)
            if posix.getpid() != self.pid:
                posix._exit(code)
            figures_after_error()
            return code, explain_exit(exit) if code else b'{"result":null}', False
        except BaseException as error:
            self.running = False
            if posix.getpid() != self.pid:
                standard("traceback").print_exc()
                posix._exit(1)
            figures_after_error()
            code = EXIT_INTERRUPTED if isinstance(error, KeyboardInterrupt) else 1
            envelope = explain(error)
            if self.shell is not None:
                self.shell.after(None, error)
            return code, envelope, False
        finally:
            restore()
            BACKEND.forget()

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
        if self.idling and self.waiting():  # a task keeps a request from being read
            raise KeyboardInterrupt
        self.interrupted = self.busy or self.waiting()

    def in_code(self):
        """Whether the caller is the user's code in the main thread."""
        return _thread.get_ident() == self.main and posix.getpid() == self.pid

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
        source = automagic(source, self.module.__dict__) or source
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
        except SyntaxError:
            other = translated(source, filename, flags)
            if other is None:
                raise
            tree, source = other
        except ValueError as error:  # NUL characters, before Python 3.12
            raise SyntaxError(str(error)) from None
        if self.shell is not None and self.shell.ast_node_interactivity != "last_expr":
            self.shell.show_more(tree)
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

    def leave(self):
        """Does what Python does at its end, while the output is still this execution's."""
        import atexit

        try:
            atexit._run_exitfuncs()
        except BaseException:
            pass
        flush()
        return b'{"result":null}'


def repair():
    """Opens standard output and error again if user code closed them."""
    for number, name in ((1, "stdout"), (2, "stderr")):
        stream = getattr(sys, name, None)
        if stream is None or getattr(stream, "closed", False):
            stream = open(number, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False)
            setattr(sys, name, stream)
            setattr(sys, "__%s__" % name, stream)


def flush():
    for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
        try:
            stream.flush()
        except Exception:  # closed, replaced, or nobody reads it
            pass


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
