package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/yurtrun/yurt"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
	"github.com/yurtrun/yurt/test/cluster"
	"github.com/yurtrun/yurt/test/yurtcluster"
)

const (
	clusterTemplate = "shell-basic"
	poolPatience    = 2 * time.Minute // for a pool to be full
	poolLook        = 5 * time.Millisecond
)

// onCluster is one node with Nomad, Consul, its executor and a controller.
type onCluster struct {
	p       *place
	cluster *yurtcluster.Cluster
	client  *yurtclient.Client
	warm    int // sandboxes that are kept ready
}

// startCluster starts a cluster and waits until its pool is full.
func startCluster(p *place, warm int) (*onCluster, error) {
	bin, err := filepath.Abs(p.bin)
	if err != nil {
		return nil, err
	}
	running, err := yurtcluster.Start(p.ctx, yurtcluster.Options{
		Driver:   cluster.Driver{Program: filepath.Join(bin, "yurt"), PluginDir: filepath.Join(bin, "nomad")},
		Settings: fmt.Sprintf("run-dir = %q", p.runDir),
	})
	if err != nil {
		return nil, err
	}
	p.cleanup(func() error { return running.Close(context.WithoutCancel(p.ctx)) })
	client, err := yurtclient.New(running.URL())
	if err != nil {
		return nil, err
	}
	c := &onCluster{p: p, cluster: running, client: client, warm: warm}
	if _, err := client.SetPool(p.ctx, clusterTemplate, yurt.PoolSize{Min: warm, Max: warm}.Change()); err != nil {
		return nil, err
	}
	return c, c.full()
}

// full waits until every slot of the pool has its sandbox.
func (c *onCluster) full() error { return poolFull(c.p, c.client, c.warm) }

// poolFull waits until the pool has so many sandboxes.
func poolFull(p *place, client *yurtclient.Client, warm int) error {
	ctx, cancel := context.WithTimeout(p.ctx, poolPatience)
	defer cancel()
	for {
		pools, err := client.Pools(ctx)
		if err != nil {
			return err
		}
		ready := 0
		for _, pool := range pools {
			if pool.Template == clusterTemplate {
				ready = pool.Ready
			}
		}
		if ready >= warm {
			return nil
		}
		select {
		case <-time.After(poolLook):
		case <-ctx.Done():
			return fmt.Errorf("%d of %d are ready: %w", ready, warm, ctx.Err())
		}
	}
}

// create makes a session and wants it placed so; "" is however.
func (c *onCluster) create(ctx context.Context, want yurt.PlacementKind) (yurt.Session, error) {
	session, err := c.client.CreateSession(ctx, yurtclient.CreateSessionRequest{TemplateID: clusterTemplate, Mode: yurt.ModePersistent})
	if err != nil {
		return session, err
	}
	if got := session.Placement.Kind; want != "" && got != want {
		return session, fmt.Errorf("session %s is %s, and not %s", session.ID, got, want)
	}
	return session, nil
}

func (c *onCluster) echo(ctx context.Context, session yurt.Session) error {
	done, err := c.client.Execute(ctx, session.ID, yurtclient.ExecuteRequest{Command: yurtclient.Command{Argv: []string{"/bin/echo", "hello"}}})
	if err == nil && done.Result.Stdout != "hello\n" {
		err = fmt.Errorf("it said %q", done.Result.Stdout)
	}
	return err
}

func (c *onCluster) end(ctx context.Context, session yurt.Session) error {
	_, err := c.client.EndSession(ctx, session.ID)
	return err
}

// placed is a contender that creates a session, and does something first in it.
func (c *onCluster) placed(kind yurt.PlacementKind, first func(context.Context, yurt.Session) error) []contender {
	var session yurt.Session
	return []contender{{
		name: "yurt",
		do: func() (err error) {
			if session, err = c.create(c.p.ctx, kind); err != nil {
				return err
			}
			return first(c.p.ctx, session)
		},
		after: func() error {
			c.p.note(session.Placement.Phases)
			return errors.Join(c.end(c.p.ctx, session), c.full())
		},
	}}
}

