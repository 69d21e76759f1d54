"""Magics about files and directories."""


@cell("writefile", "file")
def write_file(text, body):
    given, rest = options(text.replace("--append", "-a"), "a", "%%writefile")
    arguments = words(rest)
    if "-a" in arguments:
        arguments.remove("-a")
        given["a"] = True
    if len(arguments) != 1:
        return fail("%%writefile takes the name of one file, and -a to append to it")
    path = os.path.expanduser(arguments[0])
    print("%s %s" % ("Appending to" if "a" in given else "Overwriting" if os.path.exists(path) else "Writing", arguments[0]))
    with open(path, "a" if "a" in given else "w", encoding="utf-8") as file:
        file.write(body)


@line("pwd")
def working_directory(text):
    return os.getcwd()


@line("cd")
def change_directory(text):
    given, rest = options(text if text.strip() != "-" else "", "q", "%cd")
    past = host.KERNEL.module.__dict__.setdefault("_dh", [os.getcwd()])
    if text.strip() == "-":
        if len(past) < 2:
            return fail("%cd - has no directory before this one")
        path = past[-2]
    else:
        path = os.path.expanduser(rest.strip().strip("'\"") or "~")
    os.chdir(path)
    past.append(os.getcwd())
    if "q" not in given:
        print(os.getcwd())


@line("dhist")
def directories(text):
    print("Directory history (kept in _dh)")
    for count, path in enumerate(host.KERNEL.module.__dict__.get("_dh", [os.getcwd()])):
        print("%d: %s" % (count, path))


@line("pushd")
def push_directory(text):
    STACK.append(os.getcwd())
    change_directory(text)


@line("popd")
def pop_directory(text):
    if not STACK:
        return fail("%popd: the stack of directories is empty")
    change_directory(STACK.pop())


STACK = []


@line("env", "set_env")
def environment(text):
    text = text.strip()
    if not text:
        return dict(os.environ)
    mark = "=" if "=" in text.partition(" ")[0] or "=" in text else None
    name, given, value = text.partition(mark) if mark else text.partition(" ")
    name = name.strip()
    if not given:
        if name not in os.environ:
            return fail("Environment does not have key: %s" % name)
        return os.environ[name]
    if " " in name:
        return fail("refusing to set the variable %r, whose name has a space" % name)
    os.environ[name] = value.strip()
    print("env: %s=%s" % (name, value.strip()))


@line("run")
def run_file(text):
    """Runs a file as a program and adds its names to the user's."""
    given, rest = options(text, "inetdpm:", "%run")
    argv = ([given["m"]] if "m" in given else []) + words(rest)
    if not argv:
        return fail("%run takes the name of a file")
    names = host.KERNEL.module.__dict__
    kept, main = sys.argv[:], sys.modules["__main__"]
    sys.argv[:] = argv
    try:
        if "m" in given:
            import runpy

            made = runpy.run_module(argv[0], run_name="__main__", alter_sys=False)
        else:
            sys.argv[0] = file_of(argv[0])
            made = run_path(sys.argv[0], names if "i" in given else None, "n" not in given)
    finally:
        sys.argv[:], sys.modules["__main__"] = kept, main
    if made is not names:
        names.update((name, value) for name, value in made.items() if not (name.startswith("__") and name.endswith("__")))


def file_of(name):
    path = os.path.expanduser(name)
    for candidate in (path, path + ".py", path + ".ipy"):
        if os.path.isfile(candidate):
            return candidate
    raise FileNotFoundError(2, "there is no such file", name)


def run_path(path, names, main):
    """Runs a file in these names, or else in a new module, and returns the names."""
    with open(path, "rb") as file:
        data = file.read()
    shared = host.KERNEL.module.__dict__
    if path.endswith((".ipynb", ".ipy")):
        for source in cells_of(path, data):
            shell.run_text(source)
        return shared
    code = compile(data, os.path.abspath(path), "exec", 0, True)
    if names is None:
        module = type(sys)("__main__" if main else os.path.splitext(os.path.basename(path))[0])
        module.__file__, module.__builtins__ = path, host.builtins
        sys.modules["__main__"] = module if main else sys.modules["__main__"]
        KEPT.append(module)  # its functions need its names
        names = module.__dict__
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    try:
        exec(code, names)
    except SystemExit as exit:
        if exit.code not in (None, 0):
            raise
    finally:
        del sys.path[0]
    return names


def cells_of(path, data):
    if path.endswith(".ipy"):
        return [data.decode()]
    cells = host.standard("json").loads(data)["cells"]
    return ["".join(each["source"]) for each in cells if each.get("cell_type") == "code"]


KEPT = []


@line("pycat")
def show_file(text):
    with open(file_of(text.strip()), encoding="utf-8") as file:
        host.publish({"text/plain": file.read()})
