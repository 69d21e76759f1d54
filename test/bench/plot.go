package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/yurtrun/yurt"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
)

// plot is the code of a first chart, as notebooks begin.
const plot = "import matplotlib.pyplot as plt; plt.plot([1, 2, 3], [1, 4, 9]); plt.title('squares'); plt.show()"

const plotTemplate = "data"

// firstPlot is the first chart in a session that a warm sandbox of template data became; beside it the
// first chart in an ipykernel that has just started, through its own client.
func firstPlot(p *place) ([]contender, error) {
	client, err := restServer(p)
	if err != nil {
		return nil, err
	}
	if _, err := client.PrepareTemplate(p.ctx, plotTemplate, func(string) error { return nil }); err != nil {
		return nil, err
	}
	one := 1
	if _, err := client.SetPool(p.ctx, plotTemplate, yurt.PoolChange{Min: &one, Max: &one}); err != nil {
		return nil, err
	}
	kernel, err := ipykernel(p, "matplotlib")
	if err != nil {
		return nil, err
	}
	plots := &plotting{place: p, client: client}
	return []contender{
		{name: "yurt", before: plots.claim, do: plots.draw, after: plots.end},
		{name: "ipykernel", before: func() error { return kernel("%restart", "None") }, do: func() error { return kernel(plot, "image/png") }},
	}, nil
}

// plotting is the session of one round.
type plotting struct {
	place   *place
	client  *yurtclient.Client
	session yurt.Session
}

// claim waits for a warm sandbox and makes the session of it.
func (s *plotting) claim() error {
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		pool, err := s.client.Pool(s.place.ctx, plotTemplate)
		if err != nil {
			return err
		}
		if pool.Ready > 0 && pool.Pending == 0 {
			break
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the pool of %s has no warm sandbox after two minutes: %+v", plotTemplate, pool)
		}
	}
	var err error
	s.session, err = s.client.CreateSession(s.place.ctx, yurtclient.CreateSessionRequest{TemplateID: plotTemplate, Mode: yurt.ModePersistent})
	if err == nil && s.session.Placement.Kind != yurt.PlacementWarm {
		err = fmt.Errorf("the session's placement is %s", s.session.Placement.Kind)
	}
	return err
}

func (s *plotting) draw() error {
	done, err := s.client.Execute(s.place.ctx, s.session.ID, yurtclient.ExecuteRequest{Language: "python", Code: plot})
	if err != nil {
		return err
	}
	s.place.note(done.Result.Metrics.Phases)
	for _, display := range done.Result.Displays {
		if display["image/png"] != nil {
			return nil
		}
	}
	return errors.New("the plot shows no picture: " + done.Result.Stderr)
}

func (s *plotting) end() error {
	_, err := s.client.EndSession(s.place.ctx, s.session.ID)
	return err
}
