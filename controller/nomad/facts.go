package nomad

import (
	"context"
	"time"

	"github.com/hashicorp/nomad/api"
)

const (
	// coreFor is how long the mean core of the nodes is remembered.
	coreFor = 5 * time.Minute
	// unknownCore is a core in MHz while there is no node to ask about.
	unknownCore = 1000
)

// facts are Nomad's answers to questions that are asked once, or seldom.
type facts struct {
	engine *Engine
	turn   chan struct{} // holds a token during a request; guards the fields below

	spec *jobspec
	mhz  float64
	asOf time.Time
}

func newFacts(e *Engine) *facts { return &facts{engine: e, turn: make(chan struct{}, 1)} }

func (f *facts) lock(ctx context.Context) error {
	select {
	case f.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (f *facts) unlock() { <-f.turn }

// jobspec returns the job from which those of slots are made. Nomad parses it, so that the whole language of its jobs can be used.
func (f *facts) jobspec(ctx context.Context) (*jobspec, error) {
	if err := f.lock(ctx); err != nil {
		return nil, err
	}
	defer f.unlock()
	if f.spec != nil {
		return f.spec, nil
	}
	e := f.engine
	var job api.Job
	err := once(ctx, func(ctx context.Context) error {
		request := &api.JobsParseRequest{JobHCL: e.config.Jobspec}
		_, err := e.client.Raw().Write("/v1/jobs/parse", request, &job, e.write(ctx))
		return err
	})
	if err != nil {
		return nil, err
	}
	f.spec, err = newJobspec(&job, &e.config)
	return f.spec, err
}

// mhzPerCore returns one core in Nomad's unit.
func (f *facts) mhzPerCore(ctx context.Context) (float64, error) {
	if f.engine.config.MHzPerCore > 0 {
		return float64(f.engine.config.MHzPerCore), nil
	}
	if err := f.lock(ctx); err != nil {
		return 0, err
	}
	defer f.unlock()
	e := f.engine
	if f.mhz > 0 && e.now().Sub(f.asOf) < coreFor {
		return f.mhz, nil
	}
	var nodes []*api.NodeListStub
	err := e.retry(ctx, func(ctx context.Context) error {
		q := e.query(ctx)
		q.Params = map[string]string{"resources": "true"}
		var err error
		nodes, _, err = e.client.Nodes().List(q)
		return err
	})
	if err != nil {
		if f.mhz > 0 {
			return f.mhz, nil
		}
		return 0, err
	}
	mhz := meanCore(nodes, e.config.NodePool)
	if mhz == 0 {
		return unknownCore, nil
	}
	f.mhz, f.asOf = mhz, e.now()
	return mhz, nil
}

// meanCore returns the MHz of a core of the nodes of the pool, "" being any, in the mean.
// The executor limits a sandbox to its cores on any node; this is only how the scheduler
// counts them.
func meanCore(nodes []*api.NodeListStub, pool string) float64 {
	var shares, cores float64
	for _, node := range nodes {
		if node.NodeResources == nil || node.Status != api.NodeStatusReady || pool != "" && node.NodePool != pool {
			continue
		}
		shares += float64(node.NodeResources.Cpu.CpuShares)
		cores += float64(node.NodeResources.Cpu.TotalCpuCores)
	}
	if cores == 0 {
		return 0
	}
	return shares / cores
}
