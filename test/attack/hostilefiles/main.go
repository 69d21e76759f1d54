// Command hostilefiles is hostile code in the place of yurt-files. It is given the directories of sandboxes, tries for files, processes and networks
// beside them, and answers each request with the attempts that succeeded. With an argument, the name of canaries, it looks for those alone, and
// prints where it has found them.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt/executor/confine"
	"github.com/yurtrun/yurt/internal/linux/packet"
)

func main() {
	if len(os.Args) > 1 {
		fmt.Println(found(os.Args[1]))
		return
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run begins as yurt-files does, since the broker passes on no other process.
func run() error {
	if err := confine.AllowFileCalls(); err != nil {
		return err
	}
	socket, err := packet.Open(os.NewFile(3, "executor"))
	if err != nil {
		return err
	}
	if err := packet.Send(socket, []byte{'r'}, nil); err != nil {
		return err
	}
	var tops []*os.File
	for {
		_, files, err := packet.Receive(socket, make([]byte, 1<<16), 2)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		requests, err := packet.Open(files[1])
		if err != nil {
			return err
		}
		tops = append(tops, files[0])
		given := tops[:len(tops):len(tops)]
		go func() { _ = answer(requests, given) }()
	}
}

// answer answers the requests for one directory. The path of a request is the name of the canaries.
func answer(requests *net.UnixConn, tops []*os.File) error {
	for {
		data, files, err := packet.Receive(requests, make([]byte, 1<<16), 1)
		if err != nil {
			return err
		}
		socket, err := packet.Open(files[0])
		if err != nil {
			return err
		}
		var request struct{ Path string }
		if err := json.Unmarshal(data, &request); err != nil {
			return err
		}
		if err := packet.Send(socket, reply(attempts(request.Path, tops)), nil); err != nil {
			return err
		}
		socket.Close()
	}
}

// reply is an error with the text.
func reply(text string) []byte {
	data, err := packet.Encode(struct {
		Error struct {
			Text string `json:"text"`
		} `json:"error"`
	}{struct {
		Text string `json:"text"`
	}{text}})
	if err != nil {
		return nil
	}
	return data
}

// attempts returns "tried N" and the attempts that succeeded.
func attempts(name string, tops []*os.File) string {
	tried, done := 0, []string{}
	try := func(what string, err error) {
		tried++
		if err == nil {
			done = append(done, what)
		}
	}
	atHost(name, try)
	for i, top := range tops {
		atDirectory(fmt.Sprintf("directory %d: ", i), name, top, try)
	}
	return fmt.Sprintf("tried %d: %s", tried, strings.Join(done, "; "))
}

// atHost tries for files, processes and networks of the host.
func atHost(name string, try func(string, error)) {
	try("read a canary: "+found(name), missing(name))
	for _, path := range []string{"/etc/passwd", "/proc/self/status", "/proc/1/environ", "/proc/self/mem", "/sys"} {
		_, err := os.Stat(path)
		try("see "+path, err)
	}
	try("write to its root", os.WriteFile("/new", nil, 0o600))
	try("mount", unix.Mount("x", "/dev", "tmpfs", 0, ""))
	_, err := unix.OpenTree(unix.AT_FDCWD, "/", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
	try("open a tree", err)
	try("turn its root", unix.Chroot("/dev"))
	for what, flag := range map[string]int{"user": unix.CLONE_NEWUSER, "mount": unix.CLONE_NEWNS, "network": unix.CLONE_NEWNET} {
		try("make a "+what+" namespace", unix.Unshare(flag))
	}
	try("become root", unix.Setresuid(0, 0, 0))
	try("become a sandbox's user", unix.Setresuid(confine.FileServerID+1000, confine.FileServerID+1000, confine.FileServerID+1000))
	try("use files as root", asRoot())
	try("start a program", exec.CommandContext(context.Background(), "/program/"+confine.FileServer).Run())
	for pid := range 1000 {
		if pid > 1 { // it is the first process of its namespace
			try(fmt.Sprintf("signal process %d", pid), unix.Kill(pid, 0))
		}
	}
	try("trace a process", unix.PtraceAttach(2))
	for _, network := range []string{"tcp", "udp"} {
		conn, err := net.DialTimeout(network, "127.0.0.1:53", time.Second)
		if err == nil {
			conn.Close()
		}
		try("open a socket of "+network, err)
	}
	_, err = net.DialTimeout("unix", "/run/dbus/system_bus_socket", time.Second)
	try("reach a socket of the host", err)
}

// found lists the directories in which a canary can be read.
func found(name string) string {
	var list []string
	for _, dir := range []string{"/root", "/var/tmp", "/proc/1/root/root", "/proc/self/root/root"} {
		if _, err := os.ReadFile(filepath.Join(dir, name)); err == nil {
			list = append(list, dir)
		}
	}
	return strings.Join(list, " ")
}

func missing(name string) error {
	if found(name) == "" {
		return errors.New("there is no canary")
	}
	return nil
}

func asRoot() error {
	if _, err := unix.SetfsuidRetUid(0); err != nil {
		return err
	}
	if now, err := unix.SetfsuidRetUid(-1); err != nil || now != 0 {
		return errors.New("it is another user")
	}
	return nil
}

// atDirectory tries to get from a directory that it was given into the host's files, and to make files that have power.
func atDirectory(prefix, name string, top *os.File, try func(string, error)) {
	up := strings.Repeat("../", 64)
	for _, dir := range []string{"root", "var/tmp", "proc/1/root/root"} {
		fd, err := unix.Openat(int(top.Fd()), up+dir+"/"+name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err == nil {
			unix.Close(fd)
		}
		try(prefix+"read the canary in "+dir+" above", err)
	}
	device := unix.Mkdev(1, 1)
	try(prefix+"make a device", unix.Mknodat(int(top.Fd()), "device", unix.S_IFCHR|0o666, int(device)))
	try(prefix+"give it to root", unix.Fchownat(int(top.Fd()), ".", 0, 0, 0))
	_, err := unix.OpenByHandleAt(int(top.Fd()), unix.NewFileHandle(1, make([]byte, 8)), unix.O_RDONLY)
	try(prefix+"open a file by its handle", err)
}
