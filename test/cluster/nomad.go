package cluster

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	nomad "github.com/hashicorp/nomad/api"
)

// The ports of every Nomad of this package, each on an address of its own.
const (
	nomadHTTP = 4646
	nomadRPC  = 4647
	nomadSerf = 4648
)

// NomadOptions describe one agent: a server, a client, or both.
type NomadOptions struct {
	Host   *Host  // nil for this machine itself
	Prefer string // the loopback address to listen on, if it is free

	Server  bool
	Servers int      // how many servers there will be; 0 means this one
	Join    []string // addresses of servers, of those that are known already

	Client bool
	Node   string // name of the client's node; one is made when it is empty

	PluginDir string // of task drivers
	// DiskSize is that of a filesystem that the node's executor has for its state alone, such
	// as "64m". Without it the state is where everything of the agent's is.
	DiskSize string
	// Config is HCL beside the harness's own. ${dir} in it is a directory that the agent
	// has for itself, which goes when the agent goes, ${ip} its address, ${node} its name.
	Config string
	// Consul is the address of an agent of Consul that it is to use, or empty. ${ip} in it
	// stands for the agent's address.
	Consul string
}

// NomadAgent is a running agent. Its methods are not safe for concurrent use; its client is.
type NomadAgent struct {
	*process

	Address string        // of its API, a URL
	IP      string        // the address that it listens on
	RPC     string        // where other agents reach it
	Node    string        // the name of its node
	Dir     string        // its own: data, logs, and the value of ${dir}
	API     *nomad.Client // of its API

	options NomadOptions
	cgroup  string        // parent of all that its client makes
	shared  *sharedGroups // nil for a server
}

// StartNomad starts an agent. It may not have a leader yet: the caller uses Ready when it
// has started all that are to be, and in the end calls Close.
func StartNomad(ctx context.Context, options NomadOptions) (*NomadAgent, error) {
	program, err := engineNomad.find(ctx)
	if err != nil {
		return nil, err
	}
	ip, err := place(options.Host, options.Prefer, nomadHTTP, nomadRPC, nomadSerf)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "yurt-nomad-") // short: the paths of sockets are
	if err != nil {
		return nil, fmt.Errorf("making a directory for Nomad: %w", err)
	}
	a := &NomadAgent{
		IP: ip, Address: fmt.Sprintf("http://%s:%d", ip, nomadHTTP), RPC: fmt.Sprintf("%s:%d", ip, nomadRPC),
		Node: options.Node, Dir: dir, options: options, cgroup: unique("yurt-test-nomad-") + ".slice",
	}
	if a.Node == "" {
		a.Node = unique("node-")
	}
	config := filepath.Join(dir, "config")
	tmp := filepath.Join(dir, "tmp")
	a.process = &process{
		name: "Nomad " + a.Node, dir: dir, host: options.Host,
		args: []string{program, "agent", "-config", config},
		env:  []string{"TMPDIR=" + tmp}, // for the sockets of its plugins, which a kill leaves behind
	}
	extra := strings.NewReplacer("${dir}", dir, "${ip}", ip, "${node}", a.Node).Replace(options.Config)
	err = errors.Join(writeConfigs(config, a.config(), extra), os.Mkdir(tmp, 0o700), a.makeDisk())
	if err == nil {
		a.API, err = nomad.NewClient(&nomad.Config{Address: a.Address})
	}
	if err == nil && options.Client {
		a.shared, err = shareNomadGroups()
	}
	if err == nil {
		err = a.start()
	}
	if err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return a, nil
}

// config is the configuration that every agent has.
func (a *NomadAgent) config() string {
	o := a.options
	parts := []string{fmt.Sprintf(`
name      = %q
data_dir  = "%s/data"
bind_addr = %q
advertise {
  http = %q
  rpc  = %q
  serf = %q
}
log_level = "INFO"
disable_update_check = true
# One test is one client, and a busy one.
limits { http_max_conns_per_client = 0 }
`, a.Node, a.Dir, a.IP, a.IP, a.IP, a.IP)}
	if o.PluginDir != "" {
		parts = append(parts, fmt.Sprintf("plugin_dir = %q\n", o.PluginDir))
	}
	if o.Consul != "" {
		parts = append(parts, fmt.Sprintf("consul { address = %q }\n", strings.ReplaceAll(o.Consul, "${ip}", a.IP)))
	} else {
		parts = append(parts, "consul {\n  auto_advertise = false\n  server_auto_join = false\n  client_auto_join = false\n}\n")
	}
	if o.Server {
		parts = append(parts, a.serverConfig())
	}
	if o.Client {
		parts = append(parts, a.clientConfig())
	}
	return strings.Join(parts, "")
}

