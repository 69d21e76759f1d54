"""Tells schemathesis the rules of Yurt that the document cannot express, and the correct refusals of valid requests."""

import itertools
import json
import os
import re
import threading

import requests
import schemathesis

# Whether schemathesis follows links, to test sequences of requests and not only single bodies.
LEAD_ON = bool(os.environ.get("LEAD_ON"))

# The lifetime in seconds of a session that a request creates. A session whose events are watched ends
# sooner, as the watch lasts as long as the session.
LIFETIME = 120 if LEAD_ON else 20
WATCHED = 0.5

TEMPLATES = "create-template|replace-template|push-templates"

# Refusals of requests that the document allows: the operation, the field of the problem, and its
# detail. They come from rules that a schema cannot express, or only by a list of all combinations of
# members, and from the state of the node.
RULES = [
    # A cursor must come from a list. Only the server knows its format.
    ("list-(?!files).*", "cursor", "^this is no cursor of this list"),
    # A duration or a size can be text, such as 90s, whose range no pattern can express.
    (TEMPLATES, r"[a-z_.]+", "is less than (one byte|a nanosecond)|is beyond what a (size|duration|number) can hold"),
    ("create-token|create-key", "expires_in", "is out of range; give from 1s to |^the value is beyond what a duration can hold"),
    # Members that exclude or need one another.
    ("create-session", "reuse", "^it is an agent's session that is reused; give agent_id"),
    ("execute", "code", "^there is nothing to run|^there is no code to run; give the source text, or files and the entry"),
    ("execute", "code|command|entry|stream", "^give either .*, not both$"),
    ("execute", "handler", "^it is null, which says that no handler is called"),
    ("execute", "on_disconnect", "^the client of an async execution does not wait for it"),
    ("execute", "stdin", "^a function that serves several invocations has neither stdin nor a terminal"),
    ("resize-execution", "tty", "has no terminal; start it with"),
    ("write-stdin", "data_base64", "^give either data or data_base64, not both"),
    ("change-file", "", "^there is nothing to change"),
    # A made-up ETag is that of no file or template.
    ("put-file|replace-template", "If-(None-)?Match", "^there is no |has changed: its ETag is|is there, with the ETag|^the value is no list of ETags|^only a file that is replaced"),
    ("set-session-timeout", "timeout", "^give a timeout, an idle_timeout or both"),
    (f"set-pool|{TEMPLATES}", r"(warm_pool\.)?max", "is out of range; give .*, which is the least it keeps|is less than the .* that are always kept ready"),
    ("replace-template", "name", "^the template is called .*; give the same name in both"),
    # Made-up text is no HCL.
    (TEMPLATES, "", r"^template\.hcl:\d+:\d+: "),
    ("push-templates", "extends", "is not among the templates$"),
    (TEMPLATES, "rootfs.image", ": a root file system is an image or paths of the host"),
    (TEMPLATES, "preload", "modules are loaded by a runtime, and the template has none"),
    # The letters of all scripts, which the patterns of a schema cannot name.
    (TEMPLATES, r"preload\[\d+\]", "is not the name of a module"),
    (TEMPLATES, r"(dependencies|kernels)[.[].*", "is none of the template's runtimes"),
    (TEMPLATES, r"runtimes\[\d+\]", "is in the list twice"),
    (TEMPLATES, r"isolation\.system_calls\[\d+\]", "is named twice"),
    # The cursor must be within the code.
    ("complete-in-context|inspect-in-context", "cursor", "is outside the code"),
    # The operator's settings decide the allowed host paths, and the node has a set of languages.
    (TEMPLATES, r"rootfs\.host_paths\[\d+\]", "the whole host cannot be bound|is in the list twice"),
    ("execute", "language", "^template default has no language"),
    (TEMPLATES, "runtimes", "^template .* has the runtime .*, and no node has it; the nodes have "),
    ("delete-template", "", "is built in and cannot be deleted"),
]

succeeded = set()
writing = threading.Lock()
keys = itertools.count()
turns = itertools.count()


def operation_of(case):
    return case.operation.definition.raw.get("operationId", "")


def problem_of(response):
    try:
        problem = json.loads(response.content)
    except ValueError:
        return {}
    return problem if isinstance(problem, dict) else {}


