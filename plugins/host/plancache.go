package host

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/plugins"
)

// Bounds of one runtime's kept plans.
const (
	maxCachedPlans     = 128
	maxCachedPlanBytes = 256 << 10 // of one plan
)

// planCache keeps the plans of one process of a runtime, so that the same request is put to it once. The parts that differ
// between two runs of the same code, their ids and directories, stand in a kept plan as a placeholder. Safe for concurrent use.
type planCache struct {
	id, dir, out string // placeholders, which cannot be guessed

	mu    sync.Mutex // guards the fields below
	plans map[[sha256.Size]byte]plugins.Plan
	order [][sha256.Size]byte // oldest first
}

func newPlanCache() *planCache {
	secret := strings.ToLower(rand.Text())
	return &planCache{
		id: yurt.ExecutionIDPrefix + secret, dir: "/run/yurt/" + secret, out: "/tmp/" + secret,
		plans: make(map[[sha256.Size]byte]plugins.Plan),
	}
}

// neutral returns req with placeholders.
func (c *planCache) neutral(req plugins.PlanRequest) plugins.PlanRequest {
	req.ExecutionID, req.Dir, req.OutDir = c.id, c.dir, c.out
	return req
}

// key names a neutral request.
func (c *planCache) key(neutral plugins.PlanRequest) ([sha256.Size]byte, error) {
	data, err := json.Marshal(neutral)
	return sha256.Sum256(data), err
}

func (c *planCache) get(key [sha256.Size]byte) (plugins.Plan, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	plan, ok := c.plans[key]
	return plan, ok
}

// put keeps a plan, in place of the oldest when there are too many.
func (c *planCache) put(key [sha256.Size]byte, plan plugins.Plan) {
	size := 0
	for _, f := range plan.Files {
		size += len(f.Data)
	}
	if size > maxCachedPlanBytes {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.plans[key]; ok {
		return
	}
	if len(c.order) == maxCachedPlans {
		delete(c.plans, c.order[0])
		c.order = c.order[1:]
	}
	c.plans[key] = plan
	c.order = append(c.order, key)
}

// fill returns a copy of the plan with req's values in place of the placeholders.
func (c *planCache) fill(plan plugins.Plan, req plugins.PlanRequest) plugins.Plan {
	replacer := strings.NewReplacer(c.id, req.ExecutionID, c.dir, req.Dir, c.out, req.OutDir)
	texts := func(list []string) []string {
		filled := slices.Clone(list)
		for i, text := range filled {
			filled[i] = replacer.Replace(text)
		}
		return filled
	}
	env := func(variables map[string]string) map[string]string {
		filled := maps.Clone(variables)
		for name, value := range filled {
			filled[name] = replacer.Replace(value)
		}
		return filled
	}
	plan.Argv, plan.Env = texts(plan.Argv), env(plan.Env)
	plan.Compile = slices.Clone(plan.Compile)
	for i, step := range plan.Compile {
		plan.Compile[i].Argv, plan.Compile[i].Env = texts(step.Argv), env(step.Env)
	}
	plan.Files = slices.Clone(plan.Files)
	secret := []byte(strings.TrimPrefix(c.id, yurt.ExecutionIDPrefix)) // in all three
	for i, f := range plan.Files {
		if bytes.Contains(f.Data, secret) {
			plan.Files[i].Data = []byte(replacer.Replace(string(f.Data)))
		}
	}
	return plan
}
