"""Calls a handler. Its text is part of the file harness.py, as handlers must start quickly; a
kernel reads it before its first handler.

The including program provides stdlib, which imports a module of the standard library;
load_report, which returns report.py; complete, which awaits a value; and all of shared.py.
"""

import sys
import time

MAX_DEPTH = 900  # of a result; JSON readers have limits too

# Attributes of the objects inside a handler's context.
IDENTITY = ("cognito_identity_id", "cognito_identity_pool_id")
CLIENT_CONTEXT = ("client", "custom", "env")
CLIENT = ("installation_id", "app_title", "app_version_name", "app_version_code", "app_package_name")


class Failure(Exception):
    """A failure that is not an exception of the user's code."""

    def __init__(self, kind, message):
        super().__init__(message)
        self.kind = kind


class Context:
    """The second argument of a handler, with the fields that AWS Lambda documents."""

    def __init__(self, fields, deadline):
        self.__dict__.update(fields)
        self.identity = Record(self.identity or {}, IDENTITY)
        if self.client_context is not None:
            self.client_context = Record(self.client_context, CLIENT_CONTEXT)
            if isinstance(self.client_context.client, dict):
                self.client_context.client = Record(self.client_context.client, CLIENT)
        self._deadline = deadline  # by the monotonic clock

    def get_remaining_time_in_millis(self):
        """Milliseconds until the execution's time limit, never below zero."""
        return max(0, int((self._deadline - time.monotonic()) * 1000))

    def log(self, message):
        """Writes message to standard output, as AWS Lambda writes it to the log."""
        sys.stdout.write(str(message))

    def __repr__(self):
        return "Context(%s)" % ", ".join("%s=%r" % item for item in self.__dict__.items() if item[0][0] != "_")


class Record:
    """An object made of a JSON object; names that it lacks are None."""

    def __init__(self, fields, names):
        self.__dict__.update(dict.fromkeys(names))
        self.__dict__.update(fields)

    def __repr__(self):
        return "Record(%r)" % self.__dict__


def exact(value):
    """Whether value, which has no cycles, respects the depth limit and has only string
    keys. json would turn number keys into strings, and two keys could become one."""
    level, depth = [value], 0
    while level:
        inner = []
        for node in level:
            if isinstance(node, dict):
                for key in node:
                    if not isinstance(key, str):
                        return False
                node = node.values()
            elif not isinstance(node, (list, tuple)):
                continue
            inner.extend(item for item in node if isinstance(item, (dict, list, tuple)))
        level, depth = inner, depth + 1
        if depth > MAX_DEPTH:
            return False
    return True


def fields(name, request, memory):
    """The fields of AWS Lambda's context object, for a call whose host did not send them."""
    return {
        "function_name": name,
        "function_version": "$LATEST",
        "invoked_function_arn": "arn:aws:lambda:us-east-1:000000000000:function:" + name,
        "memory_limit_in_mb": memory,
        "aws_request_id": request,
        "log_group_name": "/aws/lambda/" + name,
        "log_stream_name": "[$LATEST]" + request,
        "identity": None,
        "client_context": None,
    }


async def awaited(awaitable):
    return await awaitable


def call_handler(function, spec, deadline):
    args = [spec["event"]]
    if takes_context(function):
        args.append(Context(spec["context"], deadline))
    result = function(*args)
    if hasattr(type(result), "__await__"):
        result = complete(result)
    return encode_result(result, spec["max_result"])


def encode_result(result, limit):
    try:
        data = write_json(result)
        writable = exact(result)
    except (TypeError, ValueError, RecursionError):
        writable = False
    if not writable:
        raise Failure("ResultNotSerializable", load_report().not_serializable(result))
    if len(data) > limit:
        text = "the result has %d bytes of JSON; at most %d are allowed: write it to a file instead"
        raise Failure("ResultTooLarge", text % (len(data), limit))
    return data


def takes_context(function):
    """Whether a handler takes two arguments, or else only the event."""
    bound = hasattr(function, "__self__")
    while True:
        code = getattr(function, "__code__", None)
        if code is None:
            return load_report().takes_context(function)
        inner = getattr(function, "__wrapped__", None)
        # A decorator that takes *args passes the arguments on to its inner function.
        if not code.co_flags & 0x04 or inner is None:
            return code.co_flags & 0x04 or code.co_argcount - bound >= 2
        function = inner
