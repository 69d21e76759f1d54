package yurtcluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/yurtrun/yurt/executor/identity"
	"github.com/yurtrun/yurt/test/cluster"
	"github.com/yurtrun/yurt/test/devserver"
	"github.com/yurtrun/yurt/test/testutil"
)

// Options describe the cluster. The driver, with its programs, is needed.
type Options struct {
	Driver cluster.Driver
	// Servers is how many servers Nomad has, and Consul; 0 is 1. With more, which need a
	// Network, nodes and controllers ask agents of their own, which find the servers.
	Servers int
	Nodes   int // 0 is 1
	// MemoryMB is each node's memory as Nomad knows it; 0 is more than any test needs.
	MemoryMB int
	Network  *cluster.Network
	// DiskSize is that of each node's disk for its executor's state, such as "64m"; "" is no disk of its
	// own.
	DiskSize string
	// Store is where controllers keep sessions; "" is an SQLite database of their own.
	Store string
	// ControllerArgs are further arguments of controllers.
	ControllerArgs []string
	// Port is where executors serve controllers; "" is 8701, and "0" another one in each life.
	Port string
	// Settings are further ones of the executors, in HCL: "name" = "value" lines.
	Settings string
}

// Cluster is a running cluster.
type Cluster struct {
	Consul        *cluster.ConsulAgent // that the controllers ask
	ConsulServers []*cluster.ConsulAgent
	Nomad         *cluster.NomadCluster
	NomadAddress  string // of the agent that the controllers ask
	Controllers   []*devserver.Server
	Dir           string // certificates, and the controllers' state

	options   Options
	authority *identity.Authority
	consuls   []*cluster.ConsulAgent // that are no servers
	ownNomad  *cluster.NomadAgent    // the controllers', which is no server; nil where they ask one
}

// certificateLife is longer than any test.
const certificateLife = 24 * time.Hour

// Start starts a cluster with one controller. The caller calls Close.
func Start(ctx context.Context, options Options) (*Cluster, error) {
	c := &Cluster{options: options}
	if err := c.start(ctx); err != nil {
		return nil, errors.Join(err, c.Close(context.WithoutCancel(ctx)))
	}
	return c, nil
}

func (c *Cluster) start(ctx context.Context) (err error) {
	if c.Dir, err = os.MkdirTemp("", "yurt-cluster-"); err != nil {
		return fmt.Errorf("making a directory for the cluster: %w", err)
	}
	names, err := c.certify()
	if err != nil {
		return err
	}
	if err := c.startEngines(ctx, names); err != nil {
		return err
	}
	for _, client := range c.Nomad.Clients {
		if err := client.WaitDriver(ctx, "yurt"); err != nil {
			return err
		}
	}
	_, err = c.StartController(ctx)
	return err
}

// certify makes an authority and the certificates of all nodes, whose names it returns.
func (c *Cluster) certify() ([]string, error) {
	dir := filepath.Join(c.Dir, "ca")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, fmt.Errorf("making a directory for certificates: %w", err)
	}
	if err := identity.InitAuthority(dir, certificateLife, time.Now); err != nil {
		return nil, err
	}
	authority, err := identity.OpenAuthority(dir, time.Now)
	if err != nil {
		return nil, err
	}
	c.authority = authority
	names := make([]string, max(1, c.options.Nodes))
	for i := range names {
		names[i] = fmt.Sprintf("%s-node%d", filepath.Base(c.Dir), i+1)
		if err := c.issue(identity.Name{Role: identity.RoleExecutor, Name: names[i]}); err != nil {
			return nil, err
		}
	}
	return names, nil
}

func (c *Cluster) issue(name identity.Name) error {
	certificate, key := c.pair(name.Name)
	_, err := c.authority.Issue(name, certificateLife, certificate, key)
	return err
}

func (c *Cluster) pair(name string) (certificate, key string) {
	return filepath.Join(c.Dir, name+".pem"), filepath.Join(c.Dir, name+"-key.pem")
}

func (c *Cluster) trusted() string { return filepath.Join(c.Dir, "ca", identity.AuthorityFile) }