def excused(operation, problem):
    field, detail = problem.get("field") or "", problem.get("detail") or ""
    return any(re.fullmatch(o, operation) and re.fullmatch(f, field) and re.search(d, detail) for o, f, d in RULES)


@schemathesis.serializer("application/hcl", "application/x-tar")
def as_it_is(ctx, value):
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "replace")


@schemathesis.hook
def before_call(ctx, case, kwargs):
    operation = operation_of(case)
    if case.headers and isinstance(case.headers.get("Idempotency-Key"), str):
        # A key is for one request, but schemathesis sends the same key with all. The second of two creates with one key would
        # get the answer of the first, whose template another request may have deleted.
        if len(case.headers["Idempotency-Key"]) <= 200:
            case.headers["Idempotency-Key"] += str(next(keys))
    watches = operation == "watch-files" or LEAD_ON and operation == "watch-execution"
    if watches or operation == "get-session-logs" and (case.query or {}).get("follow") not in (None, False, "false"):
        session = (case.path_parameters or {}).get("id")
        if isinstance(session, str) and re.fullmatch("ses_[a-z0-9]+", session):
            base = case.operation.base_url.rstrip("/")
            timer = threading.Timer(WATCHED, end, [f"{base}/api/v1/sessions/{session}"])
            timer.daemon = True
            timer.start()


def end(url):
    requests.delete(url, timeout=30)


# The requests at the start of linked sequences: they create a session of an existing template, executions
# in it, and a file.
LEADING = {
    "create-session": [{"template_id": "python-basic"}],
    "execute": [
        {"command": ["cat"], "tty": {}, "async": True},
        {"code": "a = 1", "language": "python", "context": "one"},
    ],
    "signal-execution": [{"signal": "CONT"}],
    "signal-process": [{"signal": "CONT"}],
    "write-stdin": [{"data": "a line\n"}],
    "complete-in-context": [{"code": "pri", "language": "python"}],
    "inspect-in-context": [{"code": "print", "language": "python"}],
    "change-file": [{"mode": "0640"}],
    "archive-files": [{"path": "."}],
    "set-session-timeout": [{"timeout": 60}],
}


def lead_on(ctx, body):
    bodies = LEADING.get(ctx.operation.definition.raw.get("operationId", ""))
    return bodies[next(turns) % len(bodies)] if bodies and isinstance(body, dict) else body


def lead_query(ctx, query):
    operation = ctx.operation.definition.raw.get("operationId", "")
    return {"list-files": {"list": "."}, "put-file": {}, "watch-files": {}, "archive-files": {}}.get(operation, query)


def without_names(ctx, raw_schema):
    """Removes members that keep schemathesis from starting with a session: it assumes that another
    operation must first create the objects that they name."""
    members = raw_schema["components"]["schemas"]["CreateSessionBody"]["properties"]
    for name in ("agent_id", "snapshot_id", "template_id"):
        del members[name]


if LEAD_ON:
    schemathesis.hook("map_body")(lead_on)
    schemathesis.hook("map_query")(lead_query)
    schemathesis.hook("before_load_schema")(without_names)


@schemathesis.hook
def after_call(ctx, case, response):
    operation = operation_of(case)
    if 200 <= response.status_code < 300:
        with writing:
            if operation not in succeeded:
                succeeded.add(operation)
                with open(os.environ["ANSWERS"], "a", encoding="utf-8") as file:
                    print(operation, file=file)
    if operation == "create-session" and response.status_code == 201:
        base = case.operation.base_url.rstrip("/")
        session = json.loads(response.content)["id"]
        requests.post(f"{base}/api/v1/sessions/{session}/timeout", json={"timeout": LIFETIME}, timeout=30)


@schemathesis.check
def valid_request_is_taken(ctx, response, case):
    """Checks each refusal of a request that the document allows against the rules above."""
    if case.meta is None or not case.meta.generation.mode.is_positive:
        return
    # Missing objects, and states that forbid a request, depend on earlier requests.
    if response.status_code < 400 or response.status_code in (404, 405, 409, 429) or response.status_code >= 500:
        return
    problem = problem_of(response)
    operation = operation_of(case)
    if not excused(operation, problem):
        raise AssertionError(
            f"the document allows the request, and {operation} refuses it: "
            f"{response.status_code} {problem.get('code')} in {problem.get('field')!r}: {problem.get('detail')}"
        )
