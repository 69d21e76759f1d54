package nomad

import (
	"context"
	"time"

	"github.com/hashicorp/nomad/api"

	"github.com/yurtrun/yurt/controller/cluster"
)

// pageSize is how many entries of a list Nomad is asked for at once.
const pageSize = 500

// Jobs implements cluster.Engine.
func (e *Engine) Jobs(ctx context.Context) ([]cluster.Job, error) {
	var list []cluster.Job
	byID := map[string]int{}
	err := e.pages(ctx, func(q *api.QueryOptions) (*api.QueryMeta, error) {
		q.Prefix = jobPrefix
		stubs, meta, err := e.client.Jobs().ListOptions(&api.JobListOptions{Fields: &api.JobListFields{Meta: true}}, q)
		for _, stub := range stubs {
			slot := stub.Meta[metaSlot]
			if slot == "" || stub.ID != jobID(slot) { // not one of ours
				continue
			}
			byID[stub.ID] = len(list)
			list = append(list, cluster.Job{
				SlotID: slot, SessionID: stub.Meta[metaSession], Digest: stub.Meta[metaDigest],
				Since: time.Unix(0, stub.SubmitTime), Ended: stub.Stop || stub.Status == "dead",
			})
		}
		return meta, err
	})
	if err != nil || len(list) == 0 {
		return list, explainList(err)
	}
	err = e.pages(ctx, func(q *api.QueryOptions) (*api.QueryMeta, error) {
		q.Filter = `JobID matches "^` + jobPrefix + `" and DesiredStatus == "` + api.AllocDesiredStatusRun + `"`
		stubs, meta, err := e.client.Allocations().List(q)
		for _, stub := range stubs {
			if i, ok := byID[stub.JobID]; ok && (list[i].Node == "" || list[i].Away) {
				list[i].Node, list[i].Away = stub.NodeName, stub.ClientStatus == api.AllocClientStatusUnknown
			}
		}
		return meta, err
	})
	return list, explainList(err)
}

func explainList(err error) error {
	if err == nil {
		return nil
	}
	return explain("listing the jobs of sandboxes", err)
}

// pages calls one for each page of a list.
func (e *Engine) pages(ctx context.Context, one func(*api.QueryOptions) (*api.QueryMeta, error)) error {
	for next := ""; ; {
		var meta *api.QueryMeta
		err := once(ctx, func(ctx context.Context) (err error) {
			q := e.query(ctx)
			q.PerPage, q.NextToken = pageSize, next
			meta, err = one(q)
			return err
		})
		if err != nil {
			return err
		}
		if next = meta.NextToken; next == "" {
			return nil
		}
	}
}
