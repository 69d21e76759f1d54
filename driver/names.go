package driver

import (
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	drivers "github.com/hashicorp/nomad/plugins/drivers/proto"

	"github.com/yurtrun/yurt"
)

// nameFile is a file in the task's directory on the node, where no sandbox can write, that
// the task has in place of the node's.
type nameFile struct{ name, target, text string }

// Files by which what has a network knows names.
const (
	resolvConf = "/etc/resolv.conf"
	hostsFile  = "/etc/hosts"
)

// nameFiles are those that the job asks for, by the dns of its group's network.
func nameFiles(config *drivers.TaskConfig) ([]nameFile, error) {
	var files []nameFile
	if dns := config.GetDns(); dns != nil {
		text, err := resolvText(dns)
		if err != nil {
			return nil, err
		}
		files = append(files, nameFile{"resolv.conf", resolvConf, text})
	}
	return files, nil
}

// resolvText is a resolv.conf that says what the job's dns does.
func resolvText(dns *drivers.DNSConfig) (string, error) {
	var text strings.Builder
	for _, server := range dns.GetServers() {
		if _, err := netip.ParseAddr(server); err != nil {
			return "", yurt.FieldErrorf(yurt.CodeInvalidArgument, "network.dns.servers", "%q is not the address of a name server", server)
		}
		fmt.Fprintln(&text, "nameserver", server)
	}
	for _, list := range []struct {
		field, keyword string
		words          []string
	}{{"searches", "search", dns.GetSearches()}, {"options", "options", dns.GetOptions()}} {
		for _, word := range list.words {
			if word == "" || strings.ContainsFunc(word, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }) {
				return "", yurt.FieldErrorf(yurt.CodeInvalidArgument, "network.dns."+list.field, "%q is not one word", word)
			}
		}
		if len(list.words) > 0 {
			fmt.Fprintln(&text, list.keyword, strings.Join(list.words, " "))
		}
	}
	return text.String(), nil
}

// named adds the files by which what has a network knows names: those of the job, and the
// node's for the others, unless the job mounts its own.
func named(config *drivers.TaskConfig, files []nameFile, mounts []yurt.Mount) []yurt.Mount {
	for _, target := range []string{resolvConf, hostsFile} {
		if slices.ContainsFunc(mounts, func(m yurt.Mount) bool { return m.Target == target }) {
			continue
		}
		if i := slices.IndexFunc(files, func(f nameFile) bool { return f.target == target }); i >= 0 {
			mounts = append(mounts, yurt.Mount{Base: taskDir(config), Source: files[i].name, Target: target, ReadOnly: true})
			continue
		}
		real, err := filepath.EvalSymlinks(target)
		if err != nil {
			continue // the node has none
		}
		if info, err := os.Stat(real); err == nil && info.Mode().IsRegular() {
			mounts = append(mounts, yurt.Mount{Source: real, Target: target, ReadOnly: true})
		}
	}
	return mounts
}

// taskDir is the task's own directory, which is in the sandbox in parts only.
func taskDir(config *drivers.TaskConfig) string {
	return filepath.Join(config.GetAllocDir(), config.GetName())
}

// writeNames writes the files. What is there by that name, such as a link out that came in
// an artifact, is replaced and not followed.
func writeNames(dir string, files []nameFile) error {
	if len(files) == 0 {
		return nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("opening the task's directory: %w", err)
	}
	defer root.Close()
	for _, f := range files {
		if err := root.Remove(f.name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("writing the task's %s: %w", f.name, err)
		}
		file, err := root.OpenFile(f.name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if err != nil {
			return fmt.Errorf("writing the task's %s: %w", f.name, err)
		}
		_, err = file.WriteString(f.text)
		if err := errors.Join(err, file.Close()); err != nil {
			return fmt.Errorf("writing the task's %s: %w", f.name, err)
		}
	}
	return nil
}
