"""What schemathesis does not know of Yurt, and which refusals of valid requests are right."""

import itertools
import json
import os
import re
import threading

import requests
import schemathesis

# A session that a request made ends after that many seconds, and with it all that runs or waits in
# it; one whose changes are watched ends sooner, as the watch lasts as long as the session.
LIFETIME = 20
WATCHED = 0.5

# Rules that a schema cannot say, or only by a list of all combinations of members: the operation,
# the field of the problem, and its detail. Each is a refusal of a request that the document allows.
RULES = [
    # A cursor is what a list gave out. Its text means something to the server alone.
    ("list-sessions|list-executions|list-files", "cursor", "this is no cursor of this list"),
    # Members that exclude or need one another.
    ("create-session", "reuse", "it is an agent's session that is reused|session is used once"),
    ("create-session", "files", "reuse"),
    ("execute", "code|command|entry|args|stream|handler|stdin|context|dependencies|tty|stdin_open|event|on_disconnect",
     "give either|there is nothing to run|there is no code to run|has neither stdin nor a terminal|it is null, which says"
     "|belong in command|only code|has an interpreter of its own|only handlers|the command is empty|a terminal|leave out either async or"),
    ("execute", "language", "say of which language|the template has several|give a language|the name is empty"),
    # The cursor is in the code, as long as that is.
    ("complete-in-context|inspect-in-context", "cursor", "is outside the code"),
    ("write-stdin", "data_base64", "give either data or data_base64"),
    # Whether an execution has a terminal was said when it began.
    ("resize-execution", "tty", "has no terminal"),
    ("change-file", "", "there is nothing to change"),
    ("set-session-timeout", "timeout", "give a timeout, an idle_timeout or both"),
    ("set-pool", "max", "is out of range; give .*, which is the least it keeps"),
    ("replace-template", "name", "give the same name in both"),
    ("push-templates", "extends", "is not among the templates|extends"),
    ("push-templates", "", "given twice|the same name"),
    (".*-templates?", r"warm_pool\.max", "which is the least it keeps"),
    (".*-templates?", r"(dependencies|kernels)[.\[].*", "none of the template's runtimes"),
    (".*-templates?", "preload", "modules are loaded by a runtime"),
    (".*-templates?", "rootfs.image", "an image or paths of the host"),
    (".*-templates?", r"(runtimes|rootfs\.host_paths)\[.*", "is in the list twice"),
    (".*-templates?", r"resources\.disk", "is too small for disk_kind"),
    # The languages say how their modules are called.
    (".*-templates?", r"preload\[.*", "is not the name of a module"),
    # The operator says which paths of the host there are.
    (".*-templates?", r"rootfs\.host_paths\[.*", ".*"),
    # A body of one of these types is a program in HCL, for which there is no schema.
    (".*-templates?", ".*", r"template\.hcl:"),
    ("create-template|replace-template", "", "the source defines 0 templates"),
    # Files whose paths name each other's directories, or are not clean: "a//b", "./a", "a/..".
    (".*", "path|list|stat|cwd|entry|files|", "leads out of the work|is not clean|the path names the workspace|both a file and a directory|control characters|the path is empty|absolute path"),
    # The file names of one directory have a bound in bytes.
    (".*", ".*", "bytes are too (many|long)|has a name longer than|the path has"),
    # A node says which runtimes are installed.
    (".*-templates?", "runtimes", "no node has it"),
    # JSON Schema counts 88.0 among the integers; the server wants it without a fraction.
    (".*", ".*", "must be a whole number|is not a whole number"),
    # A duration of more digits than a number holds.
    (".*", ".*", "the value is not a duration|beyond what"),
    # Which signals have names.
    ("signal-(execution|process)", "signal", "is not a signal|there is no signal"),
    # An archive is a program's output, not a text of any kind.
    ("archive-files", ".*", "archive|not JSON|the body"),
]

# What a node has, and the state that an earlier request left: no schema knows these.
CODES = {
    "forbidden": "a template that is built in is not deleted",
    "limit_not_enforceable": "the node has no project quotas, or no weights of disks",
    "language_not_supported": "the runtimes that are installed are the languages that there are",
    "runtime_not_found": "likewise, of a template",
    "image_not_found": "the registries and layouts that the operator allows have the images",
    "range_not_satisfiable": "the file is shorter",
    "file_exists": "an earlier request made it",
    "dependencies_failed": "the server has no registry of packages",
}

