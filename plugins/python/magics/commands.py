"""Magics that run other programs."""


def alias(command, text):
    wanted = command.count("%s") - command.count("%%s")
    if "%l" in command:
        command, text = command.replace("%l", text), ""
    elif wanted > 0:
        given = text.split(None, wanted)
        if len(given) < wanted:
            return fail("the alias takes %d arguments, and %d are given: %s" % (wanted, len(given), command))
        command, text = command % tuple(given[:wanted]), "".join(given[wanted:])
    elif "|" in command:
        first, bar, rest = command.partition("|")
        command, text = first + text + " " + bar + rest, ""
    host.KERNEL.module.__dict__["_exit_code"] = shell.system((command + " " + text).strip())


@line("alias")
def new_alias(text):
    if not text.strip():
        print("Total number of aliases: %d" % len(ALIASES))
        return sorted(ALIASES.items())
    name, _, command = text.strip().partition(" ")
    if not command:
        return fail("%alias takes a name and a command")
    ALIASES[name] = command


@line("sx", "sc", "system")
def lines_of(text):
    host.KERNEL.module.__dict__["_exit_code"], out = shell.output(text)
    return shell.Lines(out.splitlines())


@cell("sx", "system", "!")
def lines_of_cell(text, body):
    return lines_of(text + "\n" + body)


@line("pip")
def pip(text):
    """Runs pip, which installs packages into the session."""
    host.KERNEL.module.__dict__["_exit_code"] = shell.system("%s -m pip %s" % (quoted(sys.executable), text))


@line("uv", "conda", "mamba", "micromamba")
def other_installers(text):
    arguments = words(text)
    arguments = arguments[1:] if arguments[:1] == ["pip"] else arguments
    if arguments[:1] == ["install"]:
        return pip(" ".join(map(quoted, [word for word in arguments if word not in ("-y", "--yes")])))
    return fail("only `install` is supported of it, as %pip has it")


def quoted(text):
    import shlex

    return shlex.quote(text)


@cell("script")
def script(text, body):
    """Runs a program that reads the cell."""
    import argparse

    parser = argparse.ArgumentParser(prog="%%script", add_help=False, exit_on_error=False) if sys.version_info >= (3, 9) else argparse.ArgumentParser(prog="%%script", add_help=False)
    for name in ("--out", "--err", "--proc"):
        parser.add_argument(name)
    for name in ("--bg", "--no-raise-error"):
        parser.add_argument(name, action="store_true")
    try:
        given, argv = parser.parse_known_args(words(text))
    except (argparse.ArgumentError, SystemExit) as error:
        return fail("%%%%script: %s" % error)
    if not argv:
        return fail("%%script takes the program that reads the cell")
    if argv[0] in shell.PYTHONS:
        argv[0] = sys.executable
    return in_background(argv, body) if given.bg else fed(argv, body, given)


def fed(argv, body, given):
    names = host.KERNEL.module.__dict__
    source = shell.in_memory(body.encode())
    try:
        with shell.Output() as out, shell.Output() as err:
            hidden = shell.captured()
            code = None
            try:
                code = shell.run(argv, source, out.fd if given.out or hidden else None, err.fd if given.err or hidden else None)
            finally:
                for name, stream, text in (given.out, sys.stdout, out.text()), (given.err, sys.stderr, err.text()):
                    if name:
                        names[name] = text
                    else:
                        stream.write(text)
    finally:
        os.close(source)
    names["_exit_code"] = code
    if code and not given.no_raise_error:
        from subprocess import CalledProcessError

        raise CalledProcessError(code, body)


def in_background(argv, body):
    import subprocess

    source = shell.in_memory(body.encode())
    try:
        subprocess.Popen(argv, stdin=source, start_new_session=True)
    finally:
        os.close(source)
