package audit

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt"
)

// ExecutionEnded adds an entry if the kernel killed the execution for something that concerns security.
func (l *Log) ExecutionEnded(session yurt.Session, id string, result *yurt.Result) {
	if l == nil || result == nil {
		return
	}
	e := Entry{At: time.Now(), Tenant: session.Tenant, SessionID: session.ID, Target: id, Decision: Event}
	switch {
	case result.Error != nil && result.Error.Type == yurt.ErrorTypeOutOfMemory:
		e.Action, e.Detail = ActionOutOfMemory, "killed: it used more memory than its sandbox has"
	case result.ExitCode == yurt.ExecutionExitSignal+int(unix.SIGSYS):
		e.Action, e.Detail = ActionSeccomp, "ended by SIGSYS: a system call that the seccomp profile forbids"
	default:
		return
	}
	l.Note(e)
}
