package attack

import (
	"strings"
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/test/testutil"
)

// cell runs Python in a context, with the kernel's own object in the name kernel.
func (a *arena) cell(t *testing.T, sandbox, code string) *yurt.Result {
	t.Helper()
	spec := program("")
	spec.Kind, spec.Command, spec.Language, spec.ContextName = yurt.KindCode, nil, "python", yurt.DefaultContext
	spec.Code = "import os, sys\nframe = sys._getframe()\nwhile frame.f_back: frame = frame.f_back\nkernel = frame.f_globals['KERNEL']\n" +
		"requests = frame.f_globals['REQUESTS']\n" + code
	return a.execute(t, sandbox, spec)
}

// TestForgersSpoilTheirOwn has code in a context send the host messages that only its interpreter
// should. It spoils its own result: the next execution gets an interpreter that works, and so do
// all other contexts.
func TestForgersSpoilTheirOwn(t *testing.T) {
	t.Parallel()
	a := newArena(t)
	sandbox := a.create(t, func(s *yurt.SandboxSpec) { s.Resources.Memory = 256 << 20 })
	for _, forgery := range []struct{ name, code, errorType string }{
		{"what is no message", `os.write(kernel.control, b'\xff{"nonsense\n')`, yurt.ErrorTypeKernelDied},
		{"a message of nobody", `kernel.say(b'{"id":"../../x","done":{"exit_code":0}}')`, yurt.ErrorTypeKernelDied},
		{"a message without an end", `for _ in range(64): os.write(kernel.control, b'a' * (1 << 20))`, yurt.ErrorTypeKernelDied},
		{"more displays than can be kept", `for _ in range(100): display({'text/plain': 'a' * (1 << 20)}, raw=True)`, yurt.ErrorTypeKernelDied},
		{"more displays than can be read", `
say = b'{"id":"%s","display":{"data":{"text/plain":"x"},"display_id":"a","update":true}}\n' % kernel.current.encode() * 1000
for _ in range(300): os.write(kernel.control, say)`, yurt.ErrorTypeKernelDied},
		{"a display of no type", `kernel.say(b'{"id":"%s","display":{"data":{"":1}}}' % kernel.current.encode())`, yurt.ErrorTypeKernelDied},
		{"another's end", `kernel.say(b'{"id":"exe_abcdefgh","done":{"exit_code":7,"envelope":{"result":1}}}')`, ""},
		{"another's mark", `os.write(1, b'\x1eyurt:exe_abcdefgh\x1e')`, ""},
		{"an error of ours", `kernel.say(b'{"id":"%s","done":{"exit_code":1,"envelope":{"error":{"type":"SandboxLost","message":"","stacktrace":[]}}}}' % kernel.current.encode())`, "user.SandboxLost"},
		{"the end of its output", `os.write(1, b'\x1eyurt:%s\x1e' % kernel.current.encode())`, ""},
	} {
		t.Run(forgery.name, func(t *testing.T) {
			r := a.cell(t, sandbox, forgery.code+"\nNone")
			got := ""
			if r.Error != nil {
				got = r.Error.Type
			}
			if got != forgery.errorType {
				t.Errorf("error is %+v, want %q; exit code %d, %.500s", r.Error, forgery.errorType, r.ExitCode, r.Stderr)
			}
			if r := a.cell(t, sandbox, "print('works')"); r.Error != nil || r.Stdout != "works\n" {
				t.Errorf("the next execution: %+v, %q, %q", r.Error, r.Stdout, r.Stderr)
			}
			a.works(t, "the sandbox", sandbox)
			a.works(t, "the bystander", a.bystander)
		})
	}
}

// TestForgersBetweenExecutions has a thread send the host messages of any kind, as many as it can,
// while no execution runs that could receive them. The host passes over them, unread.
func TestForgersBetweenExecutions(t *testing.T) {
	a := newArena(t)
	sandbox := a.create(t, func(s *yurt.SandboxSpec) { s.Resources.Memory = 256 << 20 })
	r := a.cell(t, sandbox, `
import threading, time
said = 0
def say():
    global said
    time.sleep(0.5)
    while True: said += os.write(kernel.control, b'{"nonsense\n' * 1000)
threading.Thread(target=say, daemon=True).start()
`)
	if r.Error != nil {
		t.Fatalf("%+v, %s", r.Error, r.Stderr)
	}
	testutil.Eventually(t, "nonsense in plenty", func() bool {
		r := a.execute(t, sandbox, shell("cat /proc/*/io 2>/dev/null | awk '/^wchar/ && $2 > 64000000 {print 1}'"))
		return strings.HasPrefix(r.Stdout, "1")
	})
	if contexts, err := a.Contexts(t.Context(), sandbox); err != nil || len(contexts) != 1 || contexts[0].State != yurt.ContextIdle {
		t.Errorf("its context is %+v, %v", contexts, err)
	}
	a.works(t, "the sandbox", sandbox)
	a.works(t, "the bystander", a.bystander)
}

// TestRequestsAreTheHosts has code try to ask the interpreter in the host's place.
func TestRequestsAreTheHosts(t *testing.T) {
	a := newArena(t)
	r := a.cell(t, a.bystander, `
def fails(do):
    try: do()
    except OSError: return
    print('got', do)
fails(lambda: os.open(requests, os.O_WRONLY | os.O_NONBLOCK))
fails(lambda: os.open(requests, os.O_RDWR | os.O_NONBLOCK))
fails(lambda: os.unlink(requests))
fails(lambda: os.rename(requests, requests + '.old'))
fails(lambda: os.mkfifo(os.path.dirname(requests) + '/other'))
fails(lambda: os.open(os.path.dirname(requests) + '/kernel.py', os.O_WRONLY))
fails(lambda: os.chmod(requests, 0o666))
fails(lambda: os.write(kernel.requests, b'x'))
print('held')
`)
	held(t, r)
	if strings.Contains(r.Stdout, "got") {
		t.Error(r.Stdout)
	}
}
