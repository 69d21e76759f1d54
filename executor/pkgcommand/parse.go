package pkgcommand

import (
	"fmt"
	"slices"
	"strings"

	"github.com/yurtrun/yurt/executor/pkgsocket"
)

// options are the options of a package manager, by their effect in a session.
type options struct {
	flags   []string // have no effect here
	valued  []string // likewise, and the next argument is their value
	quiet   []string
	upgrade []string
	files   []string // the next argument is a file that lists packages
	refused map[string]string
	// registry are the options that name a registry, such as one in the session: the package
	// manager itself goes there.
	registry []string
}

const (
	ownPlace = "packages come into the session, beside its files"
)

func pipOptions() options {
	return options{
		flags: []string{
			"--no-cache-dir", "--user", "--break-system-packages", "--disable-pip-version-check", "--no-input", "--no-color",
			"--no-warn-script-location", "--no-warn-conflicts", "--no-python-version-warning", "--prefer-binary", "--system",
			"-v", "-vv", "-vvv", "--verbose", "-y", "--yes", "--no-cache", "-n", "--no-progress", "--isolated",
		},
		valued: []string{
			"--progress-bar", "--root-user-action", "--retries", "--timeout", "--default-timeout", "--cache-dir", "--exists-action",
			"--upgrade-strategy", "--trusted-host", "--log", "--color",
		},
		quiet: []string{"-q", "-qq", "-qqq", "--quiet"}, upgrade: []string{"-U", "--upgrade", "--force-reinstall", "--reinstall", "-I", "--ignore-installed"},
		files:    []string{"-r", "--requirement", "--requirements"},
		registry: []string{"-i", "--index-url", "--extra-index-url", "--index", "-f", "--find-links", "--no-index"},
		refused: map[string]string{
			"-t": ownPlace, "--target": ownPlace, "--prefix": ownPlace, "--root": ownPlace, "--src": ownPlace,
			"-e": "a project in the working directory is found without being installed", "--editable": "a project in the working directory is found without being installed",
			"--no-deps": "packages are installed with those that they need",
		},
	}
}

func npmOptions() options {
	return options{
		flags: []string{
			"-S", "--save", "--save-prod", "-P", "-D", "--save-dev", "-E", "--save-exact", "--no-save", "-g", "--global", "-O", "--save-optional",
			"--no-audit", "--no-fund", "--no-progress", "--no-update-notifier", "--prefer-offline", "--omit=dev", "--production", "--audit=false",
			"--fund=false", "--progress=false", "-y", "--yes", "--verbose", "--no-package-lock", "--package-lock=false", "--include=dev",
		},
		valued: []string{"--loglevel", "--cache"}, quiet: []string{"-s", "--silent", "-q", "--quiet"},
		registry: []string{"--registry"}, refused: map[string]string{"--prefix": ownPlace, "-C": ownPlace},
	}
}

// parse returns the order in the command line; nil where that asks for no installation.
func (c *command) parse() (*order, error) {
	args := c.args
	if c.name == "npm" {
		return c.parseNpm(args)
	}
	if c.name == "uv" {
		if len(args) == 0 || args[0] != "pip" {
			return nil, nil
		}
		args = args[1:]
	}
	parsed, err := pipOptions().parse(single(args), "install")
	if c.leaves(parsed) || err != nil {
		return nil, err
	}
	o := &order{Request: pkgsocket.Request{Manager: pkgsocket.Pip, Quiet: parsed.quiet, Upgrade: parsed.upgrade, Packages: parsed.rest}}
	for _, file := range parsed.files {
		listed, err := readRequirements(file, map[string]bool{})
		if err != nil {
			return nil, err
		}
		o.Packages = append(o.Packages, listed...)
	}
	if len(o.Packages) == 0 {
		return nil, fmt.Errorf("name at least one package to install, such as %s install numpy", c.name)
	}
	return o, o.Check()
}

// leaves reports whether the package manager itself is to do the work.
func (c *command) leaves(p *parsed) bool {
	if p != nil && p.registry != "" {
		fmt.Fprintf(c.errs, "yurt: %s: with %s the packages come from that registry, which the session itself has to reach; without it the node installs them\n", c.name, p.registry)
	}
	return p == nil || p.registry != ""
}

