"""Answers questions about code without running it: completions at the cursor, and the description
of the name there.

Values are looked up without running the user's properties and __getattr__. The exceptions are
__dir__ and _ipython_key_completions_, which exist to be asked; the host interrupts one that hangs.
The kernel sets standard, which imports modules of the standard library.
"""

import builtins
import os
import re
import sys
import types

MAX_MATCHES = 1000
MAX_TEXT = 200000  # characters of an inspection
MAX_SOURCE = 1 << 20  # bytes of a module that is read for its names
PLAIN = (int, float, complex, bool, str, bytes, type(None))
FUNCTIONS = (
    types.FunctionType, types.MethodType, types.BuiltinFunctionType, types.MethodDescriptorType,
    types.WrapperDescriptorType, types.ClassMethodDescriptorType, types.MethodWrapperType,
)  # fmt: skip
SLOTS = (types.MemberDescriptorType, types.GetSetDescriptorType)
TOKEN = re.compile(r"""#[^\n]*|[rRbBuUfF]{0,2}("{3}|'{3}|"|')|[([{]|[)\]}]""")
IMPORT = re.compile(r"\s*(?:from\s+([\w.]+)\s+import\s+\(?(?:[\w\s,]*,\s*)?(\w*)|(?:from|import)\s+(?:[\w.\s]+,\s*)*([\w.]*))$")
MAGIC = re.compile(r"(?m)^\s*(?:[\w.]+\s*=\s*)?(%%?)(\w*)\Z")
DEFINED = re.compile(r"\b(?:def|class|as|for|import|global)\s+([^\W\d]\w*)|\b([^\W\d]\w*)\s*(?::=|=(?!=))")
FILE = re.compile(r"([^\W\d]\w*)(\.py|(?:\.[\w-]+)*\.so)?$")


class Unknown(Exception):
    """The value is not known without running code."""


class Text:
    """Code up to the cursor, with the brackets and the string that are open there."""

    def __init__(self, code):
        self.code, self.pairs, self.open = code, {}, []
        self.string, self.comment = None, False  # where the text of an open string begins
        at = 0
        while True:
            token = TOKEN.search(code, at)
            if token is None:
                return
            first, at = code[token.start()], token.end()
            if token.group(1):
                end = self.end_of_string(at, token.group(1))
                if end is None:
                    self.string, self.quote = at, token.start()
                    return
                self.pairs[end], at = token.start(), end
            elif first == "#":
                self.comment = at == len(code)
            elif first in "([{":
                self.open.append(token.start())
            elif self.open:
                self.pairs[at] = self.open.pop()

    def end_of_string(self, at, quote):
        """The offset where the string ends, or None. The end of the line ends a string in single
        quotes, too."""
        found = re.compile(r"\\.|%s%s" % (quote, "" if len(quote) == 3 else r"|\n"), re.S)
        while True:
            end = found.search(self.code, at)
            if end is None:
                return None
            at = end.end()
            if end.group()[0] != "\\":
                return at

    def operand(self, end):
        """The start of the expression of names, attributes and brackets that ends there."""
        at = end
        while at > 0:
            if at in self.pairs:
                at = self.pairs[at]
            elif self.code[at - 1].isalnum() or self.code[at - 1] in "_.":
                at -= 1
            else:
                break
        return at


def complete(code, cursor, names, magics=lambda kind: ()):
    """The matches for the code at the cursor. magics returns the names of the magics for "line" or "cell"."""
    text = Text(code[:cursor])
    start, found = cursor, {}
    try:
        magic = MAGIC.search(text.code) if text.string is None and not text.open else None
        if magic:
            start, found = magic.start(2), dict.fromkeys(magics("cell" if magic[1] == "%%" else "line"), "magic")
        else:
            start, found = candidates(text, cursor, names, code)
    except (Unknown, SyntaxError, ValueError, RecursionError, OSError, AttributeError):
        pass
    prefix = code[start:cursor]
    fits = [name for name in found if name.startswith(prefix)]
    if not fits:
        fits = [name for name in found if name.lower().startswith(prefix.lower())]
    hidden = prefix.startswith(("_", "."))
    fits = sorted((name for name in fits if hidden or not name.startswith(("_", "."))), key=lambda name: (name.lower(), name))
    matches = [{"text": name, "type": found[name]} for name in fits[:MAX_MATCHES]]
    return {"matches": matches, "cursor_start": start, "cursor_end": cursor}


