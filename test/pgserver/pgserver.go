// Package pgserver starts PostgreSQL servers for tests: real ones, from Debian's
// package, each in a directory of its own, which end with the test.
package pgserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	startLimit = 2 * time.Minute // for a busy machine
	startPoll  = 20 * time.Millisecond
)

// Server is a PostgreSQL server that listens on a Unix socket alone.
type Server struct {
	t         testing.TB
	bin       string // where its programs are
	dir       string // its data, its socket and its log
	as        *syscall.Credential
	databases atomic.Int64

	command *exec.Cmd
	ended   chan struct{} // closed once it is reaped
}

// Start makes a server and starts it. Short tests are skipped: they run where there may be
// no PostgreSQL.
func Start(t testing.TB) *Server {
	t.Helper()
	if testing.Short() {
		t.Skip("it starts a PostgreSQL server")
	}
	dir, err := os.MkdirTemp("", "yurt-pg-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error("removing the server's directory:", err)
		}
	})
	s := &Server{t: t, dir: dir, bin: programs(t), as: unprivileged(t)}
	if s.as != nil {
		if err := os.Chown(dir, int(s.as.Uid), int(s.as.Gid)); err != nil {
			t.Fatal(err)
		}
	}
	init := s.program("initdb", "--pgdata", s.data(), "--username", "yurt", "--auth", "trust", "--encoding", "UTF8", "--locale", "C", "--no-sync")
	if out, err := init.CombinedOutput(); err != nil {
		t.Fatalf("making a PostgreSQL server: %v\n%s", err, out)
	}
	s.Restart()
	t.Cleanup(s.stop)
	return s
}

// stop ends the server in its own time, which is when it gives back its shared memory: one
// that was killed does so when it is started again.
func (s *Server) stop() {
	select {
	case <-s.ended:
		s.Restart()
	default:
	}
	if err := s.command.Process.Signal(syscall.SIGINT); err != nil {
		s.t.Error("stopping PostgreSQL:", err)
	}
	select {
	case <-s.ended:
	case <-time.After(startLimit):
		s.t.Errorf("PostgreSQL does not end\n%s", s.log())
		s.Kill()
	}
}

// programs returns the directory of the newest version that is installed.
func programs(t testing.TB) string {
	t.Helper()
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	if err != nil || len(found) == 0 {
		t.Fatal("there is no PostgreSQL in /usr/lib/postgresql; 'scripts/deps test' installs it")
	}
	version := func(path string) int {
		n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path))))
		return n
	}
	return filepath.Dir(slices.MaxFunc(found, func(a, b string) int { return version(a) - version(b) }))
}

// unprivileged returns whom the server runs as: PostgreSQL refuses to be root.
func unprivileged(t testing.TB) *syscall.Credential {
	t.Helper()
	if os.Geteuid() != 0 {
		return nil
	}
	nobody, err := user.Lookup("nobody")
	if err != nil {
		t.Fatal(err)
	}
	uid, uidErr := strconv.ParseUint(nobody.Uid, 10, 32)
	gid, gidErr := strconv.ParseUint(nobody.Gid, 10, 32)
	if err := errors.Join(uidErr, gidErr); err != nil {
		t.Fatal(err)
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

func (s *Server) program(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(s.bin, name), args...)
	cmd.Dir = s.dir
	cmd.Env = []string{"LC_ALL=C", "TZ=UTC", "PATH=/usr/bin:/bin"}
	// It ends with this process, however that ends: at once, with its children.
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.as, Pdeathsig: syscall.SIGQUIT}
	return cmd
}

// Restart starts the server, after [Server.Kill] or for the first time, and returns once
// it serves.
func (s *Server) Restart() {
	s.t.Helper()
	log, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		s.t.Fatal(err)
	}
	defer log.Close()
	// Without fsync, a kill of the server loses no data: only a crash of the machine does.
	cmd := s.program("postgres", "-D", s.data(), "-k", s.dir, "-c", "listen_addresses=", "-c", "fsync=off", "-c", "shared_buffers=16MB", "-c", "max_connections=100")
	cmd.Stdout, cmd.Stderr = log, log
	started, ended := make(chan error), make(chan struct{})
	go func() {
		// The signal of the parent's death comes when the thread that started it ends.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(ended)
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // killed, as it should be
		}
	}()
	if err := <-started; err != nil {
		s.t.Fatal("starting PostgreSQL:", err)
	}
	s.command, s.ended = cmd, ended
	s.await()
}

// await returns once the server answers.
func (s *Server) await() {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	for {
		conn, err := pgx.Connect(ctx, s.url("postgres"))
		if err == nil {
			_ = conn.Close(ctx)
			return
		}
		select {
		case <-s.ended:
			s.t.Fatalf("PostgreSQL ended at its start\n%s", s.log())
		case <-ctx.Done():
			s.t.Fatalf("PostgreSQL does not serve: %v\n%s", err, s.log())
		case <-time.After(startPoll):
		}
	}
}

func (s *Server) log() string {
	file, err := os.Open(filepath.Join(s.dir, "log"))
	if err != nil {
		return err.Error()
	}
	defer file.Close()
	text, err := io.ReadAll(file)
	return fmt.Sprint(string(text), err)
}

// Kill ends the server as kill -9 does, and returns once its children have noticed: it
// cannot be started again before.
func (s *Server) Kill() {
	pid := s.command.Process.Pid
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid)) // it may be gone
	_ = s.command.Process.Kill()
	<-s.ended
	deadline := time.Now().Add(startLimit)
	for _, field := range strings.Fields(string(text)) {
		for runs(field) {
			if time.Now().After(deadline) {
				s.t.Fatalf("process %s of PostgreSQL does not end\n%s", field, s.log())
			}
			time.Sleep(startPoll)
		}
	}
}

// runs reports whether a process has not ended, reaped or not.
func runs(pid string) bool {
	stat, err := os.ReadFile(filepath.Join("/proc", pid, "stat"))
	if err != nil {
		return false
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(state, "Z")
}

func (s *Server) url(database string) string {
	return "postgres:///" + database + "?user=yurt&host=" + s.dir
}

// Database makes an empty database and returns its URL.
func (s *Server) Database() string {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.url("postgres"))
	if err != nil {
		s.t.Fatal("connecting to PostgreSQL:", err)
	}
	name := fmt.Sprintf("test%d", s.databases.Add(1))
	_, err = conn.Exec(ctx, "CREATE DATABASE "+name)
	if err = errors.Join(err, conn.Close(ctx)); err != nil {
		s.t.Fatal("making a database:", err)
	}
	return s.url(name)
}
