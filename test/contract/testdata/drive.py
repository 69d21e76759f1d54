"""Drives a session with the client that openapi-python-client has generated."""

import sys

from yurt_client import Client
from yurt_client.api.executions import execute, get_result, list_executions
from yurt_client.api.sessions import create_session, end_session, get_session, list_sessions
from yurt_client.models import CreateSessionBody, ExecuteBody, Problem
from yurt_client.types import UNSET

client = Client(base_url=sys.argv[1], raise_on_unexpected_status=True)

session = create_session.sync(client=client, body=CreateSessionBody(timeout="5m"))
assert session.state == "ready" and session.template_id == "default", session

result = execute.sync(client=client, id=session.id, body=ExecuteBody(code="print(6 * 7)", language="python"))
assert result.stdout == "42\n" and result.exit_code == 0 and result.error is None, result

failed = execute.sync(client=client, id=session.id, body=ExecuteBody(code="raise ValueError('no')"))
assert failed.error.type_ == "ValueError" and failed.error.message == "no", failed

handler = "def handler(event):\n    return {'sum': event['a'] + event['b']}"
summed = execute.sync(client=client, id=session.id, body=ExecuteBody(code=handler, handler="handler", event={"a": 1, "b": 2}))
assert summed.result == {"sum": 3}, summed

record = execute.sync(client=client, id=session.id, body=ExecuteBody(command=["sleep", "0"], async_=True))
assert record.execution_id, record

assert get_result.sync(client=client, id=session.id, execution_id=result.execution_id).stdout == "42\n"
assert len(list_executions.sync(client=client, id=session.id).executions) == 4
assert session.id in [s.id for s in list_sessions.sync(client=client).sessions]
assert end_session.sync(client=client, id=session.id).state == "terminated"
gone = execute.sync(client=client, id=session.id, body=ExecuteBody(code="1"))
assert isinstance(gone, Problem) and gone.code == "session_ended" and gone.field is UNSET, gone
assert get_session.sync(client=client, id=session.id).ended_at