def candidates(text, cursor, names, code):
    """The start of the text to replace, and the candidates with their types."""
    before = text.code
    if text.comment:
        raise Unknown
    if text.string is not None:
        return in_string(text, names)
    line = re.split(r"[\n;]", before[text.open[0] if text.open and not before[: text.open[0]].rstrip().endswith("import") else 0 :])[-1]
    if text.open and before[: text.open[-1]].rstrip().endswith("import"):
        line = before[before.rfind("\n", 0, text.open[-1]) + 1 :]
    imported = IMPORT.match(line)
    if imported:
        source, name, module = imported.groups()
        if source:
            return cursor - len(name), importable(source)
        parent, _, stem = module.rpartition(".")
        return cursor - len(stem), submodules(parent)
    start = len(before)
    while start > 0 and (before[start - 1].isalnum() or before[start - 1] == "_"):
        start -= 1
    if start > 0 and before[start - 1] == ".":
        return start, attributes(resolve(before[text.operand(start - 1) : start - 1], names))
    if before[start : start + 1].isdigit():
        raise Unknown
    return start, names_here(text, start, names, code)


def names_here(text, start, names, code):
    """The names that can begin an expression."""
    found = {word: "keyword" for word in standard("keyword").kwlist}
    found.update((name, kind(value)) for name, value in vars(builtins).items())
    rest = text.code[:start] + code[len(text.code) :]
    found.update((a or b, "statement") for a, b in DEFINED.findall(rest))
    found.update((name, kind(value)) for name, value in list(names.items()) if isinstance(name, str))
    before = text.code[:start].rstrip()
    if text.open and before[-1:] in ("(", ",") and text.code[text.open[-1]] == "(":
        for name in parameters(text, names):
            found[name + "="] = "param"
    if text.open and before[-1:] == "[" and len(before) - 1 == text.open[-1]:
        try:
            found.update((repr(key), "key") for key in keys(resolve(before[text.operand(len(before) - 1) : -1], names)))
        except Exception:
            pass
    return found