func nothing(context.Context, yurt.Session) error { return nil }

// clusterCreateWarm is a session in a warm sandbox, through the REST API.
func clusterCreateWarm(p *place) ([]contender, error) {
	c, err := startCluster(p, 5)
	if err != nil {
		return nil, err
	}
	return c.placed(yurt.PlacementWarm, nothing), nil
}

// clusterCreateCold is a session for which Nomad starts a job.
func clusterCreateCold(p *place) ([]contender, error) {
	c, err := startCluster(p, 0)
	if err != nil {
		return nil, err
	}
	return c.placed(yurt.PlacementCold, nothing), nil
}

// clusterTTI is the time until the output of a session's first command is there.
func clusterTTI(p *place) ([]contender, error) {
	c, err := startCluster(p, 5)
	if err != nil {
		return nil, err
	}
	return c.placed(yurt.PlacementWarm, c.echo), nil
}

// clusterBurst is 100 creates at once, with half as many that are warm.
func clusterBurst(p *place, n int) (Row, error) {
	c, err := startCluster(p, 50)
	if err != nil {
		return Row{}, err
	}
	group, ctx := errgroup.WithContext(p.ctx)
	sessions := make([]yurt.Session, n)
	began := time.Now()
	for i := range n {
		group.Go(func() (err error) {
			sessions[i], err = c.create(ctx, "")
			return err
		})
	}
	err = group.Wait()
	took := millis(time.Since(began))
	for _, session := range sessions {
		if session.ID != "" {
			err = errors.Join(err, c.end(p.ctx, session))
		}
	}
	return Row{N: n, Unit: "ms until the last", Value: took}, err
}

// clusterRate is how many sessions a second are created, used and deleted, with a client
// for each of a few.
func clusterRate(p *place, n int) (Row, error) {
	c, err := startCluster(p, 30)
	if err != nil {
		return Row{}, err
	}
	began := time.Now()
	if err := c.turnOver(n, 4); err != nil {
		return Row{}, err
	}
	return Row{N: n, Unit: "/s", Value: float64(n) / time.Since(began).Seconds()}, nil
}

// turnOver creates, uses and deletes n sessions, some at a time.
func (c *onCluster) turnOver(n, atOnce int) error {
	group, ctx := errgroup.WithContext(c.p.ctx)
	group.SetLimit(atOnce)
	for range n {
		group.Go(func() error {
			session, err := c.create(ctx, "")
			if err != nil {
				return err
			}
			return errors.Join(c.echo(ctx, session), c.end(ctx, session))
		})
	}
	return group.Wait()
}

// controllerCPU is the processor time that the controller itself takes for a request.
func controllerCPU(p *place, n int) (Row, error) {
	c, err := startCluster(p, 10)
	if err != nil {
		return Row{}, err
	}
	pid := c.cluster.Controllers[0].PID()
	before, err := processorTime(pid)
	if err != nil {
		return Row{}, err
	}
	if err := c.turnOver(n, 1); err != nil {
		return Row{}, err
	}
	after, err := processorTime(pid)
	const requests = 3 // for a session
	return Row{N: n * requests, Unit: "ms of a core", Value: millis(after-before) / float64(n*requests)}, err
}

// processorTime is the CPU time of a process so far.
func processorTime(pid int) (time.Duration, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(data), ") ") // the name may hold spaces
	fields := strings.Fields(rest)
	const user, system, tick = 11, 12, 10 * time.Millisecond
	var total time.Duration
	for _, i := range []int{user, system} {
		ticks, err := strconv.Atoi(fields[i])
		if err != nil {
			return 0, err
		}
		total += time.Duration(ticks) * tick
	}
	return total, nil
}
