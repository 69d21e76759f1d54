package taskspec

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

// Files by which a task knows names, its own among them.
const (
	resolvConf   = "/etc/resolv.conf"
	hostsFile    = "/etc/hosts"
	hostnameFile = "/etc/hostname"
)

// nameFiles are the files that the task gets: resolv.conf by the dns of its group's network,
// where the task has a network, and its host name.
func nameFiles(config *drivers.TaskConfig, network, hostname string) ([]nameFile, error) {
	var files []nameFile
	if dns := config.GetDns(); dns != nil {
		text, err := resolvText(dns)
		if err != nil {
			return nil, err
		}
		if network != "" {
			files = append(files, nameFile{"resolv.conf", resolvConf, text})
		}
	}
	if hostname == "" {
		return files, nil
	}
	return append(files,
		nameFile{"hosts", hostsFile, hostsText(config, network, hostname)},
		nameFile{"hostname", hostnameFile, hostname + "\n"},
	), nil
}

// hostname is the task's host name: the job's, the one of the group's network if the driver
// that made the network gave it one, and else one that no other task has. A task in the
// node's network has the node's.
func (c *Config) hostname(config *drivers.TaskConfig, network string) (string, error) {
	if c.Hostname != "" {
		if !yurt.ValidHostname(c.Hostname) {
			return "", yurt.FieldErrorf(yurt.CodeInvalidArgument, "hostname", "%q is not a host name; give letters, digits, dashes and dots, at most %d", c.Hostname, yurt.MaxHostname)
		}
		return c.Hostname, nil
	}
	if network == yurt.NodeNetwork {
		name, err := os.Hostname()
		if err != nil {
			return "", fmt.Errorf("reading the node's host name: %w", err)
		}
		return name, nil
	}
	if name := config.GetNetworkIsolationSpec().GetHostsConfig().GetHostname(); network != "" && yurt.ValidHostname(name) {
		return name, nil
	}
	return ownHostname(config), nil
}

// ownHostname is the task's name and the beginning of its allocation's id.
func ownHostname(config *drivers.TaskConfig) string {
	id := config.GetAllocId()
	id = id[:min(len(id), allocPrefix)]
	task := strings.Map(func(r rune) rune {
		if r == '-' || r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
			return r
		}
		return '-'
	}, config.GetName())
	name := strings.Trim(task[:min(len(task), maxTaskInHostname)]+"-"+id, "-")
	if !yurt.ValidHostname(name) { // Nomad's names and ids always give one
		return ""
	}
	return name
}

const (
	allocPrefix       = 8 // of an allocation's id, as Nomad shows it
	maxTaskInHostname = 50
)

// hostsText are the names that the task knows without asking for them: those of the node,
// where the task has a network, and its own.
func hostsText(config *drivers.TaskConfig, network, hostname string) string {
	text := "127.0.0.1 localhost\n::1 localhost\n"
	if network != "" {
		if known, err := os.ReadFile(hostsFile); err == nil && len(known) <= maxHosts {
			text = string(known)
		}
	}
	if network == yurt.NodeNetwork {
		return text
	}
	address := "127.0.1.1" // as Debian has it: on the loopback, and not localhost
	if given, err := netip.ParseAddr(config.GetNetworkIsolationSpec().GetHostsConfig().GetAddress()); err == nil {
		address = given.String()
	}
	return strings.TrimRight(text, "\n") + "\n" + address + " " + hostname + "\n"
}

// maxHosts bounds the node's file of hosts, in bytes.
const maxHosts = 1 << 20

// resolvText is a resolv.conf with the settings of the job's dns block.
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

// named adds the files by which the task knows names, unless the job mounts its own: those that
// were written for it, and for the others the node's, where the task has a network.
func named(config *drivers.TaskConfig, network string, files []nameFile, mounts []yurt.Mount) []yurt.Mount {
	for _, target := range []string{resolvConf, hostsFile, hostnameFile} {
		if slices.ContainsFunc(mounts, func(m yurt.Mount) bool { return m.Target == target }) {
			continue
		}
		if i := slices.IndexFunc(files, func(f nameFile) bool { return f.target == target }); i >= 0 {
			mounts = append(mounts, yurt.Mount{Base: taskDir(config), Source: files[i].name, Target: target, ReadOnly: true})
			continue
		}
		if network == "" {
			continue
		}
		real, err := filepath.EvalSymlinks(target)
		if err != nil {
			continue // the node has no such file
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

// WriteNames writes the files by which the task knows names into its directory. An entry of that name, such as a link that leads out and came in an artifact, is replaced and not
// followed.
func (p *Spec) WriteNames(config *drivers.TaskConfig) error {
	if len(p.names) == 0 {
		return nil
	}
	root, err := os.OpenRoot(taskDir(config))
	if err != nil {
		return fmt.Errorf("opening the task's directory: %w", err)
	}
	defer root.Close()
	for _, f := range p.names {
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
