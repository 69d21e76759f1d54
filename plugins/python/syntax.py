"""Translates IPython's syntax to Python: magics, shell commands, help, prompts and indented cells.
Read only when a cell does not compile, so valid Python never passes through here.

The text is read by logical lines of Python: one can span several lines of the file in brackets,
in a string, or after a backslash. Lines keep their numbers, so that errors name the user's own
lines.
"""

import re

BLANK = re.compile(r"[ \t\f]*")
TOKEN = re.compile(
    r"""
      (?P<comment> \#[^\n]* )
    | (?P<text> '{3} (?: [^\\] | \\. )*? (?: '{3} | \Z ) | "{3} (?: [^\\] | \\. )*? (?: "{3} | \Z )
              | ' (?: [^\\\n'] | \\. )* '? | " (?: [^\\\n"] | \\. )* "? )
    | (?P<open> [(\[{] )
    | (?P<close> [)\]}] )
    | (?P<joined> \\\r?\n )
    | (?P<end> \n )
    | (?P<given> (?<![=!<>+\-*/%&|^@:]) = [ \t]* (?= !(?!=) | %[^\W\d] ) )
    | (?P<help> \? )
    """,
    re.VERBOSE | re.DOTALL,
)
CLASSIC = re.compile(r"(>>>|\.\.\.)( |$)")
CLASSIC_FIRST = re.compile(r">>>( |$)")
NUMBERED = re.compile(r"(\[(nav|ins)\])?In \[\d+\]: |\s*\.{3,}: ?")
CELL = re.compile(r"%%(!|[^\W\d][\w.]*)[ \t]*(.*)")
HELP = re.compile(r"(%{0,2}(?!\d)[\w*]+(?:\.[\w*]+|\[[^\[\]]+\])*)[ \t]*(\?\??)$")
ASKED = re.compile(r"\?\??[ \t\r]*(?:\n|\Z)")
AWAITING = re.compile(r"%time[ \t]+.*\bawait\b", re.DOTALL)
MAX_HELP = 400  # characters of a line with a question mark
CALL = "get_ipython()."
AWAITS = "await " + CALL
COMMON_ESCAPES = "%!?"
RARE_ESCAPES = ",;/"


def translate(source, awaits=True):
    """Returns the source in Python and the numbers of the lines that were changed. With awaits, the event
    loop will run already, so a line that times code with an await is awaited itself."""
    lines = source.replace("\r\n", "\n").split("\n")
    plain = unprompted(unindented(lines))
    first = first_of_cell(plain)
    if first is not None:
        made = "\n" * first + cell_call(plain[first], "\n".join(plain[first + 1 :]))
        return made, {first + 1}
    return Reader("\n".join(plain), awaits).translate()


def unindented(lines):
    """The lines without the indentation of the first."""
    first = next((line for line in lines if line.strip()), "")
    space = BLANK.match(first).group()
    return [line[len(space) :] if space and line.startswith(space) else line for line in lines]


def unprompted(lines):
    """The lines without an interpreter's prompts, if they begin with one."""
    shown = [line for line in lines if line.strip()][:2]
    if not shown:
        return lines
    second = shown[1] if len(shown) > 1 else ""
    if CLASSIC_FIRST.match(shown[0]) or CLASSIC.match(second):
        lines = [CLASSIC.sub("", line, 1) if CLASSIC.match(line) else line for line in lines]
    elif NUMBERED.match(shown[0]) or NUMBERED.match(second):
        lines = [line[NUMBERED.match(line).end() :] if NUMBERED.match(line) else line for line in lines]
    return lines


def first_of_cell(lines):
    """The number of the line with a magic for the whole cell, or None. Comments may stand before it."""
    for number, line in enumerate(lines):
        if line.startswith("%%"):
            return number if CELL.match(line) and not HELP.fullmatch(line.rstrip()) else None
        if line.strip() and not line.startswith("#"):
            return None
    return None


def cell_call(line, body):
    name, rest = CELL.match(line).groups()
    return CALL + "run_cell_magic(%r, %r, %r)" % (name, rest.rstrip(), body + "\n" if body else "")


