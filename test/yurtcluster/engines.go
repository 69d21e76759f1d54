package yurtcluster

import (
	"cmp"
	"context"
	"errors"

	"github.com/yurtrun/yurt/test/cluster"
)

// ownConsul is the agent of Consul on a node's own host.
const ownConsul = "${ip}:8500"

// startEngines starts Consul and Nomad, with nodes of these names.
func (c *Cluster) startEngines(ctx context.Context, nodes []string) error {
	options := cluster.Options{
		Servers: c.options.Servers, Clients: len(nodes), Nodes: nodes, Network: c.options.Network, DiskSize: c.options.DiskSize,
		PluginDir: c.options.Driver.PluginDir,
	}
	start := c.startConsul
	if c.options.Servers > 1 {
		start = c.startConsuls
	}
	err := start(ctx, &options)
	if err != nil {
		return err
	}
	options.ClientConfig = c.clientConfig(options.Consul)
	if c.Nomad, err = cluster.StartCluster(ctx, options); err != nil {
		return err
	}
	c.NomadAddress = c.Nomad.Servers[0].Address
	if c.options.Servers > 1 {
		return c.startOwnNomad(ctx)
	}
	return nil
}

// startConsul starts one Consul for all.
func (c *Cluster) startConsul(ctx context.Context, options *cluster.Options) (err error) {
	consul := cluster.ConsulOptions{}
	if c.options.Network != nil {
		if consul.Host, err = c.options.Network.Host(ctx); err != nil {
			return err
		}
	}
	if c.Consul, err = cluster.StartConsul(ctx, consul); err != nil {
		return err
	}
	c.ConsulServers = []*cluster.ConsulAgent{c.Consul}
	options.Consul = c.Consul.Address
	return nil
}

// startConsuls starts a server of Consul on each host that gets one of Nomad, and an agent
// of their own for each node and for the controllers.
func (c *Cluster) startConsuls(ctx context.Context, options *cluster.Options) error {
	if c.options.Network == nil {
		return errors.New("several servers need a network")
	}
	for range options.Servers + options.Clients {
		host, err := c.options.Network.Host(ctx)
		if err != nil {
			return err
		}
		options.Hosts = append(options.Hosts, host)
	}
	servers, err := cluster.StartConsulServers(ctx, options.Hosts[:options.Servers])
	if err != nil {
		return err
	}
	c.ConsulServers = servers
	for _, host := range append([]*cluster.Host{nil}, options.Hosts[options.Servers:]...) {
		agent := cluster.ConsulOptions{Host: host, Prefer: c.options.Network.Address()}
		for _, server := range servers {
			agent.Join = append(agent.Join, server.IP)
		}
		started, err := cluster.StartConsul(ctx, agent)
		if err != nil {
			return err
		}
		c.consuls = append(c.consuls, started)
		c.Consul = cmp.Or(c.Consul, started)
	}
	options.Consul = ownConsul
	return nil
}

// startOwnNomad starts the agent that the controllers ask, which finds the servers: a controller
// that asks one of those is without Nomad when that one is killed.
func (c *Cluster) startOwnNomad(ctx context.Context) (err error) {
	agent := cluster.NomadOptions{Client: true, Prefer: c.options.Network.Address(), Consul: c.Consul.Address}
	for _, server := range c.Nomad.Servers {
		agent.Join = append(agent.Join, server.IP)
	}
	if c.ownNomad, err = cluster.StartNomad(ctx, agent); err != nil {
		return err
	}
	c.NomadAddress = c.ownNomad.Address
	return c.ownNomad.Ready(ctx)
}

// closeEngines ends the agents of startEngines: those that depend on another one first.
func (c *Cluster) closeEngines(ctx context.Context) error {
	var errs []error
	if c.ownNomad != nil {
		errs = append(errs, c.ownNomad.Close())
	}
	if c.Nomad != nil {
		errs = append(errs, c.Nomad.Close(ctx))
	}
	for _, agent := range append(c.consuls, c.ConsulServers...) {
		errs = append(errs, agent.Close())
	}
	return errors.Join(errs...)
}
