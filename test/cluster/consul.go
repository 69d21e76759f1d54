package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	consul "github.com/hashicorp/consul/api"
)

// consulHTTP is where every Consul of this package has its API.
const consulHTTP = 8500

// ConsulOptions say what an agent of Consul is to be. The zero value is a server of its
// own on this machine.
type ConsulOptions struct {
	Host   *Host
	Prefer string // the loopback address to listen on, if it is free
	// Join is the address of a server that the agent is then a client of.
	Join string
	// Config is HCL beside the harness's own.
	Config string
}

// ConsulAgent is a running agent. Its methods are not safe for concurrent use; its client is.
type ConsulAgent struct {
	*process

	Address string         // of its API, host:port
	IP      string         // what it listens on
	Client  *consul.Client // of its API
}

// Consul starts an agent for the test, which ends with it.
func Consul(t testing.TB, options ConsulOptions) *ConsulAgent {
	t.Helper()
	needsRoot(t)
	agent, err := StartConsul(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("Consul at %s printed:\n%s", agent.Address, agent.LogTail())
		}
		if err := agent.Close(); err != nil {
			t.Errorf("ending Consul: %v", err)
		}
	})
	return agent
}

// StartConsul starts an agent and waits until it can be used. The caller calls Close.
func StartConsul(ctx context.Context, options ConsulOptions) (*ConsulAgent, error) {
	program, err := engineConsul.find(ctx)
	if err != nil {
		return nil, err
	}
	ip, err := place(options.Host, options.Prefer, consulHTTP, 8300, 8301)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "yurt-consul-")
	if err != nil {
		return nil, fmt.Errorf("making a directory for Consul: %w", err)
	}
	agent := &ConsulAgent{IP: ip, Address: fmt.Sprintf("%s:%d", ip, consulHTTP)}
	agent.process = &process{
		name: "Consul", dir: dir, host: options.Host,
		args: []string{program, "agent", "-config-dir", filepath.Join(dir, "config")},
	}
	if err := agent.begin(ctx, options); err != nil {
		return nil, errors.Join(err, agent.Close())
	}
	return agent, nil
}

func (a *ConsulAgent) begin(ctx context.Context, options ConsulOptions) error {
	config := filepath.Join(a.dir, "config")
	if err := writeConfigs(config, a.config(options), options.Config); err != nil {
		return err
	}
	client, err := consul.NewClient(&consul.Config{Address: a.Address})
	if err != nil {
		return fmt.Errorf("making a client of Consul: %w", err)
	}
	a.Client = client
	return a.Start(ctx)
}

// config is what every agent has. A single server elects itself at once.
func (a *ConsulAgent) config(options ConsulOptions) string {
	role := "server = true\nbootstrap_expect = 1\n"
	if options.Join != "" {
		role = fmt.Sprintf("retry_join = [%q]\nretry_interval = \"1s\"\n", options.Join)
	}
	return role + fmt.Sprintf(`
node_name = %q
data_dir  = %q
bind_addr = %q
client_addr = %q
ports {
  dns = -1
  grpc = -1
  grpc_tls = -1
  serf_wan = -1
}
performance { raft_multiplier = 1 }
# A test that loses a node waits for its session to end.
session_ttl_min = "1s"
disable_update_check = true
enable_script_checks = false
leave_on_terminate = false
skip_leave_on_interrupt = true
log_level = "INFO"
`, unique("consul-"), filepath.Join(a.dir, "data"), a.IP, a.IP)
}

// Start begins the agent's next life on the same data, and waits until it has a leader.
func (a *ConsulAgent) Start(ctx context.Context) error {
	if err := a.start(); err != nil {
		return err
	}
	return a.ready(ctx, func(ctx context.Context) error {
		leader, err := a.Client.Status().LeaderWithQueryOptions((&consul.QueryOptions{}).WithContext(ctx))
		if err != nil {
			return err
		}
		if leader == "" {
			return errors.New("there is no leader")
		}
		// A new leader may still be reading what the last one wrote.
		_, _, err = a.Client.Catalog().Nodes((&consul.QueryOptions{RequireConsistent: true}).WithContext(ctx))
		return err
	})
}

// Close ends the agent and removes all that was its.
func (a *ConsulAgent) Close() error {
	return errors.Join(a.end(sigterm), sweep(a.dir, ""))
}

// ready waits until the check passes. An agent that ends instead is not waited for.
func (p *process) ready(ctx context.Context, check func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := check(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-p.done:
			return fmt.Errorf("%s ended at its start:\n%s", p.name, p.LogTail())
		case <-ctx.Done():
			return fmt.Errorf("%s did not get ready (%w): %w\n%s", p.name, ctx.Err(), err, p.LogTail())
		}
	}
}

// writeConfigs writes each that is not empty to a file of its own; an agent merges them.
func writeConfigs(dir string, configs ...string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("making a directory for configuration: %w", err)
	}
	for i, config := range configs {
		if strings.TrimSpace(config) == "" {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.hcl", i)), []byte(config), 0o600); err != nil {
			return fmt.Errorf("writing configuration: %w", err)
		}
	}
	return nil
}