def line_call(text, awaits=False):
    """The Python call for a line that begins with a mark of IPython; None if it has no such meaning."""
    if text.startswith("!!"):
        return CALL + "getoutput(%r)" % text[2:].strip()
    if text.startswith("!"):
        return CALL + "system(%r)" % text[1:].strip()
    if text.startswith("?"):
        return help_call(text.lstrip("?").strip(), text.startswith("??"))
    if awaits and AWAITING.match(text):
        return AWAITS + "time_awaiting(%r)" % text[len("%time") :].strip()
    if text.startswith("%"):
        asked = HELP.fullmatch(text.strip()) if len(text) <= MAX_HELP else None
        if asked:
            return help_call(asked.group(1), asked.group(2) == "??")
        name, _, rest = text[1:].replace("\t", " ", 1).partition(" ")
        return CALL + "run_line_magic(%r, %r)" % (name, rest.strip()) if name[:1].isidentifier() or name[:1] == "%" else None
    name, _, rest = text[1:].strip().partition(" ")
    if not name.replace(".", "_").isidentifier():
        return None
    if text.startswith(","):
        return "%s(%s)" % (name, ", ".join(map(repr, rest.split())))
    return "%s(%r)" % (name, rest.strip()) if text.startswith(";") else "%s(%s)" % (name, ", ".join(rest.split()))


def help_call(name, more):
    if not name:
        return CALL + "show_usage()"
    kind = "psearch" if "*" in name else "pinfo2" if more else "pinfo"
    return CALL + "run_line_magic(%r, %r)" % (kind, name)


class Reader:
    """Reads a text and writes its translation."""

    def __init__(self, text, awaits=True):
        self.text, self.at, self.awaits = text, 0, awaits
        self.made, self.changed = [], set()
        self.line, self.counted = 1, 0  # the number of lines up to a character, and the character

    def translate(self):
        while self.at < len(self.text):
            start = self.at
            mark = BLANK.match(self.text, start).end()
            if self.text[mark : mark + 1] in tuple(COMMON_ESCAPES + RARE_ESCAPES):
                self.escaped(start, mark)
            else:
                self.python(start)
        return "".join(self.made), self.changed

    def rest(self, begin):
        """Reads from a mark to the end of its line and of the lines joined to it. Returns the text
        and the number of line ends in it."""
        end, joined = self.line_end(begin), []
        while self.text[begin:end].endswith("\\") and end < len(self.text):
            joined.append(self.text[begin : end - 1].strip())
            begin, end = end + 1, self.line_end(end + 1)
        joined.append(self.text[begin:end].strip())
        self.at = end
        return " ".join(joined), len(joined) - 1

    def line_end(self, begin):
        end = self.text.find("\n", begin)
        return len(self.text) if end < 0 else end

    def escaped(self, start, mark):
        rest, more = self.rest(mark)
        call = line_call(rest, self.awaits)
        if call is None:
            self.made.append(self.text[start : self.at])
        else:
            self.change(start, self.text[start:mark] + call, more)
        self.newline()

    def newline(self):
        if self.at < len(self.text):
            self.made.append("\n")
            self.at += 1

    def change(self, start, line, more):
        """Replaces the text from start by the line and adds empty lines to keep the count."""
        self.line += self.text.count("\n", self.counted, start)
        self.counted = start
        self.changed.add(self.line)
        self.made.append(line + "\n" * more)

    def python(self, start):
        """Reads one logical line of Python."""
        depth = 0
        while True:
            found = TOKEN.search(self.text, self.at)
            self.at = found.end() if found else len(self.text)
            kind = found.lastgroup if found else None
            if kind is None or kind == "end" and depth == 0:
                break
            if kind in ("open", "close"):
                depth = max(0, depth + (1 if kind == "open" else -1))
            elif kind == "given" and depth == 0:
                return self.given(start)
            elif kind == "help" and self.asks(start, found.start()):
                return
        self.made.append(self.text[start : self.at])

    def given(self, start):
        """Translates x = !command and x = %magic."""
        target = self.text[start : self.at]
        rest, more = self.rest(self.at)
        if rest.startswith("!"):
            call = CALL + "getoutput(%r)" % rest.lstrip("!").strip()
        else:
            call = line_call(rest, self.awaits)
        self.change(start + target.rfind("\n") + 1, target + call, more)
        self.newline()

    def asks(self, start, at):
        """Translates name? at the end of a line."""
        if not ASKED.match(self.text, at) or at - start > MAX_HELP:
            return False
        end = self.line_end(at)
        text = self.text[start:end].rstrip()
        asked = HELP.search(text)
        if not asked or asked.end(1) + start > at or "\n" in text:
            return False
        self.at = end
        space = BLANK.match(text).group()
        self.change(start, space + help_call(asked.group(1), asked.group(2) == "??"), 0)
        self.newline()
        return True


def blame(tree, changed, lines, made):
    """Sets the columns of translated code to its whole line, so that errors underline no part of it."""
    todo = [tree]
    while todo:
        node = todo.pop()
        if getattr(node, "lineno", None) in changed and node.lineno == node.end_lineno:
            node.col_offset, node.end_col_offset = 0, max(len(text[node.lineno - 1].encode()) for text in (lines, made))
        for name in node._fields:
            value = getattr(node, name, None)
            todo.extend(each for each in (value if isinstance(value, list) else (value,)) if hasattr(each, "_fields"))
    return tree