// single takes options of one letter apart that are written together, such as -qU or -qr.
func single(args []string) (list []string) {
	for _, arg := range args {
		flags := strings.TrimRight(strings.TrimPrefix(arg, "-"), "r")
		if len(arg) < 3 || arg[0] != '-' || strings.Trim(flags, "qUvI") != "" || len(arg)-len(flags) > 2 {
			list = append(list, arg)
			continue
		}
		for _, letter := range arg[1:] {
			list = append(list, "-"+string(letter))
		}
	}
	return list
}

func (c *command) parseNpm(args []string) (*order, error) {
	parsed, err := npmOptions().parse(args, "install", "i", "add", "in", "ins", "inst", "isntall", "ci", "clean-install")
	if c.leaves(parsed) || err != nil {
		return nil, err
	}
	has := func(names ...string) bool {
		return slices.ContainsFunc(args, func(a string) bool { return slices.Contains(names, a) })
	}
	o := &order{Request: pkgsocket.Request{Manager: pkgsocket.Npm, Quiet: parsed.quiet, Upgrade: true, Packages: parsed.rest}}
	o.project = &project{
		global: has("-g", "--global"), keep: has("--no-save"), exact: has("-E", "--save-exact"), dev: has("-D", "--save-dev"),
	}
	if len(o.Packages) > 0 {
		return o, o.Check()
	}
	production := has("--omit=dev", "--production")
	if o.Manifest, o.Lock, err = readProject(production); err != nil {
		return nil, err
	}
	return o, o.Check()
}

// parsed is a command line.
type parsed struct {
	quiet, upgrade bool
	registry       string // the option that names one
	files          []string
	rest           []string // arguments after the verb that are no options
}

// parse takes a command line apart; it returns nil for an unknown verb.
func (o options) parse(args []string, verbs ...string) (*parsed, error) {
	p := &parsed{}
	verb, ended := "", false
	var wrong error
	for i := 0; i < len(args); i++ {
		arg := args[i]
		switch {
		case ended, arg == "-", !strings.HasPrefix(arg, "-"):
			if verb == "" {
				verb = arg
			} else {
				p.rest = append(p.rest, arg)
			}
		case arg == "--":
			ended = true
		case slices.Contains([]string{"-h", "--help", "--version"}, arg), arg == "-V" && verb == "":
			return nil, nil
		default:
			skip, err := o.option(p, args[i:])
			if wrong == nil {
				wrong = err
			}
			i += skip
		}
	}
	if !slices.Contains(verbs, verb) {
		return nil, nil
	}
	if p.registry != "" {
		wrong = nil // it is no command line of ours
	}
	return p, wrong
}

// option notes the option that the arguments begin with, and returns how many after it are its value.
func (o options) option(p *parsed, args []string) (skip int, err error) {
	arg := args[0]
	name, value, has := strings.Cut(arg, "=")
	joined := !strings.HasPrefix(arg, "--") && strings.HasPrefix(arg, "-r") && slices.Contains(o.files, "-r") // -rFILE
	switch {
	case !slices.Contains(o.files, name) && !joined:
		return o.take(p, name, arg, has)
	case has && slices.Contains(o.files, name):
	case len(arg) > 2 && !strings.HasPrefix(arg, "--"):
		value = arg[2:]
	case len(args) > 1:
		skip, value = 1, args[1]
	}
	p.files = append(p.files, value)
	return skip, nil
}

// take notes an option, and returns how many arguments after it are its value.
func (o options) take(p *parsed, name, arg string, has bool) (skip int, err error) {
	switch {
	case slices.Contains(o.quiet, arg):
		p.quiet = true
	case slices.Contains(o.upgrade, arg):
		p.upgrade = true
	case slices.Contains(o.registry, name):
		p.registry = name
	case slices.Contains(o.flags, arg):
	case slices.Contains(o.valued, name):
		if !has {
			skip = 1
		}
	case o.refused[name] != "":
		return 0, fmt.Errorf("the option %s has no effect in a session: %s; leave it out", name, o.refused[name])
	default:
		return 0, fmt.Errorf("the option %.60s is not supported in a session; give packages with their versions, %s", name, o.allowed())
	}
	return skip, nil
}

// allowed names the options that mean something.
func (o options) allowed() string {
	list := []string{o.quiet[0]}
	if len(o.upgrade) > 0 {
		list = append(list, o.upgrade[0])
	}
	if len(o.files) > 0 {
		list = append(list, o.files[0]+" FILE")
	} else {
		list = append(list, "-D", "-g", "-E", "--no-save")
	}
	return strings.Join(list, ", ")
}
