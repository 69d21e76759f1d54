"""Runs cells that are one expression. IPython's run_cell has steps without effect on such cells: a tree
of the source, which is transformed and compiled again, an event loop, a digest of the source as its name.
Here the cell is compiled once and run by IPython's own run_code and displayhook."""

NUMBERS = frozenset((int, float, bool, complex))  # types that are shown as text alone
NAME = re.compile(r"[A-Za-z_]\w*")
MARKS = re.compile("[?!#%$]")  # of magics, commands and help
PROMPTS = frozenset(("In", "Out"))
BEFORE, AFTER = ("pre_execute", "pre_run_cell"), ("post_execute", "post_run_cell")


def transformers(shell):
    """All functions that transform a cell."""
    manager, lines = shell.input_transformer_manager, shell.prefilter_manager
    kinds = manager.cleanup_transforms, manager.line_transforms, manager.token_transformers, shell.input_transformers_post
    return kinds + (lines.transformers, lines.checkers, [lines.handlers["normal"]])


def plain_python(shell, source):
    """Whether no transformer of IPython would change the source: it is one expression in one line, and if
    it begins with a name, the name has a value."""
    if host is None or not host.expression_at_most(source) or source[0] == "." or MARKS.search(source):
        return False
    if shell.stock != transformers(shell) or shell.autocall:
        return False
    name = NAME.match(source)
    if name is None:
        return True
    if name[0] in PROMPTS or source[name.end() : name.end() + 1] == ".":
        return False
    value = shell.user_ns.get(name[0], shell)
    if value is shell:
        return hasattr(builtins, name[0])
    return not isinstance(value, shell.callers)


def evaluated(shell, source):
    """Runs a cell that is one expression and returns IPython's record of it; None if run_cell must run it.
    Calls the user's functions for events as run_cell does."""
    if not plain_python(shell, source) or not alone(shell, source):
        return None
    number = shell.execution_count
    cell, name = source + "\n", "<ipython-input-%d>" % number
    try:
        code = compile(cell, name, "single", shell.compile.flags, True)
    except (SyntaxError, ValueError, OverflowError, MemoryError):  # run_cell reports the error
        return None
    shell.compile._filename_map[name] = number
    sys.modules["linecache"].cache[name] = len(cell), None, [cell], name
    result = record(shell, source, cell)
    result.execution_count = number
    shell.execution_count = number + 1
    try:
        run(shell, result, code)
    finally:
        trigger(shell, AFTER, result)
    return result


def alone(shell, source):
    """Whether the shell only shows the value of a cell's last expression, and adds no other step."""
    return (
        shell.ast_node_interactivity in ("last_expr", "last", "all", "last_expr_or_assign")
        and not shell.ast_transformers
        and "await" not in source
        and "async" not in source
        and ("(" not in source or not hasattr(shell, "_tee"))  # _tee keeps a cell's output
        and "run_cell" not in vars(shell)
    )


def record(shell, source, cell):
    """IPython's record of a cell."""
    make_info, make_result = shell.records
    info = make_info(raw_cell=source, store_history=True, silent=False, shell_futures=True, cell_id=None)
    info.transformed_cell = cell
    return make_result(info)


def run(shell, result, code):
    """Runs the code of a cell as run_cell does, after its history entry and its events."""
    trigger(shell, BEFORE, result.info)
    shell.history_manager.store_inputs(result.execution_count, result.info.transformed_cell, result.info.raw_cell)
    if shell.logger.log_active:
        shell.logger.log(result.info.transformed_cell, result.info.raw_cell)
    hook, before = shell.displayhook, sys.displayhook
    hook.exec_result, sys.displayhook = result, hook
    if not any(shell.events.callbacks[event] for event in AFTER) and len(shell.user_ns.get("_oh", ())) + 1 < hook.cache_size:
        hook.later = ()
    try:
        shell.run_code(code, result).send(None)
    except StopIteration as end:
        failed = end.value
    finally:
        sys.displayhook, hook.exec_result = before, None
    shell.last_execution_succeeded, shell.last_execution_result = not failed, result
    manager = shell.history_manager
    manager.store_output(result.execution_count)
    if failed and hasattr(manager, "exceptions"):
        manager.exceptions[result.execution_count] = shell._format_exception_for_storage(result.error_in_exec)


def trigger(shell, events, argument):
    """Calls the functions of both events; those of the second take an argument."""
    for event, arguments in zip(events, ((), (argument,))):
        if shell.events.callbacks[event]:
            shell.events.trigger(event, *arguments)


def text_of(shell, value):
    """The text of a number as IPython's own formatter makes it; None if a function of the user formats its
    type."""
    formatters, kind = shell.display_formatter.formatters, type(value)
    if shell.shown_by != [*formatters.values()]:
        note_formatters(shell)
    keys = kind, (kind.__module__, kind.__name__), id(value)
    for tables, key in zip(shell.tables, keys):
        if True in map(dict.__contains__, tables, repeat(key)):
            return None
    text = formatters[TEXT]
    own, single = text.type_printers.get(kind), text.singleton_printers.get(keys[2])
    if keys[1] in text.deferred_printers:
        return None
    return repr(value) if own is shell.written and single in (None, own) and kind is not float else text(value)


def note_formatters(shell):
    """Notes the tables of the functions for representations other than text: by type, by name of a type,
    and by single value."""
    formatter = shell.display_formatter
    shell.shown_by = [*formatter.formatters.values()]
    others = [formatter.ipython_display_formatter, formatter.mimebundle_formatter]
    others += [each for name, each in formatter.formatters.items() if name != TEXT]
    shell.tables = [[getattr(each, name) for each in others] for name in ("type_printers", "deferred_printers", "singleton_printers")]


def lighten(thing, *names):
    """Makes these traits of an object plain attributes. A cell reads and sets them many times, and the checks
    of traits cost more than the code between."""
    values, kind = {name: getattr(thing, name) for name in names}, type(thing)
    thing.__class__ = type(kind)(kind.__name__, (kind,), {"__module__": kind.__module__, **dict.fromkeys(names)})
    vars(thing).update(values)
