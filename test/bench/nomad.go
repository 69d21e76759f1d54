package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	nomad "github.com/hashicorp/nomad/api"
	"golang.org/x/sync/errgroup"

	"github.com/yurtrun/yurt/test/cluster"
)

// drivers take turns on one agent, each with its defaults but for [smallChroot]. The first
// is ours.
func drivers() []string { return []string{"yurt", "raw_exec", "exec"} }

// onNomad is a cluster of one client, on which every driver has a job to dispatch.
type onNomad struct {
	p       *place
	cluster *cluster.NomadCluster
}

// smallChroot lists the files that exec links into the directory of every task: all that the tasks
// here need. Its default is the whole of /usr, which takes minutes on a machine with compilers.
const smallChroot = `
client {
  chroot_env {
    "/usr/bin/date"                              = "/bin/date"
    "/usr/bin/sleep"                             = "/bin/sleep"
    "/lib64/ld-linux-x86-64.so.2"                = "/lib64/ld-linux-x86-64.so.2"
    "/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2" = "/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2"
    "/lib/x86_64-linux-gnu/libc.so.6"            = "/lib/x86_64-linux-gnu/libc.so.6"
  }
}
`

// dispatchable is a job that prints when its code began to run, since only the code can tell.
const dispatchable = `
job "bench-%[1]s" {
  type = "batch"
  parameterized {}
  group "g" {
    restart { attempts = 0 }
    task "main" {
      driver = %[1]q
      config {
        command = "/bin/date"
        args    = ["+%%s%%N"]
      }
      resources {
        cpu    = 20
        memory = 32
      }
    }
  }
}`

// idle is a job of tasks that wait.
const idle = `
job "idle-%[1]s" {
  type = "batch"
  group "g" {
    count = %[2]d
    task "main" {
      driver = %[1]q
      config {
        command = "/bin/sleep"
        args    = ["3600"]
      }
      resources {
        cpu    = 20
        memory = 32
      }
    }
  }
}`

func startNomad(p *place) (*onNomad, error) {
	bin, err := filepath.Abs(p.bin)
	if err != nil {
		return nil, err
	}
	driver := cluster.Driver{Program: filepath.Join(bin, "yurt"), PluginDir: filepath.Join(bin, "nomad")}
	running, err := cluster.StartCluster(p.ctx, cluster.Options{PluginDir: driver.PluginDir, ClientConfig: driver.Config(fmt.Sprintf("settings {\n      run-dir = %q\n    }", p.runDir)) + smallChroot})
	if err != nil {
		return nil, err
	}
	p.cleanup(func() error { return running.Close(context.WithoutCancel(p.ctx)) })
	o := &onNomad{p: p, cluster: running}
	for _, driver := range drivers() {
		if err := running.Clients[0].WaitDriver(p.ctx, driver); err != nil {
			return nil, err
		}
		if err := o.register(fmt.Sprintf(dispatchable, driver)); err != nil {
			return nil, err
		}
	}
	return o, nil
}

func (o *onNomad) register(hcl string) error {
	job, err := o.cluster.API.Jobs().ParseHCL(hcl, true)
	if err != nil {
		return fmt.Errorf("parsing a job: %w", err)
	}
	if _, _, err := o.cluster.API.Jobs().Register(job, nil); err != nil {
		return fmt.Errorf("registering job %s: %w", *job.ID, err)
	}
	return nil
}

// dispatch starts a task of the driver, and returns when it was asked for and its job.
func (o *onNomad) dispatch(driver string) (asked time.Time, job string, err error) {
	asked = time.Now()
	answer, _, err := o.cluster.API.Jobs().Dispatch("bench-"+driver, nil, nil, "", nil)
	if err != nil {
		return asked, "", fmt.Errorf("dispatching: %w", err)
	}
	return asked, answer.DispatchedJobID, nil
}

// began waits for the task's output: the time when its code began to run.
func (o *onNomad) began(ctx context.Context, job string) (time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, poolPatience)
	defer cancel()
	for {
		allocs, _, err := o.cluster.API.Jobs().Allocations(job, true, nil)
		if err != nil {
			return time.Time{}, fmt.Errorf("looking for the allocation of %s: %w", job, err)
		}
		if len(allocs) > 0 {
			if printed, ok := o.printed(allocs[0].ID); ok {
				nanos, err := strconv.ParseInt(printed, 10, 64)
				return time.Unix(0, nanos), err
			}
		}
		if len(allocs) > 0 && allocs[0].ClientStatus == nomad.AllocClientStatusFailed {
			alloc, _, err := o.cluster.API.Allocations().Info(allocs[0].ID, nil)
			return time.Time{}, errors.Join(fmt.Errorf("a task failed:%s", cluster.Describe(alloc)), err)
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return time.Time{}, fmt.Errorf("the task of %s did not run: %w", job, ctx.Err())
		}
	}
}

