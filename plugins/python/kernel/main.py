"""The request loop of the kernel.

It reads requests from the FIFO "requests" in the directory, a JSON object a line. It writes
messages to descriptor 3 in the same format: "display" and "done". With each "done" it writes
a mark to descriptors 1 and 2: output before the mark belongs to that execution. SIGINT
interrupts the running execution.
"""


INTERRUPTED = b'{"error":{"type":"KeyboardInterrupt","message":"","stacktrace":[]}}'


class Kernel(Loop):
    """The loop and the state of the running execution."""

    def __init__(self):
        self.pid = posix.getpid()
        self.requests = os.open(REQUESTS, os.O_RDONLY | os.O_CLOEXEC)
        # Numbers that user code does not use by chance.
        self.control = self.aside(CONTROL)
        os.close(CONTROL)
        self.streams = [self.aside(1), self.aside(2)]
        self.buffer = b""
        # Two, since the signal handler may poll while the loop does.
        self.ready, self.glance = select.poll(), select.poll()
        self.ready.register(self.requests, select.POLLIN)
        self.glance.register(self.requests, select.POLLIN)
        # For interrupts. Running: user code is interrupted at once. Busy: a request is, before
        # it begins. Writing: the message is finished first.
        self.running = self.busy = self.writing = self.interrupted = False
        self.main, self.turn = _thread.get_ident(), _thread.allocate_lock()
        self.current = None
        self.answer = None  # the last done, with its marks
        self.count = 0
        self.futures = 0
        self.module = None
        self.history = History()
        self.shell = None  # once code has asked for it
        self.shown = None  # the displays that %%capture holds back
        self.held = b""  # a message to send with the next one
        self.empty = None  # prepared empty standard input for the next execution

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
        except KeyboardInterrupt:  # the code had just ended
            self.running = False
            if "ask" in request:
                self.tell(request, INTERRUPTED)
            elif self.answer is None:
                self.finish_with(1, INTERRUPTED, False)
        self.complete()

    def broken(self, error):
        """Ends the interpreter, as the kernel's own code failed and can serve no more requests. The
        host reports an interpreter that ends without a "done". Python's normal exit would wait for
        the user's threads."""
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
        """Prepares the next execution after a response, and imports the modules that explain a
        failure, before one can happen."""
        try:
            self.empty = Stdin(b"")
            if self.count == 1:
                standard("traceback")
        except BaseException:  # no free descriptor, or an interrupt; the next call tries again
            pass

    def request(self):
        """The next request."""
        self.busy = False
        # An interrupt since the last response is for a waiting request, if one is there.
        early, self.interrupted = self.interrupted, False
        if early and self.waiting():
            self.interrupted = True
        if not self.buffer:
            self.wait()
        self.busy = True
        while b"\n" not in self.buffer:  # not for long: requests come whole
            self.buffer += posix.read(self.requests, 65536)
        line, _, self.buffer = self.buffer.partition(b"\n")
        request = decode(line)
        if "file" in request:
            with open(request["file"], "rb") as file:
                request = decode(file.read().rstrip())
        return request

    def tell(self, request, envelope):
        """Sends the answer to a question."""
        self.interrupted = False
        self.say(encode({"id": request["id"], "done": {"exit_code": 0, "exiting": False, "envelope": Raw(envelope)}}))

    def consider(self, request):
        """Answers a question about code without running it."""
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
        return answers.complete(code, cursor, names, lambda kind: magics_part().names_of(kind, user_shell()))

    def handle(self, request):
        if "ask" in request:
            self.consider(request)
            return
        if request["id"] == self.current:
            if self.answer is not None:
                self.reply(*self.answer)  # the host has restarted and lost it
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
        """The execution's number in this interpreter; 0 if executions are not counted."""
        return self.count

    def reply(self, message, mark):
        for stream in self.streams:
            try:
                posix.write(stream, mark)
            except OSError:  # closed by user code that closes everything
                pass
        self.say(message)

    def say(self, message):
        """Writes a message whole, despite other threads and interrupts."""
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
        """Runs a request and returns its exit code, its envelope and whether the
        interpreter must end."""
        self.count += 1
        restore = self.prepare(request)
        try:
            try:
                self.running = True
                self.check()
                code = of_macro(request["code"], self.module.__dict__)
                self.history.begin(self.module.__dict__, self.count, code)
                if self.shell is not None:
                    self.shell.before(code)
                value, called = self.execute(code, "<cell %d>" % self.count, request.get("handler"))
                if posix.getpid() != self.pid:  # a fork that reached the end of the code
                    flush()
                    posix._exit(0)
                if value is not None:
                    if type(value) is Leave:  # the name without a call
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
        """Sets up an execution's streams and files, and returns a function that undoes it."""
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
        """Whether an unread request is there."""
        return bool(self.buffer) or self.readable(self.glance.poll(0))

    @staticmethod
    def readable(events):
        return any(event & select.POLLIN for _, event in events)

    def execute(self, source, filename, handler):
        """Runs the source and returns the value of its last expression, or None; and the result
        of its handler, or None if that was not called."""
        if source.startswith("\ufeff"):  # Python accepts a byte order mark only in a file
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
        """Calls a handler and returns the same values as run."""
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
        try:
            return self.compiled(source, filename, handler)
        except SyntaxError as error:
            add_line(error, source, filename)
            raise

    def compiled(self, source, filename, handler):
        flags = TOP_LEVEL_AWAIT | self.futures
        if expression_at_most(source):
            try:
                return None, compile(source, filename, "eval", flags, True), False
            except (SyntaxError, ValueError):  # not one expression, or wrong: tried below
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
        """Runs Python's exit functions while output still belongs to this execution."""
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
        except Exception:  # closed, replaced, or without a reader
            pass


def settle():
    """Prepares the process for the user's code."""
    if not os.path.exists("/etc/fonts/fonts.conf"):  # fontconfig would complain on standard error
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
    OURSELVES = sys.modules["__main__"]  # alive, though user code takes its name
    settle()
    furnish(KERNEL)
    KERNEL.serve()