succeeded = set()
writing = threading.Lock()
keys = itertools.count()
executions = itertools.count()


def operation_of(case):
    return case.operation.definition.raw.get("operationId", "")


def problem_of(response):
    try:
        problem = json.loads(response.content)
    except ValueError:
        return {}
    return problem if isinstance(problem, dict) else {}


def member(body, path):
    """The value in a body that a problem's field names, such as session.timeout."""
    for name in path.split("."):
        if not isinstance(body, dict):
            return None
        body = body.get(name)
    return body


def excused(operation, case, problem):
    field, detail = problem.get("field") or "", problem.get("detail") or ""
    if problem.get("code") in CODES:
        return True
    # Bounds of a size or a duration hold for its text too, in any unit: no pattern says that.
    if "out of range" in detail and any(isinstance(v, str) for v in texts(case.body, field)):
        return True
    return any(re.fullmatch(o, operation) and re.fullmatch(f, field) and re.search(d, detail) for o, f, d in RULES)


def texts(body, field):
    if isinstance(body, dict) and isinstance(body.get("templates"), list):
        return [member(t, field) for t in body["templates"]]
    return [member(body, field)]


@schemathesis.serializer("application/hcl", "application/x-tar")
def as_it_is(ctx, value):
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "replace")


@schemathesis.hook
def before_call(ctx, case, kwargs):
    operation = operation_of(case)
    if operation == "create-session" and case.headers and isinstance(case.headers.get("Idempotency-Key"), str):
        # One key is for one request, and schemathesis gives the same to all.
        if len(case.headers["Idempotency-Key"]) <= 200:
            case.headers["Idempotency-Key"] += str(next(keys))
    if operation == "watch-files" or operation == "get-session-logs":
        session = (case.path_parameters or {}).get("id")
        if isinstance(session, str) and re.fullmatch("ses_[a-z0-9]+", session) and (
            operation == "watch-files" or (case.query or {}).get("follow") not in (None, False, "false")
        ):
            base = case.operation.base_url.rstrip("/")
            timer = threading.Timer(WATCHED, end, [f"{base}/api/v1/sessions/{session}"])
            timer.daemon = True
            timer.start()


def end(url):
    requests.delete(url, timeout=30)


def lead_on(ctx, body):
    """Makes the requests that others follow ones that succeed, where the whole is to be seen and
    not the bodies of these: a session of a template that there is, and an execution in it."""
    operation = ctx.operation.definition.raw.get("operationId", "")
    if not isinstance(body, dict):
        return body
    if operation == "create-session":
        return {"template_id": "python-basic", "metadata": body.get("metadata")}
    if operation == "execute":
        kinds = [
            {"command": ["sleep", "5"], "tty": {}, "async": True},
            {"code": "a = 1", "language": "python"},
            {"command": ["cat"], "stdin_open": True, "async": True},
        ]
        return {"env": body.get("env")} | kinds[next(executions) % len(kinds)]
    return body


def without_names(ctx, raw_schema):
    """Takes members away by which schemathesis would not begin with a session: it thinks that some
    operation has to make what they name."""
    members = raw_schema["components"]["schemas"]["CreateSessionBody"]["properties"]
    for name in ("agent_id", "snapshot_id", "template_id"):
        del members[name]


if os.environ.get("LEAD_ON"):
    schemathesis.hook("map_body")(lead_on)
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
    """Holds each refusal of a request that the document allows to the rules above."""
    if case.meta is None or not case.meta.generation.mode.is_positive:
        return
    # What there is not, and what its state forbids, depends on the requests before.
    if response.status_code < 400 or response.status_code in (404, 405, 409, 429) or response.status_code >= 500:
        return
    problem = problem_of(response)
    operation = operation_of(case)
    if not excused(operation, case, problem):
        raise AssertionError(
            f"the document allows the request, and {operation} refuses it: "
            f"{response.status_code} {problem.get('code')} in {problem.get('field')!r}"
        )
