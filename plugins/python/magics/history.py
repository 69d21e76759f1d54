"""Magics about earlier cells."""

RANGE = "numbers of cells and ranges such as 1-3 or 4-"


@line("history", "hist")
def history(text):
    given, rest = options(text, "nol:tpuf:g:", "%history")
    inputs = cells()
    last = len(inputs) - 1
    first = max(1, last - number(given, "l", "10", "%history", 10**9)) if "l" in given else 1
    wanted = ranges(rest, last) if rest.strip() else range(first, last)
    for n in wanted:
        mark = "\n" if "\n" in inputs[n] else " "
        print("%4d:%s%s" % (n, mark, inputs[n]) if "n" in given else inputs[n])


def cells():
    """The sources of the cells by their numbers, with the running one last."""
    return host.KERNEL.module.__dict__.get("_ih") or [""]


def ranges(text, last):
    """The numbers in ranges such as 1-3 5."""
    found = []
    for word in text.split():
        numbers = numbers_of(word, last)
        if numbers is None:
            fail("%%history takes %s, and no %r" % (RANGE, word))
        found += numbers
    return found


def numbers_of(word, last):
    """The numbers in one range, of cells that there are; None if the word is no range."""
    begin, dash, end = word.partition("-")
    if not begin.isdigit() or end and not end.isdigit():
        return None
    return range(max(1, int(begin)), min(last, int(end or last) if dash else int(begin)) + 1)


def earlier(text, magic, raw):
    """The source of cells, of a file, or of a name's text or macro; without a text, all cells before this one.
    Not raw, it has calls in place of the magics and commands of cells."""
    inputs = cells()
    last = len(inputs) - 1
    numbers = [numbers_of(word, last) for word in text.split()] or [range(1, last)]
    if None not in numbers:
        source = "\n".join(inputs[n] if raw else in_python(inputs[n]) for each in numbers for n in each)
        if not source:
            fail("%s: the cells of this interpreter are 1 to %d, and %r selects none with code" % (magic, last, text))
        return source
    if os.path.isfile(os.path.expanduser(text)):
        with open(os.path.expanduser(text), encoding="utf-8") as file:
            return file.read()
    value, known = looked_up(text)
    if isinstance(value, (str, Macro)):
        return str(value)
    return fail("%s takes %s, a file, or the name of a text or a macro, and no %r" % (magic, RANGE, text))


class Macro:
    """Code under a name, which a cell runs that is the name alone."""

    def __init__(self, value):
        self.value = "\n".join(each for each in value.splitlines() if not each.startswith("# coding:")) + "\n"

    def __str__(self):
        return self.value

    def __repr__(self):
        return "IPython.macro.Macro(%r)" % self.value

    def __add__(self, other):
        if not isinstance(other, (str, Macro)):
            raise TypeError("unsupported operand type(s) for +: 'Macro' and %r" % type(other).__name__)
        return Macro(self.value + str(other))


Macro.__module__ = "IPython.core.macro"  # by this name the kernel knows a macro


@line("macro")
def define_macro(text):
    """Gives code a name."""
    given, rest = options(text, "rq", "%macro")
    names = host.KERNEL.module.__dict__
    name, _, selection = rest.strip().partition(" ")
    if not name:
        return sorted(key for key, value in names.items() if isinstance(value, Macro))
    if not selection.strip() or not name.isidentifier():
        return fail("%%macro takes a name, and then %s, a file, or the name of a text" % RANGE)
    names[name] = made = Macro(earlier(selection.strip(), "%macro", "r" in given))
    if "q" not in given:
        print("Macro `%s` created. To execute, type its name (without quotes).\n=== Macro contents: ===\n%s" % (name, made), end=" ")


@line("save")
def save(text):
    """Writes cells to a file."""
    given, rest = options(text, "fra", "%save")
    name, _, selection = rest.strip().partition(" ")
    if not name:
        return fail("%%save takes the name of a file, and then %s; without these it saves all cells" % RANGE)
    path = os.path.expanduser(name if name.endswith((".py", ".ipy")) else name + (".ipy" if "r" in given else ".py"))
    there = os.path.isfile(path)
    if there and not {"f", "a"}.intersection(given):
        return fail("the file %s exists; %%save -f overwrites it, and -a appends to it" % path)
    source = earlier(selection.strip(), "%save", "r" in given)
    with open(path, "a" if "a" in given else "w", encoding="utf-8") as file:
        file.write(("" if there and "a" in given else "# coding: utf-8\n") + source.rstrip("\n") + "\n")
    print("The following commands were written to file `%s`:\n%s" % (path, source))


def in_python(source):
    """The source with calls in place of magics and commands."""
    try:
        made = host.translated(source, "<saved>", host.TOP_LEVEL_AWAIT)
    except SyntaxError:
        made = None
    return source if made is None else made[1].rstrip("\n")


@line("rerun")
def run_again(text):
    """Runs earlier cells: the last, the last n with -l n, the last that contains a text with -g text, or ranges."""
    given, rest = options(text, "l:g:", "%rerun")
    inputs = cells()
    last = len(inputs) - 1
    own = [n for n in range(1, last) if "%rerun" not in inputs[n]]  # a rerun of reruns has no end
    if "g" in given:
        asked = (given["g"] + " " + rest).strip().strip("'\"")
        wanted = [n for n in own if asked in inputs[n]][-1:]
    elif rest.strip():
        wanted = [n for n in ranges(rest, last) if n < last]
    else:
        wanted = own[-number(given, "l", "1", "%rerun", 10**6) :]
    if not wanted:
        return fail("%%rerun finds no earlier cell for %r; %%history -n shows the cells and their numbers" % text)
    print("=== Executing: ===\n%s\n=== Output: ===" % "\n".join(inputs[n] for n in wanted))
    return shell.run_text("\n".join(in_python(inputs[n]) for n in wanted))
