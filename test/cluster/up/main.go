package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/yurtrun/yurt"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
	"github.com/yurtrun/yurt/test/cluster"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "cluster:", err)
		os.Exit(1) //nolint:gocritic // stop only forgets a signal handler
	}
}

// everything is the set of running parts.
type everything struct {
	bin    string // directory of Yurt's programs
	dir    string // of certificates
	consul *cluster.ConsulAgent
	nomad  *cluster.NomadCluster
	// The controller, and where it serves.
	controller *cluster.Program
	client     *yurtclient.Client
	url        string
}

// loopback is the address of all parts if no other is given.
const loopback = "127.0.0.1"

func run(ctx context.Context, args []string) (err error) {
	flags := flag.NewFlagSet("up", flag.ContinueOnError)
	bin := flags.String("bin", "bin", "directory of Yurt's programs, as make build made them")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if os.Geteuid() != 0 {
		return errors.New("sandboxes and Nomad's clients need root; run it as root")
	}
	e := &everything{}
	if e.bin, err = filepath.Abs(*bin); err != nil {
		return fmt.Errorf("finding Yurt's programs: %w", err)
	}
	if e.dir, err = os.MkdirTemp("", "yurt-cluster-"); err != nil {
		return fmt.Errorf("making a directory: %w", err)
	}
	defer func() {
		fmt.Println("\nending it all")
		err = errors.Join(err, e.close(context.WithoutCancel(ctx)), os.RemoveAll(e.dir))
	}()
	for _, step := range []struct {
		what string
		do   func(context.Context) error
	}{
		{"Consul", e.startConsul},
		{"certificates", e.issue},
		{"Nomad, with the driver", e.startNomad},
		{"the controller", e.startController},
		{"a warm pool", e.fillPool},
	} {
		start := time.Now()
		fmt.Printf("  %-24s", step.what)
		if err := step.do(ctx); err != nil {
			fmt.Println("failed")
			if ctx.Err() != nil {
				return nil //nolint:nilerr // it was told to end meanwhile
			}
			return err
		}
		fmt.Printf("%5.1f s\n", time.Since(start).Seconds())
	}
	fmt.Print(e.introduction())
	<-ctx.Done()
	return nil
}

func (e *everything) startConsul(ctx context.Context) (err error) {
	e.consul, err = cluster.StartConsul(ctx, cluster.ConsulOptions{Prefer: loopback, Config: "ui_config { enabled = true }"})
	return err
}

// The names of the one node and the one controller.
const (
	node       = "node1"
	controller = "controller1"
)

// issue has yurt make an authority, and certificates for the executor and the controller.
func (e *everything) issue(ctx context.Context) error {
	for _, args := range [][]string{
		{"ca", "init", "--dir", e.dir},
		{"ca", "issue", "executor", node, "--dir", e.dir, "--out", e.dir},
		{"ca", "issue", "controller", controller, "--dir", e.dir, "--out", e.dir},
	} {
		if out, err := exec.CommandContext(ctx, filepath.Join(e.bin, "yurt"), args...).CombinedOutput(); err != nil {
			return fmt.Errorf("yurt %s: %w\n%s", strings.Join(args, " "), err, out)
		}
	}
	return nil
}

func (e *everything) startNomad(ctx context.Context) (err error) {
	driver := cluster.Driver{PluginDir: filepath.Join(e.bin, "nomad"), Program: filepath.Join(e.bin, "yurt")}
	settings := fmt.Sprintf(`
    settings = {
      "listen-tls" = "${ip}:8701"
      "consul"     = %[3]q
      "tls-ca"     = "%[1]s/yurt-ca.pem"
      "tls-cert"   = "%[1]s/executor-%[2]s.pem"
      "tls-key"    = "%[1]s/executor-%[2]s-key.pem"
    }`, e.dir, node, e.consul.Address)
	e.nomad, err = cluster.StartCluster(ctx, cluster.Options{
		Nodes: []string{node}, Prefer: loopback, Consul: e.consul.Address, PluginDir: driver.PluginDir, ClientConfig: driver.Config(settings),
	})
	if err != nil {
		return err
	}
	return e.nomad.Clients[0].WaitDriver(ctx, "yurt")
}

// port is where yurt dev serves too.
const port = "8700"

// mhzPerCore is little, so that a machine of two cores has room for more than two sessions.
// A session has its whole core all the same, while the others leave it one.
const mhzPerCore = "100"

func (e *everything) startController(ctx context.Context) (err error) {
	host, _, err := net.SplitHostPort(e.consul.Address)
	if err != nil {
		return fmt.Errorf("choosing an address for the controller: %w", err)
	}
	listen := net.JoinHostPort(host, port)
	e.url = "http://" + listen
	if e.client, err = yurtclient.New(e.url); err != nil {
		return err
	}
	e.controller, err = cluster.StartProgram(ctx, nil, e.dir, e.client.Ready,
		filepath.Join(e.bin, "yurt"), "controller", "--listen", listen, "--state-dir", filepath.Join(e.dir, "controller"),
		"--nomad", e.nomad.Servers[0].Address, "--consul", e.consul.Address,
		"--nomad-mhz-per-core", mhzPerCore,
		"--tls-ca", filepath.Join(e.dir, "yurt-ca.pem"),
		"--tls-cert", filepath.Join(e.dir, "controller-"+controller+".pem"),
		"--tls-key", filepath.Join(e.dir, "controller-"+controller+"-key.pem"))
	return err
}

// pooled is the template whose sandboxes are kept ready: that of the README's requests.
const pooled = "python-basic"

// fillPool waits until the pool has its minimum.
func (e *everything) fillPool(ctx context.Context) error {
	size := yurt.PoolSize{Min: 2, Max: 8}
	if _, err := e.client.SetPool(ctx, pooled, size.Change()); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, fillLimit)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		pool, err := e.client.Pool(ctx, pooled)
		switch {
		case ctx.Err() != nil:
			return fmt.Errorf("filling the warm pool of %s: it is %+v: %w", pooled, pool, ctx.Err())
		case err != nil:
			return err
		case pool.Ready >= size.Min:
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// fillLimit is for the first sandboxes of a template, on a machine that may be busy.
const fillLimit = 2 * time.Minute

func (e *everything) close(ctx context.Context) error {
	var errs []error
	if e.controller != nil {
		errs = append(errs, e.controller.Stop()) // its sessions end with their jobs
	}
	if e.nomad != nil {
		errs = append(errs, e.nomad.Close(ctx))
	}
	if e.consul != nil {
		errs = append(errs, e.consul.Close())
	}
	return errors.Join(errs...)
}

func (e *everything) introduction() string {
	agent := e.nomad.Clients[0]
	return fmt.Sprintf(`
A cluster of Yurt, until Ctrl-C:

  Yurt     %[1]s/docs
  Nomad    %[2]s
  Consul   http://%[3]s/ui
  logs     %[4]s
           %[5]s

From another terminal, a session on the cluster, warm from the pool of %[6]s:

  curl %[1]s/api/v1/sessions --json '{"template_id": "python-basic", "mode": "persistent"}'
  curl %[1]s/api/v1/sessions/ID/execute --json '{"code": "print(6 * 7)"}'

The pool, and its slots, which are jobs of Nomad's:

  curl %[1]s/api/v1/pools
  bin/engines/nomad job status -address=%[2]s
`, e.url, e.nomad.Servers[0].Address, e.consul.Address, e.controller.LogFile(), agent.LogFile(), pooled)
}