// printed returns the first line of a task's output.
func (o *onNomad) printed(alloc string) (string, bool) {
	data, err := os.ReadFile(filepath.Join(o.cluster.Clients[0].Dir, "data", "alloc", alloc, "alloc", "logs", "main.stdout.0"))
	line, _, whole := bytes.Cut(data, []byte("\n"))
	return string(line), err == nil && whole
}

// nomadStart is a dispatch until the user's code runs, for each driver in turn.
func nomadStart(p *place, n int) (Row, error) {
	o, err := startNomad(p)
	if err != nil {
		return Row{}, err
	}
	took := make([][]float64, len(drivers()))
	contenders := make([]contender, len(drivers()))
	for round := range n + warmup {
		for i, driver := range drivers() {
			contenders[i].name = driver
			time.Sleep(isolated)
			asked, job, err := o.dispatch(driver)
			if err != nil {
				return Row{}, err
			}
			began, err := o.began(p.ctx, job)
			if err != nil {
				return Row{}, fmt.Errorf("%s: %w", driver, err)
			}
			if round >= warmup {
				took[i] = append(took[i], millis(began.Sub(asked)))
			}
		}
	}
	return summarise(bench{n: n}, contenders, took), nil
}

// nomadBurst is many dispatches at once until the last task has begun, in starts a second.
func nomadBurst(p *place, n int) (Row, error) {
	o, err := startNomad(p)
	if err != nil {
		return Row{}, err
	}
	row := Row{N: n, Unit: "/s", Peers: make(map[string]Peer)}
	for _, driver := range drivers()[:2] {
		rate, err := o.burst(driver, n)
		if err != nil {
			return Row{}, fmt.Errorf("%s: %w", driver, err)
		}
		if driver == drivers()[0] {
			row.Value = rate
		} else {
			row.Peers[driver] = Peer{Value: rate, Ratio: row.Value / rate}
		}
	}
	return row, nil
}

func (o *onNomad) burst(driver string, n int) (float64, error) {
	var mu sync.Mutex
	var jobs []string
	var group errgroup.Group
	group.SetLimit(16) // callers at once
	first := time.Now()
	for range n {
		group.Go(func() error {
			_, job, err := o.dispatch(driver)
			mu.Lock()
			defer mu.Unlock()
			jobs = append(jobs, job)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return 0, err
	}
	last := first
	for _, job := range jobs {
		began, err := o.began(o.p.ctx, job)
		if err != nil {
			return 0, err
		}
		last = slices.MaxFunc([]time.Time{last, began}, time.Time.Compare)
	}
	return float64(n) / last.Sub(first).Seconds(), nil
}

// nomadMemory is the growth of the memory of the client, its drivers and their tasks with each task
// that waits.
func nomadMemory(p *place, n int) (Row, error) {
	o, err := startNomad(p)
	if err != nil {
		return Row{}, err
	}
	row := Row{N: n, Unit: "KiB", Peers: make(map[string]Peer)}
	for _, driver := range drivers() {
		each, err := o.memory(driver, n)
		if err != nil {
			return Row{}, fmt.Errorf("%s: %w", driver, err)
		}
		if driver == drivers()[0] {
			row.Value = each
		} else {
			row.Peers[driver] = Peer{Value: each, Ratio: each / row.Value}
		}
	}
	return row, nil
}

func (o *onNomad) memory(driver string, n int) (float64, error) {
	// One task is there already: the overhead of the first is not each task's.
	if err := o.runIdle(driver, 1); err != nil {
		return 0, err
	}
	before, err := o.settledMemory()
	if err != nil {
		return 0, err
	}
	if err := o.runIdle(driver, n+1); err != nil {
		return 0, err
	}
	after, err := o.settledMemory()
	if err != nil {
		return 0, err
	}
	return (after - before) / float64(n), o.cluster.StopJobs(o.p.ctx)
}

// settledMemory is that of the client and all that comes of it, a moment after the last task
// has begun.
func (o *onNomad) settledMemory() (float64, error) {
	time.Sleep(settling)
	return treeMemory(o.cluster.Clients[0].Dir)
}

const settling = 2 * time.Second

// runIdle has so many tasks of the driver wait, and returns when Nomad says that all do.
func (o *onNomad) runIdle(driver string, n int) error {
	if err := o.register(fmt.Sprintf(idle, driver, n)); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(o.p.ctx, poolPatience)
	defer cancel()
	for {
		allocs, _, err := o.cluster.API.Jobs().Allocations("idle-"+driver, true, (&nomad.QueryOptions{}).WithContext(ctx))
		if err != nil {
			return fmt.Errorf("looking for the tasks of %s: %w", driver, err)
		}
		running := 0
		for _, alloc := range allocs {
			if alloc.ClientStatus == nomad.AllocClientStatusRunning {
				running++
			}
		}
		if running == n {
			return nil
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("%d of %d tasks run: %w", running, n, ctx.Err())
		}
	}
}