func (a *NomadAgent) serverConfig() string {
	return fmt.Sprintf(`
server {
  enabled          = true
  bootstrap_expect = %d
  raft_multiplier  = 1
  server_join {
    retry_join     = %s
    retry_interval = "1s"
  }
}
`, max(1, a.options.Servers), hclList(a.options.Join, nomadSerf))
}

func (a *NomadAgent) clientConfig() string {
	servers := a.options.Join
	if a.options.Server {
		servers = append(servers, a.IP)
	}
	// Agents side by side have one machine's ports between them.
	port := 20000 + 100*rand.IntN(110)
	return fmt.Sprintf(`
client {
  enabled              = true
  servers              = %s
  cgroup_parent        = %q
  network_interface    = %q
  min_dynamic_port     = %d
  max_dynamic_port     = %d
  gc_max_allocs        = 100000
  gc_parallel_destroys = 16
  gc_disk_usage_threshold  = 99
  gc_inode_usage_threshold = 99
  options = {
    "fingerprint.denylist" = "env_aws,env_gce,env_azure,env_digitalocean"
    "driver.denylist"      = "docker,java,qemu"
  }
}
plugin "raw_exec" {
  config { enabled = true }
}
`, hclList(servers, nomadRPC), a.cgroup, a.device(), port, port+999)
}

// device is the network interface whose address the client's tasks get.
func (a *NomadAgent) device() string {
	if a.options.Host != nil {
		return "eth0"
	}
	return "lo"
}

func hclList(addresses []string, port int) string {
	quoted := make([]string, 0, len(addresses))
	for _, address := range addresses {
		quoted = append(quoted, fmt.Sprintf(`"%s:%d"`, address, port))
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// Host returns the host that the agent runs on, nil for this machine.
func (a *NomadAgent) Host() *Host { return a.options.Host }

// Start begins the agent's next life on the same data, and waits until it is ready.
func (a *NomadAgent) Start(ctx context.Context) error {
	if err := a.start(); err != nil {
		return err
	}
	return a.Ready(ctx)
}

// Ready waits until the servers have a leader and, on a client, until its node can be given
// work.
func (a *NomadAgent) Ready(ctx context.Context) error {
	return a.ready(ctx, func(ctx context.Context) error {
		leader, err := a.API.Status().Leader()
		if err != nil {
			return err
		}
		if leader == "" {
			return errors.New("there is no leader")
		}
		// The key comes last, and without it a server sends a client away for half a minute.
		keys, _, err := a.API.Keyring().List((&nomad.QueryOptions{}).WithContext(ctx))
		if err != nil {
			return err
		}
		if len(keys) == 0 {
			return errors.New("the leader has no key yet")
		}
		if !a.options.Client {
			return nil
		}
		node, err := a.node(ctx)
		if err != nil {
			return err
		}
		if node.Status != nomad.NodeStatusReady {
			return fmt.Errorf("its node is %s", node.Status)
		}
		return nil
	})
}

// node returns the agent's own node as the servers know it.
func (a *NomadAgent) node(ctx context.Context) (*nomad.Node, error) {
	query := (&nomad.QueryOptions{}).WithContext(ctx)
	self, err := a.API.Agent().Self()
	if err != nil {
		return nil, err
	}
	id := self.Stats["client"]["node_id"]
	if id == "" {
		return nil, errors.New("the agent has no node id yet")
	}
	node, _, err := a.API.Nodes().Info(id, query)
	return node, err
}

// WaitDriver waits until the node offers the task driver, and says why it does not.
func (a *NomadAgent) WaitDriver(ctx context.Context, name string) error {
	return a.ready(ctx, func(ctx context.Context) error {
		node, err := a.node(ctx)
		if err != nil {
			return err
		}
		driver := node.Drivers[name]
		switch {
		case driver == nil:
			return fmt.Errorf("node %s knows no driver %q", a.Node, name)
		case !driver.Detected || !driver.Healthy:
			return fmt.Errorf("driver %q of node %s: detected %t, healthy %t: %s", name, a.Node, driver.Detected, driver.Healthy, driver.HealthDescription)
		}
		return nil
	})
}

// Processes returns those that the agent, or a process that it started, runs of the program.
func (a *NomadAgent) Processes(program string) []int {
	return slices.DeleteFunc(belonging(a.Dir, a.cgroup), func(pid int) bool {
		exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
		return err != nil || filepath.Base(exe) != program
	})
}

// Close ends the agent and all that it ran, and removes it. A process that had to be ended by force
// is an error: stop the jobs first.
func (a *NomadAgent) Close() error {
	return errors.Join(a.end(sigterm), a.stopExecutor(), sweep(a.Dir, a.cgroup), a.shared.Close())
}
