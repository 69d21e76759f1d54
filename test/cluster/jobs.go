package cluster

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	nomad "github.com/hashicorp/nomad/api"
)

// Run registers a job that is written in HCL, and returns it as Nomad parsed it.
func (c *NomadCluster) Run(t testing.TB, hcl string) *nomad.Job {
	t.Helper()
	job, err := c.API.Jobs().ParseHCL(hcl, true)
	if err != nil {
		t.Fatalf("parsing a job: %v", err)
	}
	if _, _, err := c.API.Jobs().Register(job, nil); err != nil {
		t.Fatalf("registering job %s: %v", *job.ID, err)
	}
	return job
}

// WaitAlloc waits until an allocation of the job is as wanted, and returns it. If the time is over before,
// the test fails and describes the allocations.
func (c *NomadCluster) WaitAlloc(t testing.TB, jobID, what string, wanted func(*nomad.Allocation) bool) *nomad.Allocation {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	query := (&nomad.QueryOptions{WaitTime: patience}).WithContext(ctx)
	var seen []*nomad.Allocation
	for {
		stubs, meta, err := c.API.Jobs().Allocations(jobID, true, query)
		if err != nil && ctx.Err() == nil {
			t.Fatalf("looking for allocations of job %s: %v", jobID, err)
		}
		if ctx.Err() != nil {
			t.Fatalf("no allocation of job %s got to be %s; these there are: %s%s", jobID, what, Describe(seen...), c.evaluations(jobID))
		}
		query.WaitIndex = meta.LastIndex
		seen = nil
		for _, stub := range stubs {
			alloc, _, err := c.API.Allocations().Info(stub.ID, nil)
			if err != nil {
				t.Fatalf("looking at allocation %s: %v", stub.ID, err)
			}
			if wanted(alloc) {
				return alloc
			}
			seen = append(seen, alloc)
		}
	}
}

// WaitRunning waits until an allocation of the job runs. Nomad says so half a second late.
func (c *NomadCluster) WaitRunning(t testing.TB, jobID string) *nomad.Allocation {
	t.Helper()
	return c.WaitAlloc(t, jobID, "running", func(a *nomad.Allocation) bool { return a.ClientStatus == nomad.AllocClientStatusRunning })
}

// WaitDone waits until an allocation of the job has ended, well or badly.
func (c *NomadCluster) WaitDone(t testing.TB, jobID string) *nomad.Allocation {
	t.Helper()
	return c.WaitAlloc(t, jobID, "complete or failed", func(a *nomad.Allocation) bool {
		return a.ClientStatus == nomad.AllocClientStatusComplete || a.ClientStatus == nomad.AllocClientStatusFailed
	})
}

// WaitNode waits until the servers see the node as wanted.
func (c *NomadCluster) WaitNode(t testing.TB, name, what string, wanted func(*nomad.NodeListStub) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	query := (&nomad.QueryOptions{WaitTime: patience}).WithContext(ctx)
	var seen *nomad.NodeListStub
	for {
		nodes, meta, err := c.API.Nodes().List(query)
		if ctx.Err() != nil {
			t.Fatalf("node %s did not get to be %s; it is %+v", name, what, seen)
		}
		if err != nil {
			t.Fatalf("looking at nodes: %v", err)
		}
		query.WaitIndex = meta.LastIndex
		if i := slices.IndexFunc(nodes, func(n *nomad.NodeListStub) bool { return n.Name == name }); i >= 0 {
			if seen = nodes[i]; wanted(seen) {
				return
			}
		}
	}
}

// evaluations says why a job may not have been placed.
func (c *NomadCluster) evaluations(jobID string) string {
	evals, _, err := c.API.Jobs().Evaluations(jobID, nil)
	if err != nil {
		return err.Error()
	}
	var b strings.Builder
	for _, eval := range evals {
		fmt.Fprintf(&b, "\nevaluation %s (%s): %s %s", eval.ID, eval.TriggeredBy, eval.Status, eval.StatusDescription)
		for group, metric := range eval.FailedTGAllocs {
			fmt.Fprintf(&b, "; group %s: %d nodes evaluated, filtered %v, exhausted %v", group, metric.NodesEvaluated, metric.ConstraintFiltered, metric.DimensionExhausted)
		}
	}
	return b.String()
}

// Describe shows the states of allocations, with the events of their tasks.
func Describe(allocs ...*nomad.Allocation) string {
	var b strings.Builder
	for _, alloc := range allocs {
		fmt.Fprintf(&b, "\nallocation %s on %s: %s %s", alloc.ID, alloc.NodeName, alloc.ClientStatus, alloc.ClientDescription)
		for name, task := range alloc.TaskStates {
			fmt.Fprintf(&b, "\n  task %s: %s, failed %t, restarts %d", name, task.State, task.Failed, task.Restarts)
			for _, event := range task.Events {
				fmt.Fprintf(&b, "\n    %s: %s", event.Type, event.DisplayMessage)
			}
		}
	}
	if b.Len() == 0 {
		return "none"
	}
	return b.String()
}

// Logs returns the task's output on the stream so far, "stdout" or "stderr".
func (c *NomadCluster) Logs(t testing.TB, alloc *nomad.Allocation, task, stream string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	frames, errs := c.API.AllocFS().Logs(alloc, false, task, stream, nomad.OriginStart, 0, ctx.Done(), nil)
	var b strings.Builder
	for {
		select {
		case frame, open := <-frames:
			if !open {
				return b.String()
			}
			b.Write(frame.Data)
		case err := <-errs:
			t.Fatalf("reading the %s of task %s: %v", stream, task, err)
		case <-ctx.Done():
			t.Fatalf("reading the %s of task %s takes too long; so far:\n%s", stream, task, b.String())
		}
	}
}

// Exec runs a command in a task, and returns its output and its exit code.
func (c *NomadCluster) Exec(t testing.TB, alloc *nomad.Allocation, task, stdin string, command ...string) (stdout, stderr string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var out, errOut bytes.Buffer
	code, err := c.API.Allocations().Exec(ctx, alloc, task, false, command, strings.NewReader(stdin), &out, &errOut, nil, nil)
	if err != nil {
		t.Fatalf("running %q in task %s: %v\n%s%s", command, task, err, out.Bytes(), errOut.Bytes())
	}
	return out.String(), errOut.String(), code
}
