package controller

import (
	"context"

	"github.com/yurtrun/yurt"
)

// NodeLister is a [Placer] that knows what its nodes have.
type NodeLister interface {
	// NodeList describes every node that is known, by name, also one that does not answer.
	NodeList(ctx context.Context) ([]yurt.NodeInfo, error)
}

// Warner is a [Placer] that may be able to do less than it should.
type Warner interface {
	// Warnings says what is not as it should be although sessions can be served.
	Warnings() []string
}

// NodeList describes every node that is known, by name. What is warm there is named by
// template where this controller knows which has the digest.
func (c *Controller) NodeList(ctx context.Context) ([]yurt.NodeInfo, error) {
	lister, ok := c.placer.(NodeLister)
	if !ok {
		return nil, yurt.Errorf(yurt.CodeNotSupported, "this server does not know its nodes")
	}
	nodes, err := lister.NodeList(ctx)
	if err != nil {
		return nil, err
	}
	templates, err := c.Templates(ctx)
	if err != nil {
		return nil, err
	}
	names := make(map[string]string, len(templates))
	for _, t := range templates {
		names[t.Digest()] = t.Name
	}
	for i := range nodes {
		warm := make(map[string]int, len(nodes[i].Warm))
		for digest, count := range nodes[i].Warm {
			if name, known := names[digest]; known {
				digest = name
			}
			warm[digest] += count
		}
		nodes[i].Warm = warm
	}
	return nodes, nil
}

// Warnings says what is not as it should be although the controller can serve.
func (c *Controller) Warnings() []string {
	if warner, ok := c.placer.(Warner); ok {
		return warner.Warnings()
	}
	return nil
}
