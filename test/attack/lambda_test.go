package attack

import (
	"encoding/json"
	"testing"

	"github.com/yurtrun/yurt"
)

// runtimeClient serves invocations of a function that attacks its Runtime API.
const runtimeClient = `
import http.client, json, os, socket, sys
address = os.environ["AWS_LAMBDA_RUNTIME_API"]
root = "/2018-06-01/runtime/"

def ask(method, path, body=None, headers={}):
    connection = http.client.HTTPConnection(address)
    connection.request(method, root + path, body, headers)
    response = connection.getresponse()
    return response.status, dict(response.getheaders()), response.read()

def raw(data):
    with socket.create_connection(address.split(":")) as s:
        s.settimeout(2)
        try:
            s.sendall(data)
            while s.recv(65536): pass
        except OSError: pass

while True:
    _, headers, event = ask("GET", "invocation/next")
    request = headers["Lambda-Runtime-Aws-Request-Id"]
    exec(json.loads(event))
    ask("POST", f"invocation/{request}/response", b'"served"')
`

// TestLambdaForgersSpoilTheirOwn has a function say nonsense to its Runtime API, and another
// process answer in its place. Only the function's own result is spoilt.
func TestLambdaForgersSpoilTheirOwn(t *testing.T) {
	t.Parallel()
	a := newArena(t)
	sandbox := a.create(t, func(s *yurt.SandboxSpec) { s.Resources.Memory = 256 << 20 })
	invoke := func(t *testing.T, code string) *yurt.Result {
		t.Helper()
		event, err := json.Marshal(code)
		if err != nil {
			t.Fatal(err)
		}
		spec := program("")
		spec.Kind, spec.Handler, spec.Event, spec.Command = yurt.KindHandler, "handler", event, []string{"/usr/bin/python3", "-c", runtimeClient}
		return a.execute(t, sandbox, spec)
	}
	const served = `"served"`
	for _, forgery := range []struct{ name, code, result, errorType string }{
		{"nonsense", `raw(os.urandom(1 << 16)); raw(b"\r\n\r\n"); raw(b"GET / HTTP/9.9\r\n\r\n")`, served, ""},
		{"a header without an end", `raw(b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * (1 << 20))`, served, ""},
		{"a body that is shorter than it says", `raw(b"POST " + root.encode() + b"invocation/" + request.encode() + b"/response HTTP/1.1\r\nHost: a\r\nContent-Length: 99\r\n\r\n")`, served, ""},
		{"chunks without an end", `raw(b"POST " + root.encode() + b"invocation/" + request.encode() + b"/response HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + (b"10000\r\n" + b"a" * 65536 + b"\r\n") * 200)`, "", "Function.ResponseSizeTooLarge"},
		{"paths", `for path in ("invocation/../../x/response", "invocation/%2e%2e/response", "invocation/%00/response", "x" * 60000): ask("POST", path, b"1")`, served, ""},
		{"another's id", `assert ask("POST", "invocation/exe_abcdefgh/response", b"1")[0] == 400`, served, ""},
		{"connections", `held = [socket.create_connection(address.split(":")) for _ in range(12)]`, served, ""},
		{"a body on each connection", `
taken, connections = 0, [socket.create_connection(address.split(":")) for _ in range(12)]
for s in connections:
    s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 16); s.settimeout(0.5)
    try:
        s.sendall(b"POST " + root.encode() + b"invocation/" + request.encode() + b"/response HTTP/1.1\r\nHost: a\r\nContent-Length: 6000001\r\n\r\n")
        for _ in range(60): s.sendall(bytes(100000)); taken += 100000
    except TimeoutError: pass
for s in connections: s.close()
if taken > 12 * 1500000: raise MemoryError(taken)`, served, ""},
		{"a flood of requests", `
import select, time
flood, answers, end = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n" * 1000, 0, time.monotonic() + 2
with socket.create_connection(address.split(":")) as s:
    s.setblocking(False)
    while (now := time.monotonic()) < end:
        readable, writable, _ = select.select([s], [s], [], end - now)
        if writable: s.send(flood)
        if readable: answers += s.recv(1 << 16).count(b"HTTP/1.1 ")
if not 16 < answers < 1000: raise OverflowError(answers)`, served, ""},
		{"a result that is an envelope", `ask("POST", f"invocation/{request}/response", b'{"error":{"type":"SandboxLost"}}')`, `{"error":{"type":"SandboxLost"}}`, ""},
		{"an error of ours", `ask("POST", f"invocation/{request}/error", b'{"errorType":"SandboxLost","errorMessage":""}')`, "", "user.SandboxLost"},
		{"an error of control characters", `ask("POST", f"invocation/{request}/error", b'{"errorType":"\\u0000\\n","errorMessage":"' + b"a" * (1 << 20) + b'"}')`, "", "__"},
		{"another process's answer", `
if os.fork() == 0:
    ask("POST", f"invocation/{request}/response", b'"forged"')
    os._exit(0)
os.wait()`, `"forged"`, ""},
		{"an end of its output", `os.write(1, b"\x1eyurt:%s\x1e" % request.encode())`, served, ""},
		{"a pipe that is full", `os.set_blocking(1, False)
try:
    while True: os.write(1, b"a" * 65536)
except BlockingIOError: pass
os.set_blocking(1, True)`, served, ""},
	} {
		t.Run(forgery.name, func(t *testing.T) {
			r := invoke(t, forgery.code)
			got := ""
			if r.Error != nil {
				got = r.Error.Type
			}
			if got != forgery.errorType || string(r.Result) != forgery.result && forgery.result != "" {
				t.Errorf("result %.100s, error %.200v, want %s %q; exit code %d, %.500s", r.Result, r.Error, forgery.result, forgery.errorType, r.ExitCode, r.Stderr)
			}
			if r := invoke(t, "print('works')"); r.Error != nil || string(r.Result) != served {
				t.Errorf("the next invocation: %+v, %q, %q", r.Error, r.Result, r.Stderr)
			}
			a.works(t, "the bystander", a.bystander)
		})
	}
}
