// Package programs starts the node's own programs without power over the host: language runtimes, the unpacker of images, and the server of
// files of sandboxes. [Requests] name a runtime of the plugin directory, or an image that is being made in the store. They carry no path and no argument of their caller's, which
// needs no power for them.
//
// [Local] carries the requests out in this process, see [confine].
package programs

import (
	"context"
	"os"

	"github.com/yurtrun/yurt/plugins/binary"
)

// Requests is the requests for programs. Each program was started by one of them, and ends when their caller has.
type Requests interface {
	// StartRuntime starts a language runtime. Its files are standard output, standard error, and the directory that it may write to.
	StartRuntime(request binary.Request) (Program, error)
	// StartUnpacker starts the unpacker. Its files are standard input, output and error.
	StartUnpacker(request Unpacking) (Program, error)
	// StartFiles starts the process that serves files of sandboxes, in place of an earlier one, which it ends. Its files are the socket of
	// its client, see package files, and standard error.
	StartFiles() (Program, error)
	// AwaitProgram returns when the program has ended. It is forgotten then.
	AwaitProgram(ctx context.Context, id uint64) (binary.End, error)
	// KillProgram ends a program, with all that it has started. It has no effect on one that has ended.
	KillProgram(id uint64) error
}

// Unpacking asks for an unpacker.
type Unpacking struct {
	Image     string `json:"image"`      // the name of the directory in the store in which the image is made
	FileBytes int64  `json:"file_bytes"` // the bound of a file
}

// Program is a program that was started. The caller closes its files.
type Program struct {
	ID    uint64
	PID   int
	Files []*os.File
}
