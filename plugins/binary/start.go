package binary

import (
	"encoding/pem"
	"fmt"
	"os"
	"strings"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/plugins/internal/protocol"
)

// Dir is where a confined runtime sees its directory.
const Dir = "/tmp"

// maxCertificate bounds the certificate of a host, in bytes.
const maxCertificate = 4 << 10

// Request asks for the start of a runtime as a confined process.
type Request struct {
	Name        string `json:"name"`
	Certificate string `json:"certificate"` // of the host, in PEM: the runtime answers no other process
	LogLevel    string `json:"log_level"`   // of the lines that the host keeps
}

// Program is a confined runtime that was started. The files are the caller's to close.
type Program struct {
	PID            int
	Stdout, Stderr *os.File
	Dir            *os.File   // the one directory that it may write to, and where it listens
	Wait           func() End // until the process is gone
	Kill           func()
}

// End is how a process ended.
type End struct {
	Code   int    `json:"code,omitempty"`
	Signal int    `json:"signal,omitempty"` // 0 if it exited
	Remark string `json:"remark,omitempty"` // more about it, such as that it had no memory left
}

// Env returns the environment of the runtime. It refuses a request with other values than those of a host.
func (r Request) Env() ([]string, error) {
	block, rest := pem.Decode([]byte(r.Certificate))
	if len(r.Certificate) > maxCertificate || block == nil || block.Type != "CERTIFICATE" || len(rest) > 0 || strings.Contains(r.Certificate, "\x00") {
		return nil, yurt.FieldErrorf(yurt.CodeInvalidArgument, "certificate", "it has %d bytes and is no certificate; give one in PEM, of at most %d bytes", len(r.Certificate), maxCertificate)
	}
	if hclog.LevelFromString(r.LogLevel).String() != r.LogLevel {
		return nil, yurt.FieldErrorf(yurt.CodeInvalidArgument, "log_level", "%.100q is no level; give trace, debug, info, warn, error or off", r.LogLevel)
	}
	handshake := protocol.Handshake()
	return append(CommonEnv(r.LogLevel),
		"GOMEMLIMIT=192MiB", // from there on a program of Go works harder to need less
		handshake.MagicCookieKey+"="+handshake.MagicCookieValue,
		"PLUGIN_PROTOCOL_VERSIONS="+protocol.List(","),
		"PLUGIN_CLIENT_CERT="+r.Certificate,
		plugin.EnvUnixSocketDir+"="+Dir,
	), nil
}

// CommonEnv returns the environment of each runtime, confined or not.
func CommonEnv(logLevel string) []string {
	return []string{
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"LANG=C.UTF-8",
		fmt.Sprintf("%s=%s", protocol.LogLevelEnv, logLevel),
	}
}
