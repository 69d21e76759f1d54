"""The event loop of the interpreter: code that awaits runs in it, and its tasks continue while the
kernel waits for the next request."""


class Loop:
    """The kernel's use of asyncio, which is imported when code first needs it."""

    loop = None
    idling = False  # tasks run without an execution

    def own_loop(self):
        """The loop that the user's code has set for the thread, or else a new one."""
        import asyncio

        if self.loop is None or self.loop.is_closed():
            made = self.threads_loop()
            self.loop = made if made is not None and not made.is_closed() else asyncio.new_event_loop()
            asyncio.set_event_loop(self.loop)
        return self.loop

    @staticmethod
    def threads_loop():
        """The loop of asyncio.get_event_loop(), or None. Calling that would make a loop."""
        policy = getattr(sys.modules.get("asyncio.events"), "_event_loop_policy", None)
        return getattr(getattr(policy, "_local", None), "_loop", None)

    def finish(self, coroutine):
        """Runs a coroutine, such as code with an await at its top level."""
        loop = self.own_loop()
        task = loop.create_task(coroutine)
        try:
            return loop.run_until_complete(task)
        except (KeyboardInterrupt, SystemExit):
            self.before_cancellation()
            task.cancel()
            try:
                loop.run_until_complete(task)
            except BaseException:
                pass
            raise

    def before_cancellation(self):
        """Runs before an interrupt cancels code that awaits."""

    def wait(self):
        """Returns when a request can be read."""
        if self.loop is not None:
            if self.threads_loop() is None and not self.loop.is_closed():  # asyncio.run has unset it
                sys.modules["asyncio.events"].set_event_loop(self.loop)
            self.go_on(once=True)  # tasks begin even if a request has come already
        while self.loop is not None and not self.loop.is_closed():
            events = self.ready.poll(0)
            if self.readable(events):
                return
            if events:  # the host has gone: a new descriptor is silent until it is back
                anew = os.open(REQUESTS, os.O_RDONLY | os.O_NONBLOCK)
                os.set_blocking(anew, True)
                os.dup2(anew, self.requests, inheritable=False)
                os.close(anew)
            if not self.go_on():
                break
        while not self.readable(self.ready.poll()):
            os.close(os.open(REQUESTS, os.O_RDONLY))  # waits until the host is back

    def go_on(self, once=False):
        """Runs the loop until the FIFO of requests has an event, or once. Returns whether it can run."""
        loop = self.loop
        try:
            if once:
                loop.call_soon(loop.stop)
            else:
                loop.add_reader(self.requests, loop.stop)
            self.idling = True
            try:
                loop.run_forever()
            finally:
                self.idling = False
                if not once:
                    loop.remove_reader(self.requests)
        except KeyboardInterrupt:  # meant for the waiting request: see interrupt
            self.interrupted = True
        except SystemExit:  # a task called it and has ended
            pass
        except Exception:
            return False
        if posix.getpid() != self.pid:  # a fork that reached the end of a task
            posix._exit(0)
        return True


class Tasks:
    """Makes asyncio.create_task and ensure_future work without a running loop, as in a notebook: the
    task runs when the interpreter next awaits or waits. An import hook applies this when asyncio is
    first imported."""

    def find_spec(self, name, path=None, target=None):
        if name != "asyncio.tasks":
            return None
        sys.meta_path.remove(self)
        for finder in sys.meta_path:
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                self.loader, spec.loader = spec.loader, self
                return spec

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        module.__loader__ = module.__spec__.loader = self.loader
        self.loader.exec_module(module)
        if not users(str(getattr(module, "__file__", ""))):
            self.adapt(module)

    @staticmethod
    def adapt(tasks):
        running, make, ensure = tasks.events._get_running_loop, tasks.create_task, tasks.ensure_future

        def create_task(coro, **options):
            if running() is not None or not KERNEL.in_code():
                return make(coro, **options)
            return KERNEL.own_loop().create_task(coro, **{name: value for name, value in options.items() if value is not None})

        def ensure_future(coro_or_future, *, loop=None):
            if loop is None and running() is None and KERNEL.in_code():
                loop = KERNEL.own_loop()
            return ensure(coro_or_future, loop=loop)

        for function, original in (create_task, make), (ensure_future, ensure):
            function.__doc__, function.__module__, function.__qualname__ = original.__doc__, original.__module__, original.__qualname__
            function.__wrapped__ = original
            setattr(tasks, function.__name__, function)


def adapt_asyncio():
    """Adapts asyncio if a template has preloaded it, or else when it is imported."""
    if "asyncio.tasks" not in sys.modules:
        sys.meta_path.insert(0, Tasks())
        return
    Tasks.adapt(sys.modules["asyncio.tasks"])
    package = sys.modules.get("asyncio")
    for name in ("create_task", "ensure_future"):
        setattr(package, name, getattr(sys.modules["asyncio.tasks"], name))
