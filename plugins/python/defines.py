"""Decides on the syntax tree whether code only defines things, a handler among them. Read only
when the code contains the handler's name, which is seldom."""

import _ast

IMPORTS = _ast.Import, _ast.ImportFrom
FUNCTIONS = _ast.FunctionDef, _ast.AsyncFunctionDef
COLLECTIONS = _ast.Tuple, _ast.List, _ast.Set


def only_defines(tree, name):
    """Whether the statements are imports, functions, classes and assignments of literals, and one
    of them makes the name a function."""
    body = tree.body
    if body and isinstance(body[0], _ast.Expr) and is_text(body[0].value):
        body = body[1:]  # the module's docstring
    return all(map(defines, body)) and any(makes(statement, name) for statement in body)


def defines(statement):
    if isinstance(statement, IMPORTS + FUNCTIONS + (_ast.ClassDef, _ast.Pass)):
        return True
    if isinstance(statement, _ast.Assign):
        return all(map(plain_target, statement.targets)) and literal(statement.value)
    if isinstance(statement, _ast.AnnAssign):
        return plain_target(statement.target) and (statement.value is None or literal(statement.value))
    if isinstance(statement, _ast.Try):  # an import that may fail
        parts = [statement.body, statement.orelse, statement.finalbody] + [handler.body for handler in statement.handlers]
        return all(defines(inner) for part in parts for inner in part)
    return type(statement).__name__ == "TypeAlias"


def makes(statement, name):
    """Whether the statement makes the name a function, as far as the tree shows."""
    if isinstance(statement, FUNCTIONS):
        return statement.name == name
    if isinstance(statement, _ast.ImportFrom):
        return any((alias.asname or alias.name) == name for alias in statement.names)
    if isinstance(statement, (_ast.Assign, _ast.AnnAssign)):
        targets = statement.targets if isinstance(statement, _ast.Assign) else [statement.target]
        named = any(isinstance(target, _ast.Name) and target.id == name for target in targets)
        return named and isinstance(statement.value, (_ast.Lambda, _ast.Name))
    if isinstance(statement, _ast.Try):
        return any(makes(inner, name) for inner in statement.body)
    return False


def plain_target(target):
    """Whether assigning to it runs no code: it is a name, or several."""
    if isinstance(target, (_ast.Tuple, _ast.List)):
        return all(map(plain_target, target.elts))
    return isinstance(target, _ast.Name)


def literal(value):
    """Whether the value is a literal, a lambda or a name."""
    if isinstance(value, (_ast.Constant, _ast.Lambda, _ast.Name)):
        return True
    if isinstance(value, COLLECTIONS):
        return all(map(literal, value.elts))
    if isinstance(value, _ast.Dict):
        return all(key is not None and literal(key) for key in value.keys) and all(map(literal, value.values))
    if isinstance(value, _ast.UnaryOp):
        return literal(value.operand)
    if isinstance(value, _ast.BinOp):  # 60 * 60
        return all(isinstance(side, (_ast.Constant, _ast.BinOp)) and literal(side) for side in (value.left, value.right))
    return False


def is_text(value):
    return isinstance(value, _ast.Constant) and isinstance(value.value, str)
