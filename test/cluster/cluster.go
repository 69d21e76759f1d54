package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	nomad "github.com/hashicorp/nomad/api"
)

// Options describe a cluster of Nomad. The zero value is a server and a client on this machine.
// They are two agents: a client finds its server's election over, or tries again half a minute
// later.
type Options struct {
	// Servers is how many agents are only servers. With 0 the first client is a server too.
	Servers int
	Clients int // 0 means 1
	// Nodes are the names of the clients' nodes, as far as they are given.
	Nodes []string

	PluginDir string // of task drivers
	DiskSize  string // of each client, see [NomadOptions]
	// Config is HCL for every agent and ClientConfig for clients, beside the harness's own.
	// ${dir} in it is a directory that an agent has for itself, ${ip} its address, and
	// ${node} the name of its node.
	Config, ClientConfig string
	Consul               string // address of an agent of Consul for all, or empty; ${ip} in it is the agent's own
	Prefer               string // the loopback address for the first agent, if it is free
	// Network gives every agent a host of its own there, unless Hosts are given: those of
	// the servers, and then of the clients.
	Network *Network
	Hosts   []*Host
}

// NomadCluster is a running cluster.
type NomadCluster struct {
	Servers []*NomadAgent
	Clients []*NomadAgent
	API     *nomad.Client // of the first server
}

// Nomad starts a cluster for the test and waits until it takes jobs. When the test ends all jobs
// are stopped, then the agents; processes or files that are left of them fail the test.
func Nomad(t testing.TB, options Options) *NomadCluster {
	t.Helper()
	needsRoot(t)
	c := &NomadCluster{}
	t.Cleanup(func() {
		// The test's own context is done by now.
		if err := c.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Errorf("ending Nomad: %v", err)
		}
	})
	t.Cleanup(func() {
		if t.Failed() {
			for _, agent := range c.agents() {
				t.Logf("%s printed:\n%s", agent.name, agent.LogTail())
			}
		}
	})
	if err := c.start(t.Context(), options); err != nil {
		t.Fatal(err)
	}
	return c
}

func needsRoot(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("runs agents of Nomad and Consul; run without -short")
	}
	if os.Geteuid() != 0 {
		t.Fatal("this test runs agents of Nomad and Consul, and needs root")
	}
}

// StartCluster starts a cluster and waits until it takes jobs. The caller calls Close.
func StartCluster(ctx context.Context, options Options) (*NomadCluster, error) {
	c := &NomadCluster{}
	if err := c.start(ctx, options); err != nil {
		return nil, errors.Join(err, c.Close(context.WithoutCancel(ctx)))
	}
	return c, nil
}

func (c *NomadCluster) start(ctx context.Context, options Options) error {
	servers := max(1, options.Servers)
	var join []string
	for i := range servers + max(1, options.Clients) {
		if i == servers {
			if err := c.ready(ctx); err != nil {
				return err
			}
		}
		agent := NomadOptions{
			Server: i < servers, Servers: servers, Join: join, Client: i >= servers,
			PluginDir: options.PluginDir, Config: options.Config, Consul: options.Consul,
		}
		if i == 0 {
			agent.Prefer = options.Prefer
		}
		if k := i - servers; k >= 0 && k < len(options.Nodes) {
			agent.Node = options.Nodes[k]
		}
		if agent.Client {
			agent.Config += "\n" + options.ClientConfig
			agent.DiskSize = options.DiskSize
		}
		var err error
		if agent.Host, err = options.host(ctx, i); err != nil {
			return err
		}
		started, err := c.add(ctx, agent)
		if err != nil {
			return err
		}
		if agent.Server {
			join = append(join, started.IP)
		}
	}
	c.API = c.Servers[0].API
	return c.ready(ctx)
}

// host returns that of the agent, counted from 0; nil for this machine.
func (o *Options) host(ctx context.Context, agent int) (*Host, error) {
	switch {
	case agent < len(o.Hosts):
		return o.Hosts[agent], nil
	case o.Network != nil:
		return o.Network.Host(ctx)
	}
	return nil, nil
}

func (c *NomadCluster) ready(ctx context.Context) error {
	for _, agent := range c.agents() {
		if err := agent.Ready(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (c *NomadCluster) add(ctx context.Context, options NomadOptions) (*NomadAgent, error) {
	agent, err := StartNomad(ctx, options)
	if err != nil {
		return nil, err
	}
	if options.Server {
		c.Servers = append(c.Servers, agent)
	}
	if options.Client {
		c.Clients = append(c.Clients, agent)
	}
	return agent, nil
}

func (c *NomadCluster) agents() []*NomadAgent { return slices.Concat(c.Servers, c.Clients) }

// Close stops all jobs, which needs the agents that were killed to live again, and ends
// the agents: clients first, as they report to the servers.
func (c *NomadCluster) Close(ctx context.Context) error {
	agents := c.agents()
	if len(agents) == 0 {
		return nil
	}
	var errs []error
	for _, agent := range agents {
		if !agent.Running() {
			errs = append(errs, agent.start())
		}
	}
	if c.API != nil {
		errs = append(errs, c.StopJobs(ctx))
	}
	slices.Reverse(agents)
	for _, agent := range agents {
		errs = append(errs, agent.Close())
	}
	return errors.Join(errs...)
}

// StopJobs stops every job and waits until no task of them runs. It does not purge them: Nomad
// forgets the allocations of a purged job, and their ends can no longer be seen.
func (c *NomadCluster) StopJobs(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	query := (&nomad.QueryOptions{Namespace: "*"}).WithContext(ctx)
	jobs, err := ask(ctx, func() ([]*nomad.JobListStub, error) {
		list, _, err := c.API.Jobs().List(query)
		return list, err
	})
	if err != nil {
		return fmt.Errorf("listing jobs: %w", err)
	}
	for _, job := range jobs {
		write := (&nomad.WriteOptions{Namespace: job.Namespace}).WithContext(ctx)
		if _, _, err := c.API.Jobs().Deregister(job.ID, false, write); err != nil {
			return fmt.Errorf("stopping job %s: %w", job.ID, err)
		}
	}
	for {
		allocs, _, err := c.API.Allocations().List(query)
		if err != nil {
			return fmt.Errorf("listing allocations: %w", err)
		}
		live := slices.IndexFunc(allocs, func(a *nomad.AllocationListStub) bool {
			return a.ClientStatus == nomad.AllocClientStatusRunning || a.ClientStatus == nomad.AllocClientStatusPending
		})
		if live < 0 {
			return nil
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("allocation %s of job %s is still %s though its job was stopped", allocs[live].ID, allocs[live].JobID, allocs[live].ClientStatus)
		}
	}
}

// ask repeats a question until it is answered: servers may be electing a leader.
func ask[A any](ctx context.Context, question func() (A, error)) (A, error) {
	for {
		answer, err := question()
		if err == nil || ctx.Err() != nil {
			return answer, err
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}
