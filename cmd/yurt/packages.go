package main

import (
	"cmp"
	"strings"

	"github.com/spf13/pflag"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/egress"
	"github.com/yurtrun/yurt/executor/packages"
)

// packageFlags are the settings of the installation of packages that code needs.
type packageFlags struct{ from, keep string }

const (
	noPackages      = "none"
	publicPackages  = "public"
	sharedLayersDir = "/var/cache/yurt/layers" // of every yurt run
)

func (f *packageFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.from, "packages-from", "", "the hosts from which nodes install packages: public for the public registries, NAME or NAME:PORT, separated by commas; none forbids installations (default: public). The mirrors in PIP_INDEX_URL, NPM_CONFIG_REGISTRY, GOPROXY, YURT_CARGO_INDEX and YURT_MAVEN_MIRROR are added")
	flags.StringVar(&f.keep, "packages-keep", "", "how much disk installed packages may take; those unused for longest are removed first (default: 8Gi)")
}

// config returns the settings, with the mirrors that the environment names.
func (f *packageFlags) config(a *app) (packages.Config, error) {
	config := packages.Config{CAFile: a.Env("SSL_CERT_FILE", ""), Off: f.from == noPackages}
	if f.keep != "" {
		size, err := yurt.ParseSize(f.keep)
		if err != nil || size <= 0 {
			return config, yurt.FieldErrorf(yurt.CodeInvalidArgument, "--packages-keep", "%q is not a size; give one such as 8Gi", f.keep)
		}
		config.KeepBytes = int64(size)
	}
	if config.Off {
		return config, nil
	}
	for name := range strings.SplitSeq(cmp.Or(f.from, publicPackages), ",") {
		if name = strings.TrimSpace(name); name == publicPackages {
			config.Hosts = append(config.Hosts, packages.PublicRegistries()...)
			continue
		}
		host, err := egress.ParseHost(name)
		if err != nil {
			return config, yurt.FieldErrorf(yurt.CodeInvalidArgument, "--packages-from", "%w", err)
		}
		host.Private = true // the operator who names it knows that it is a private address
		config.Hosts = append(config.Hosts, host)
	}
	return config, a.addMirrors(&config)
}

// mirrors are the variables by which an operator names registries of his own, and the separators of
// the addresses in them.
func mirrors() map[string]string {
	return map[string]string{
		"PIP_INDEX_URL": " ", "PIP_EXTRA_INDEX_URL": " ", "NPM_CONFIG_REGISTRY": " ", "GOPROXY": ",|",
		"YURT_CARGO_INDEX": " ", "YURT_MAVEN_MIRROR": " ",
	}
}

// addMirrors passes on the mirrors that the environment names, and lets them be reached.
func (a *app) addMirrors(config *packages.Config) error {
	config.Env = make(map[string]string)
	for name, between := range mirrors() {
		value := a.Env(name, "")
		if value == "" {
			continue
		}
		config.Env[name] = value
		for _, address := range strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune(between, r) }) {
			if address == "direct" || address == "off" {
				continue
			}
			host, err := egress.HostOf(address)
			if err != nil {
				return yurt.FieldErrorf(yurt.CodeInvalidArgument, name, "%w", err)
			}
			config.Hosts = append(config.Hosts, host)
		}
	}
	for _, name := range []string{"GOSUMDB", "GONOSUMDB", "GOPRIVATE", "GOINSECURE"} {
		if value := a.Env(name, ""); value != "" {
			config.Env[name] = value
		}
	}
	return nil
}

// sharedPackages are the settings of yurt run: runs share the packages that they install.
func (a *app) sharedPackages() (packages.Config, error) {
	flags := packageFlags{from: a.Env("YURT_PACKAGES_FROM", ""), keep: a.Env("YURT_PACKAGES_KEEP", "")}
	config, err := flags.config(a)
	config.Dir = a.Env("YURT_PACKAGES_DIR", sharedLayersDir)
	return config, err
}
