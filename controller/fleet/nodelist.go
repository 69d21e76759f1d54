package fleet

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/contract"
	"github.com/yurtrun/yurt/internal/suggest"
)

// NodeList describes every known node, by name. Warm sandboxes are named by their template where this controller knows the
// template of the digest.
func (n *Nodes) NodeList(ctx context.Context) ([]yurt.NodeInfo, error) {
	nodes, err := n.placer.NodeList(ctx)
	if err != nil {
		return nil, err
	}
	templates, err := n.templates.Templates(ctx)
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

// maxNamed is how many nodes an error names.
const maxNamed = 10

// noSuchNode is the error for a name that no node has. It names the node that was probably
// meant, and those that there are.
func noSuchNode(ctx context.Context, placer contract.NodePlacer, name string) error {
	nodes, err := placer.NodeList(ctx)
	if err != nil {
		return err
	}
	names := make([]string, len(nodes))
	for i, n := range nodes {
		names[i] = n.Name
	}
	slices.Sort(names)
	hint := "no node announces itself"
	if len(names) > 0 {
		hint = "the nodes are " + strings.Join(names[:min(len(names), maxNamed)], ", ")
	}
	if more := len(names) - maxNamed; more > 0 {
		hint += fmt.Sprintf(" and %d more", more)
	}
	if near := suggest.Nearest(name, names); near != "" {
		hint = fmt.Sprintf("did you mean %q? (%s)", near, hint)
	}
	return yurt.Errorf(yurt.CodeNodeNotFound, "there is no node %q; %s", name, hint)
}

// Warnings lists the faults that do not keep the controller from serving.
func (n *Nodes) Warnings() []string {
	return append(n.orphans.warnings(), n.placer.Warnings()...)
}