// clientConfig is the driver's on every node, whose executor announces itself to that Consul.
func (c *Cluster) clientConfig(consul string) string {
	certificate, key := c.pair("${node}")
	settings := c.options.Settings
	if c.options.DiskSize != "" { // for all that is recorded, lest only a part of it fails when it is full
		settings += "\nrun-dir = \"${dir}/" + cluster.Disk + "\""
	}
	return c.options.Driver.Config(fmt.Sprintf(`settings {
      listen-tls = "${ip}:%s"
      tls-ca     = %q
      tls-cert   = %q
      tls-key    = %q
      consul     = %q
      %s
    }`, cmp.Or(c.options.Port, "8701"), c.trusted(), certificate, key, consul, settings)) +
		fmt.Sprintf("client { memory_total_mb = %d }\n", cmp.Or(c.options.MemoryMB, 200_000))
}

// StartController starts one more controller and waits until it serves.
func (c *Cluster) StartController(ctx context.Context, args ...string) (*devserver.Server, error) {
	number := len(c.Controllers) + 1
	if err := c.issue(identity.Name{Role: identity.RoleController, Name: controllerName(number)}); err != nil {
		return nil, err
	}
	server, err := c.runController(ctx, number, args...)
	if err != nil {
		return nil, err
	}
	c.Controllers = append(c.Controllers, server)
	return server, nil
}

// RestartController starts a controller again that has ended, on the store that it had.
// The first one is number 1.
func (c *Cluster) RestartController(ctx context.Context, number int, args ...string) (*devserver.Server, error) {
	server, err := c.runController(ctx, number, args...)
	if err != nil {
		return nil, err
	}
	c.Controllers[number-1] = server
	return server, nil
}

func controllerName(number int) string { return fmt.Sprintf("controller%d", number) }

func (c *Cluster) runController(ctx context.Context, number int, args ...string) (*devserver.Server, error) {
	name := controllerName(number)
	certificate, key := c.pair(name)
	all := []string{
		"controller", "--listen", "127.0.0.1:0", "--consul", c.Consul.Address, "--nomad", c.NomadAddress,
		"--tls-ca", c.trusted(), "--tls-cert", certificate, "--tls-key", key,
		"--nomad-mhz-per-core", "10", // there is room for many on a small machine
	}
	if c.options.Store != "" {
		all = append(all, "--store", c.options.Store)
	}
	all = append(append(all, c.options.ControllerArgs...), args...)
	return devserver.Run(ctx, c.options.Driver.Program, filepath.Join(c.Dir, name), all...)
}

// Program is that of executors and controllers.
func (c *Cluster) Program() string { return c.options.Driver.Program }

// URL is where the first controller serves.
func (c *Cluster) URL() string { return c.Controllers[0].URL }

// Close ends all parts and removes their remains.
func (c *Cluster) Close(ctx context.Context) error {
	var errs []error
	for _, controller := range c.Controllers {
		if controller.Running() {
			errs = append(errs, controller.Stop())
		}
	}
	errs = append(errs, c.closeEngines(ctx))
	return errors.Join(append(errs, os.RemoveAll(c.Dir))...)
}

// Test starts a cluster for the test, of programs that are built now.
func Test(t testing.TB, options Options) *Cluster {
	t.Helper()
	testutil.NeedsSandboxes(t)
	options.Driver = cluster.BuildDriver(t)
	// The test's own context is done before its cleanup begins, and would end controllers.
	c, err := Start(context.WithoutCancel(t.Context()), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(c.Logs())
		}
		if err := c.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Errorf("ending the cluster: %v", err)
		}
	})
	return c
}

// Logs is the end of the output of the parts.
func (c *Cluster) Logs() string {
	var all strings.Builder
	for i, controller := range c.Controllers {
		fmt.Fprintf(&all, "controller %d:\n%s\n", i+1, controller.LogTail())
	}
	for _, client := range c.Nomad.Clients {
		log, err := os.ReadFile(filepath.Join(client.StateDir(), "executor.log"))
		if err != nil {
			log = []byte(err.Error())
		}
		const most = 8000
		fmt.Fprintf(&all, "executor of %s:\n%s\n", client.Node, log[max(0, len(log)-most):])
		fmt.Fprintf(&all, "Nomad on %s:\n%s\n", client.Node, client.LogTail())
	}
	return all.String()
}
