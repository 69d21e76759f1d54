"""Runs cells in the shell."""


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
        """Asks IPython a question about code."""
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
        result = evaluated(shell, code) or shell.run_cell(code, store_history=True)
        payloads = shell.payload_manager.read_payload()
        for payload in payloads:
            if payload.get("source") == "page":  # the output of object? and of magics, which notebooks show in a pager
                host.publish({mime: COLOURS.sub("", text) for mime, text in (payload.get("data") or {}).items() if isinstance(text, str)})
        if payloads:
            shell.payload_manager.clear_payload()
        if os.getpid() != self.pid:  # a fork that reached the end of the code
            host.flush()
            os._exit(not result.success)
        return result

    def complete(self):
        if self.interactive is not None:
            self.interactive.displayhook.catch_up()
        super().complete()

    def before_cancellation(self):
        """Makes the shell report a cancellation as an interrupt."""
        self.interactive.interrupted = True

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
        """Calls the handler of code that only defines things; returns None for other code."""
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
    shell.builtin_trap.__enter__()  # for good: each change of builtins makes Python look up all names anew
    shell.user_ns["_dh"][:] = [os.getcwd()]  # it was the zygote's
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
    """Makes matplotlib show figures in the notebook, also if it is preloaded."""
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
    except Exception:  # the first execution may install it, and else reports the error
        pass
    kernel.serve()


if __name__ == "__main__":
    import kernel

    OURSELVES = sys.modules["__main__"], sys.modules.pop("kernel")  # the user's code takes the names
    begin(kernel)
