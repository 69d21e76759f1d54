package images

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/rootfs"
)

// Where the accounts of an image are.
const (
	passwdName = "etc/passwd"
	groupName  = "etc/group"
)

// maxAccounts bounds the file of the accounts, in bytes.
const maxAccounts = 1 << 20

// settle has the image know the user that code runs as in every sandbox, beside its own.
func (t tree) settle() error {
	etc := place{t.root, "etc"}
	if stat, err := etc.stat(); err != nil || stat.Mode&unix.S_IFMT != unix.S_IFDIR {
		// A sandbox has its own directory there, in any image.
		if err := errors.Join(etc.remove(), etc.mkdir(0o755)); err != nil {
			return fmt.Errorf("making /etc: %w", err)
		}
	}
	for name, line := range map[string]string{
		passwdName: fmt.Sprintf("%s:x:%d:%d:sandbox user:%s:/bin/sh\n", rootfs.UserName, rootfs.UserID, rootfs.GroupID, yurt.WorkspaceDir),
		groupName:  fmt.Sprintf("%s:x:%d:\n", rootfs.UserName, rootfs.GroupID),
	} {
		if err := t.addAccount(name, line); err != nil {
			return err
		}
	}
	return nil
}

// addAccount adds a line, whose third field is an id, unless there is one of that id.
func (t tree) addAccount(name, line string) error {
	text, err := t.accounts(name)
	if err != nil {
		return err
	}
	id := strings.Split(line, ":")[2]
	if find(text, 2, id) != nil {
		return nil
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	p, err := t.at(name)
	if err != nil {
		return fmt.Errorf("writing /%s: %w", name, err)
	}
	defer p.close()
	if err := p.remove(); err != nil { // it may have other names, and be a link
		return fmt.Errorf("writing /%s: %w", name, err)
	}
	fd, err := unix.Openat(p.fd(), p.name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o644)
	if err != nil {
		return fmt.Errorf("writing /%s: %w", name, err)
	}
	file := os.NewFile(uintptr(fd), name)
	_, err = file.WriteString(text + line)
	return errors.Join(err, file.Chmod(0o644), file.Close())
}

// accounts returns the content of one of the files; "" if the image lacks it.
func (t tree) accounts(name string) (string, error) {
	file, err := t.open(name, unix.O_RDONLY|unix.O_NONBLOCK)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("reading /%s: %w", name, err)
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", err
	}
	data, err := io.ReadAll(io.LimitReader(file, maxAccounts+1))
	if err != nil {
		return "", fmt.Errorf("reading /%s: %w", name, err)
	}
	if len(data) > maxAccounts {
		return "", yurt.Errorf(yurt.CodeLimitOutOfRange, "its /%s is larger than %s", name, yurt.Size(maxAccounts))
	}
	return string(data), nil
}

// find returns the fields of the first line that has the value in a field, or nil.
func find(text string, field int, value string) []string {
	for line := range strings.Lines(text) {
		if fields := strings.Split(strings.TrimRight(line, "\n"), ":"); len(fields) > field && fields[field] == value {
			return fields
		}
	}
	return nil
}

// user returns the user of the image, in the words of its configuration: USER or USER:GROUP, by name or number. A sandbox has no
// root: nil stands for the user that all run as.
func (t tree) user(text string) (*yurt.User, error) {
	name, group, hasGroup := strings.Cut(text, ":")
	if name == "" || name == "root" || name == "0" {
		return nil, nil //nolint:nilnil // as the comment says
	}
	passwd, err := t.accounts(passwdName)
	if err != nil {
		return nil, err
	}
	account := find(passwd, 0, name)
	if account == nil {
		account = find(passwd, 2, name)
	}
	u := yurt.User{}
	switch id, err := strconv.ParseUint(name, 10, 32); {
	case len(account) > 3:
		uid, uidErr := strconv.ParseUint(account[2], 10, 32)
		gid, gidErr := strconv.ParseUint(account[3], 10, 32)
		if uidErr != nil || gidErr != nil {
			return nil, yurt.FieldErrorf(yurt.CodeInvalidArgument, "image", "its user %q has no numbers in its /etc/passwd", name)
		}
		u = yurt.User{UID: uint32(uid), GID: uint32(gid)}
	case err == nil:
		u = yurt.User{UID: uint32(id), GID: uint32(id)}
	default:
		return nil, yurt.FieldErrorf(yurt.CodeInvalidArgument, "image", "it wants to run as %q, whom its /etc/passwd does not know", name)
	}
	if hasGroup {
		if u.GID, err = t.group(group); err != nil {
			return nil, err
		}
	}
	if u.GID == 0 { // no account has the group of root either
		u.GID = u.UID
	}
	if u.UID == 0 {
		return nil, nil //nolint:nilnil // root by another name
	}
	return &u, u.Validate("image")
}

// account returns the name and the home of the user in the image's accounts, if it is there.
func (t tree) account(uid uint32) (name, home string, err error) {
	passwd, err := t.accounts(passwdName)
	if err != nil {
		return "", "", err
	}
	fields := find(passwd, 2, strconv.FormatUint(uint64(uid), 10))
	if len(fields) < 6 || !path.IsAbs(fields[5]) {
		return "", "", nil
	}
	name, home = fields[0], fields[5]
	return name, home, yurt.ValidateEnv("image", map[string]string{"USER": name, "HOME": home})
}

func (t tree) group(name string) (uint32, error) {
	id, err := strconv.ParseUint(name, 10, 32)
	if err == nil {
		return uint32(id), nil
	}
	text, err := t.accounts(groupName)
	if err != nil {
		return 0, err
	}
	if fields := find(text, 0, name); len(fields) > 2 {
		if id, err = strconv.ParseUint(fields[2], 10, 32); err == nil {
			return uint32(id), nil
		}
	}
	return 0, yurt.FieldErrorf(yurt.CodeInvalidArgument, "image", "it wants to run in the group %q, which its /etc/group does not know", name)
}
