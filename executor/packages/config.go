package packages

import (
	"cmp"
	"path/filepath"
	"runtime"
	"time"

	"github.com/yurtrun/yurt/executor/egress"
	"github.com/yurtrun/yurt/executor/trees"
)

// Config says how packages are installed that code needs. The zero value installs
// from the public registries.
type Config struct {
	Off   bool          // no installations
	Hosts []egress.Host // that an installation may reach; nil means [PublicRegistries]
	// Env is added to the environment of every installation, such as PIP_INDEX_URL for a
	// mirror. Install scripts see it: it must hold no secret.
	Env map[string]string
	// CAFile holds the certificates that registries are trusted by; "" means the host's.
	CAFile      string
	Dir         string        // where they are kept; "" means in the state directory
	KeepBytes   int64         // of all that is kept; 0 means 8 GiB
	MaxInstalls int           // at once; 0 means half the processors, at least 2
	Timeout     time.Duration // of one installation; 0 means 10 minutes
}

// Bounds of simultaneous installations.
const (
	defaultKeepBytes      = 8 << 30
	defaultInstallTimeout = 10 * time.Minute
	maxLayerBytes         = 4 << 30
	maxLayerEntries       = 200_000
)

// PublicRegistries returns the hosts of the package managers' default registries.
func PublicRegistries() []egress.Host {
	names := []string{
		"pypi.org", "files.pythonhosted.org",
		"registry.npmjs.org",
		"proxy.golang.org", "sum.golang.org",
		"index.crates.io", "static.crates.io",
		"repo.maven.apache.org", "repo1.maven.org",
	}
	hosts := make([]egress.Host, len(names))
	for i, name := range names {
		hosts[i] = egress.Host{Name: name, Port: 443}
	}
	return hosts
}

// Complete returns the configuration with defaults for its empty fields, for an executor on the state directory.
func (c Config) Complete(stateDir string) Config {
	if c.Hosts == nil {
		c.Hosts = PublicRegistries()
	}
	c.Dir = cmp.Or(c.Dir, filepath.Join(stateDir, "layers"))
	c.KeepBytes = cmp.Or(c.KeepBytes, defaultKeepBytes)
	c.MaxInstalls = cmp.Or(c.MaxInstalls, max(2, runtime.NumCPU()/2))
	c.Timeout = cmp.Or(c.Timeout, defaultInstallTimeout)
	c.CAFile = cmp.Or(c.CAFile, "/etc/ssl/certs/ca-certificates.crt")
	return c
}

// OpenStore opens the store of the layers.
func (c Config) OpenStore() (*trees.Store, error) {
	return trees.Open(c.Dir, c.KeepBytes)
}
