package e2e

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
)

// screen collects a terminal's output until it holds the text, or ends.
func screen(ctx context.Context, t *testing.T, terminal *yurtclient.Terminal, text string) (string, *yurtclient.Exit) {
	t.Helper()
	var shown strings.Builder
	for text == "" || !strings.Contains(shown.String(), text) {
		data, exit, err := terminal.Next(ctx)
		if err != nil {
			t.Fatalf("after %q: %v", shown.String(), err)
		}
		if exit != nil {
			return shown.String(), exit
		}
		shown.Write(data)
	}
	return shown.String(), nil
}

func TestTerminalOfASession(t *testing.T) {
	t.Parallel()
	needsSandboxes(t)
	client := serve(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	session := create(t, client, "shell-basic")
	terminal, err := client.OpenTerminal(ctx, session.ID, yurtclient.TerminalRequest{Size: yurtclient.TerminalSize{Rows: 33, Cols: 111}})
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	say := func(line string) {
		t.Helper()
		if err := terminal.Write(ctx, []byte(line+"\n")); err != nil {
			t.Fatal(err)
		}
	}
	say("stty size; tty")
	screen(ctx, t, terminal, "33 111\r\n/dev/pts/")
	if err := terminal.Resize(ctx, yurtclient.TerminalSize{Rows: 20, Cols: 40}); err != nil {
		t.Fatal(err)
	}
	say("stty size; X=kept")
	screen(ctx, t, terminal, "20 40\r\n")
	terminal.Close() // the connection breaks

	again, err := client.OpenTerminal(ctx, session.ID, yurtclient.TerminalRequest{ExecutionID: terminal.ExecutionID})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	terminal = again
	say("echo $X.")
	screen(ctx, t, terminal, "kept.\r\n")
	say("exit 7")
	if shown, exit := screen(ctx, t, terminal, ""); exit == nil || exit.Code != 7 {
		t.Errorf("it ended with %+v after %q", exit, shown)
	}
	if _, err := client.OpenTerminal(ctx, session.ID, yurtclient.TerminalRequest{Size: yurtclient.TerminalSize{Rows: 5000}}); yurt.CodeOf(err) == "" {
		t.Error("a terminal of 5000 rows was opened")
	}
}

// TestShellCommand runs yurt session shell at a terminal, as a person does.
func TestShellCommand(t *testing.T) {
	t.Parallel()
	needsSandboxes(t)
	client, server := serveProcess(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	session := create(t, client, "shell-basic")
	master, slave := openPTY(t)
	cmd := exec.CommandContext(ctx, binary(t, "yurt"), "session", "--server", server.URL, "shell", session.ID)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	slave.Close()
	shown := make(chan string, 64)
	go func() {
		defer close(shown)
		buf := make([]byte, 4096)
		for {
			n, err := master.Read(buf)
			if err != nil { // when the last process that has the terminal open is gone
				return
			}
			shown <- string(buf[:n])
		}
	}()
	var screen strings.Builder
	until := func(text string) {
		t.Helper()
		for !strings.Contains(screen.String(), text) {
			data, ok := <-shown
			if !ok {
				t.Fatalf("it ended after %q", screen.String())
			}
			screen.WriteString(data)
		}
		screen.Reset() // the next text is looked for in the next output
	}
	send := func(keys string) {
		t.Helper()
		if _, err := master.WriteString(keys); err != nil {
			t.Fatal(err)
		}
	}
	send("stty size; echo $((6 * 7)).\n")
	until("25 90\r\n42.\r\n")
	send("echo be''gun; cat\n")
	until("begun\r\n") // text typed before the shell has handed the terminal on is its own
	send("echoed\n")
	until("echoed\r\nechoed\r\n")
	send("\x03") // of cat, not of yurt
	until("$ ")
	send("exit 5\n")
	for data := range shown {
		screen.WriteString(data)
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 5 {
		t.Errorf("it ended with %v after %q", err, screen.String())
	}
}

// openPTY makes a terminal of 25 rows and 90 columns.
func openPTY(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { master.Close() })
	raw, err := master.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	err = raw.Control(func(fd uintptr) {
		if err := unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0); err != nil {
			t.Error(err)
		}
		if err := unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Row: 25, Col: 90}); err != nil {
			t.Error(err)
		}
		peer, _, errno := unix.Syscall(unix.SYS_IOCTL, fd, unix.TIOCGPTPEER, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC)
		if errno != 0 {
			t.Error(errno)
		}
		slave = os.NewFile(peer, "terminal")
	})
	if err != nil || t.Failed() {
		t.Fatal(err)
	}
	return master, slave
}
