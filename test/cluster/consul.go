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

// The ports of every Consul of this package: of its API, and where agents find one another.
const (
	consulHTTP = 8500
	consulRPC  = 8300
	consulSerf = 8301
)

// ConsulOptions describe an agent of Consul. The zero value is a server of its own on this machine.
type ConsulOptions struct {
	Host   *Host
	Prefer string // the loopback address to listen on, if it is free
	// Servers is how many servers there will be, of which this is one, and which have to be
	// told of one another by Join.
	Servers int
	// Join are the addresses of servers. With Servers 0 the agent is a client of theirs.
	Join []string
	// Config is HCL beside the harness's own.
	Config string
}

// ConsulAgent is a running agent. Its methods are not safe for concurrent use; its client is.
type ConsulAgent struct {
	*process

	Address string         // of its API, host:port
	IP      string         // the address that it listens on
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
	agent, err := newConsul(ctx, options)
	if err != nil {
		return nil, err
	}
	if err := agent.Ready(ctx); err != nil {
		return nil, errors.Join(err, agent.Close())
	}
	return agent, nil
}

// StartConsulServers starts servers that elect a leader among them, one on each host, and
// waits until they can be used. The caller calls Close of each.
func StartConsulServers(ctx context.Context, hosts []*Host) (_ []*ConsulAgent, err error) {
	agents := make([]*ConsulAgent, 0, len(hosts))
	defer func() {
		if err != nil {
			for _, agent := range agents {
				err = errors.Join(err, agent.Close())
			}
		}
	}()
	var join []string
	for _, host := range hosts {
		agent, err := newConsul(ctx, ConsulOptions{Host: host, Servers: len(hosts), Join: join})
		if err != nil {
			return nil, err
		}
		agents, join = append(agents, agent), append(join, agent.IP)
	}
	for _, agent := range agents {
		if err := agent.Ready(ctx); err != nil {
			return nil, err
		}
	}
	return agents, nil
}

// newConsul starts an agent, which may not have a leader yet.
func newConsul(ctx context.Context, options ConsulOptions) (*ConsulAgent, error) {
	program, err := engineConsul.find(ctx)
	if err != nil {
		return nil, err
	}
	ip, err := place(options.Host, options.Prefer, consulHTTP, consulRPC, consulSerf)
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
	if err := agent.begin(options); err != nil {
		return nil, errors.Join(err, agent.Close())
	}
	return agent, nil
}

func (a *ConsulAgent) begin(options ConsulOptions) error {
	config := filepath.Join(a.dir, "config")
	if err := writeConfigs(config, a.config(options), options.Config); err != nil {
		return err
	}
	client, err := consul.NewClient(&consul.Config{Address: a.Address})
	if err != nil {
		return fmt.Errorf("making a client of Consul: %w", err)
	}
	a.Client = client
	return a.start()
}

// config is the configuration that every agent has. A single server elects itself at once.
func (a *ConsulAgent) config(options ConsulOptions) string {
	role := ""
	if options.Servers > 0 || len(options.Join) == 0 {
		role = fmt.Sprintf("server = true\nbootstrap_expect = %d\n", max(1, options.Servers))
	}
	if len(options.Join) > 0 {
		role += fmt.Sprintf("retry_join = %s\nretry_interval = \"1s\"\n", hclList(options.Join, consulSerf))
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
	return a.Ready(ctx)
}

// Ready waits until the servers have a leader that answers the agent.
func (a *ConsulAgent) Ready(ctx context.Context) error {
	return a.ready(ctx, func(ctx context.Context) error {
		leader, err := a.Client.Status().LeaderWithQueryOptions((&consul.QueryOptions{}).WithContext(ctx))
		if err != nil {
			return err
		}
		if leader == "" {
			return errors.New("there is no leader")
		}
		// A new leader may still be reading the last one's log.
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
