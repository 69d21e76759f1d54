package yurtcluster

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/yurtrun/yurt/executor/identity"
)

// ReplaceAuthority replaces the authority of the cluster by the steps of docs/CLUSTER.md, and calls after when each of them is done:
// when all trust both authorities, when executors and controllers have new certificates, and when all trust the new one alone.
func (c *Cluster) ReplaceAuthority(after func(step string) error) error {
	dir, err := os.MkdirTemp(c.Dir, "ca-")
	if err != nil {
		return fmt.Errorf("making a directory for certificates: %w", err)
	}
	if err := identity.InitAuthority(dir, certificateLife, time.Now); err != nil {
		return err
	}
	authority, err := identity.OpenAuthority(dir, time.Now)
	if err != nil {
		return err
	}
	old, err := os.ReadFile(c.trusted())
	if err != nil {
		return err
	}
	fresh, err := os.ReadFile(filepath.Join(dir, identity.AuthorityFile))
	if err != nil {
		return err
	}
	for _, step := range []struct {
		name string
		do   func() error
	}{
		{"all trust both authorities", func() error { return c.trust(old, fresh) }},
		{"executors have new certificates", func() error { c.authority = authority; return c.reissue(identity.RoleExecutor, c.nodes()) }},
		{"controllers have new certificates", func() error { return c.reissue(identity.RoleController, c.controllers()) }},
		{"all trust the new authority alone", func() error { return c.trust(fresh) }},
	} {
		err := step.do()
		if err == nil {
			err = after(step.name)
		}
		if err != nil {
			return fmt.Errorf("replacing the authority until %s: %w", step.name, err)
		}
	}
	return nil
}

// trust has all parts trust the authorities.
func (c *Cluster) trust(authorities ...[]byte) error {
	temp := c.trusted() + ".new"
	if err := os.WriteFile(temp, bytes.Join(authorities, nil), 0o600); err != nil {
		return err
	}
	return os.Rename(temp, c.trusted())
}

// reissue gives parts certificates of the present authority.
func (c *Cluster) reissue(role identity.Role, names []string) error {
	for _, name := range names {
		if err := c.issue(identity.Name{Role: role, Name: name}); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) nodes() (names []string) {
	for _, client := range c.Nomad.Clients {
		names = append(names, client.Node)
	}
	return names
}

func (c *Cluster) controllers() (names []string) {
	for n := range c.Controllers {
		names = append(names, controllerName(n+1))
	}
	return names
}