def parameters(text, names):
    """The names of the parameters of the function whose call is open."""
    try:
        function = resolve(text.code[text.operand(text.open[-1]) : text.open[-1]], names)
        return [p.name for p in signature(function).parameters.values() if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    except Exception:
        return []


def signature(function):
    return standard("inspect").signature(function)


def in_string(text, names):
    """Keys of a dictionary, or names of files."""
    before = text.code[: text.quote].rstrip()
    if before.endswith("[") and text.open and text.open[-1] == len(before) - 1:
        try:
            there = keys(resolve(before[text.operand(len(before) - 1) : -1], names))
            return text.string, {repr(key)[1:-1]: "key" for key in there if isinstance(key, str)}
        except (Unknown, SyntaxError):
            pass
    path = text.code[text.string :]
    if "\n" in path or len(path) > 4096:
        raise Unknown
    directory, _, stem = path.rpartition("/")
    found = {}
    with os.scandir(os.path.expanduser(directory or ("/" if path.startswith("/") else "."))) as entries:
        for count, entry in enumerate(entries):
            if count == 10 * MAX_MATCHES:
                break
            if entry.name.startswith(stem) and entry.name.isprintable():
                found[entry.name + "/" * entry.is_dir()] = "path"
    return len(text.code) - len(stem), found


def keys(value):
    """The keys of a dict, which needs no user code, or of a value that offers its keys."""
    if isinstance(value, dict):
        return [key for key in list(dict.keys(value))[:MAX_MATCHES] if type(key) in PLAIN]
    try:
        own = standard("inspect").getattr_static(type(value), "_ipython_key_completions_")
    except AttributeError:
        raise Unknown from None
    return [key for key in list(own(value))[:MAX_MATCHES] if isinstance(key, str)]


def resolve(source, names):
    """The value of an expression of names, attributes and constant keys."""
    return value_of(compile(source.strip(), "<question>", "eval", 0x400, True).body, names)


def value_of(node, names):
    shape = type(node).__name__
    if shape == "Name":
        if node.id in names:
            return names[node.id]
        if node.id in vars(builtins):
            return vars(builtins)[node.id]
    elif shape == "Constant":
        return node.value
    elif shape == "Attribute":
        return attribute(value_of(node.value, names), node.attr)
    elif shape in ("List", "Dict", "Set", "Tuple", "JoinedStr"):
        return {"List": [], "Dict": {}, "Set": set(), "Tuple": (), "JoinedStr": ""}[shape]
    elif shape == "Subscript":
        value, key = value_of(node.value, names), node.slice
        key = getattr(key, "value", key) if type(key).__name__ in ("Constant", "Index") else key
        key = getattr(key, "value", key) if type(key).__name__ == "Constant" else key
        if type(value) in (dict, list, tuple) and type(key) in PLAIN:
            try:
                return value[key]
            except (LookupError, TypeError):
                pass
    raise Unknown


def attribute(value, name):
    """The attribute, if reading it runs no user code."""
    try:
        found = standard("inspect").getattr_static(value, name)
    except AttributeError:
        raise Unknown from None
    if isinstance(found, (staticmethod, classmethod)):
        return found.__func__
    if type(found) in SLOTS and not isinstance(value, type):
        return found.__get__(value, type(value))
    if hasattr(type(found), "__get__") and not isinstance(found, FUNCTIONS + (type,)):
        raise Unknown
    return found


def attributes(value):
    """The names of the attributes, with their types."""
    try:
        there = dir(value)
    except Exception:  # its own __dir__ fails
        there = object.__dir__(value)
    return {name: kind_of_attribute(value, name) for name in there if isinstance(name, str)}


def kind_of_attribute(value, name):
    try:
        found = standard("inspect").getattr_static(value, name)
    except Exception:
        return "instance"
    return "property" if isinstance(found, (property,) + SLOTS) else kind(found)


def kind(value):
    """The type of a value as notebooks name it."""
    if isinstance(value, FUNCTIONS + (staticmethod, classmethod)):
        return "function"
    if isinstance(value, type):
        return "class"
    return "module" if isinstance(value, types.ModuleType) else "instance"


def places(parent):
    """The directories of the modules of a package."""
    if not parent:
        return [path or "." for path in sys.path]
    if parent in sys.modules:
        return [str(path) for path in vars(sys.modules[parent]).get("__path__", ())]
    above, _, name = parent.rpartition(".")
    return [path for path in (os.path.join(place, name) for place in places(above)) if os.path.isdir(path)]


def submodules(parent):
    """The modules of a package; without one, all top-level modules."""
    found = {} if parent else dict.fromkeys(sys.builtin_module_names, "module")
    for place in places(parent):
        try:
            entries = os.listdir(place)
        except OSError:
            continue
        for entry in entries:
            name = FILE.match(entry)
            if name and name.group(1) not in ("__pycache__", "__init__") and (name.group(2) or os.path.isdir(os.path.join(place, entry))):
                found[name.group(1)] = "module"
    return found


def importable(name):
    """The names that can be imported from a module, without importing it."""
    found = submodules(name)
    if name in sys.builtin_module_names:
        __import__(name)
    if name in sys.modules:
        found.update((key, kind(value)) for key, value in list(vars(sys.modules[name]).items()))
        return found
    parent, _, base = name.rpartition(".")
    for place in places(parent):
        for path in (os.path.join(place, base, "__init__.py"), os.path.join(place, base + ".py")):
            if os.path.isfile(path) and os.path.getsize(path) <= MAX_SOURCE:
                with open(path, "rb") as file:
                    found.update(top_level(file.read()))
                return found
    return found


def top_level(source):
    """The names that a module's source defines at its top level."""
    found = {}
    for node in compile(source, "<question>", "exec", 0x400, True).body:
        shape = type(node).__name__
        if shape in ("FunctionDef", "AsyncFunctionDef"):
            found[node.name] = "function"
        elif shape == "ClassDef":
            found[node.name] = "class"
        elif shape in ("Import", "ImportFrom"):
            found.update(((alias.asname or alias.name).partition(".")[0], "module") for alias in node.names if alias.name != "*")
        elif shape == "Assign":
            found.update((target.id, "instance") for target in node.targets if type(target).__name__ == "Name")
    return found


def inspect(code, cursor, detail, names):
    """The description of the name at the cursor, or else of the function whose call is open."""
    end = cursor + len(re.match(r"\w*", code[cursor:]).group())
    text, at_cursor = Text(code[:end]), Text(code[:cursor])
    sources = [text.code[text.operand(end) : end]] if text.string is None else []
    sources += [at_cursor.code[at_cursor.operand(at) : at] for at in reversed(at_cursor.open) if at_cursor.code[at] == "("]
    for source in sources:
        try:
            value = resolve(source, names)
        except (Unknown, SyntaxError, ValueError, RecursionError):
            continue
        return {"found": True, "data": {"text/plain": describe(source.strip(), value, detail)[:MAX_TEXT]}}
    return {"found": False, "data": {}}


def describe(name, value, detail):
    """The text of an inspection."""
    lines, inspect = [], standard("inspect")
    is_code = isinstance(value, FUNCTIONS + (type,))
    if is_code:
        try:
            lines.append("Signature: %s%s" % (name, signature(value)))
        except Exception:  # its signature is unknown
            pass
    lines.append("Type: %s" % (type(value).__name__ if type(value).__module__ == "builtins" else "%s.%s" % (type(value).__module__, type(value).__qualname__)))
    if type(value) in PLAIN:
        lines.append("Value: %s" % repr(value)[:1000])
    elif type(value) in (list, tuple, dict, set, frozenset):
        lines.append("Length: %d" % len(value))
    documented = value if is_code or isinstance(value, types.ModuleType) else type(value)
    try:
        doc = inspect.getdoc(documented)
    except Exception:
        doc = None
    if isinstance(doc, str) and doc:
        lines.append("Docstring:\n" + doc)
    if is_code or isinstance(value, types.ModuleType):
        try:
            lines.append("File: %s" % inspect.getfile(value))
            if detail:
                lines.append("Source:\n" + inspect.getsource(value))
        except Exception:  # it is not written in Python
            pass
    return "\n".join(lines)
