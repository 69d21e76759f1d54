package driver

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"time"

	drivers "github.com/hashicorp/nomad/plugins/drivers/proto"
	shared "github.com/hashicorp/nomad/plugins/shared/structs/proto"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/api"
	"github.com/yurtrun/yurt/executor/cgroup"
	"github.com/yurtrun/yurt/executor/doctor"
)

// fingerprintEvery is the pause between two looks at the node; Nomad is told of changes. It is also how soon an idle node's
// executor is started again.
const fingerprintEvery = 5 * time.Second

// Fingerprint implements the service: the abilities of this node, at once and on change.
func (s *driverServer) Fingerprint(_ *drivers.FingerprintRequest, stream drivers.Driver_FingerprintServer) error {
	var last *drivers.FingerprintResponse
	orphans, swept := &sweeper{driver: s.driver}, time.Now()
	for {
		next := s.driver.fingerprint(stream.Context())
		if stream.Context().Err() != nil {
			return nil //nolint:nilerr // the caller has left
		}
		if !sameFingerprint(last, next) {
			if err := stream.Send(next); err != nil {
				return err
			}
			last = next
		}
		if time.Since(swept) > sweepEvery {
			swept = time.Now()
			if err := orphans.sweep(stream.Context()); err != nil {
				s.driver.logger.Warn("looking for what is left of tasks that are no more", "error", err)
			}
		}
		select {
		case <-stream.Context().Done():
			return nil
		case <-s.driver.ctx.Done():
			return nil
		case <-time.After(fingerprintEvery):
		}
	}
}

func sameFingerprint(a, b *drivers.FingerprintResponse) bool {
	return a != nil && a.Health == b.Health && a.HealthDescription == b.HealthDescription &&
		maps.EqualFunc(a.Attributes, b.Attributes, func(x, y *shared.Attribute) bool { return x.String() == y.String() })
}

// fingerprint looks at the node.
func (d *Driver) fingerprint(ctx context.Context) *drivers.FingerprintResponse {
	attributes := map[string]*shared.Attribute{}
	for _, f := range doctor.Examine(ctx) {
		attributes["driver.yurt.doctor."+attributeName(f.Mechanism)] = text(string(f.State))
		if f.Required && f.State == doctor.Missing {
			return &drivers.FingerprintResponse{
				Health:            drivers.FingerprintResponse_UNDETECTED,
				HealthDescription: fmt.Sprintf("%s: %s; %s", f.Mechanism, f.Detail, f.Consequence),
			}
		}
	}
	var info api.Info
	var runtimes []yurt.RuntimeInfo
	err := d.executor().Call(ctx, func(c *api.Client) (err error) {
		if info, err = c.Describe(ctx); err != nil {
			return err
		}
		runtimes, err = c.Runtimes(ctx)
		return err
	})
	if err != nil {
		return &drivers.FingerprintResponse{Health: drivers.FingerprintResponse_UNHEALTHY, HealthDescription: err.Error()}
	}
	attributes["driver.yurt"] = truth(true)
	attributes["driver.yurt.version"] = text(d.version)
	attributes["driver.yurt.executor.version"] = text(info.Version)
	attributes["driver.yurt.executor.node"] = text(info.Node)
	attributes["driver.yurt.isolation."+string(yurt.IsolationNamespaces)] = truth(true)
	settings := d.settings()
	attributes["driver.yurt.host_network"] = truth(settings.HostNetwork)
	attributes["driver.yurt.images"] = truth(settings.Images)
	attributes["driver.yurt.slots"] = truth(settings.AllowsSlots())
	if info.Announced != nil {
		attributes["driver.yurt.announced"] = truth(*info.Announced)
	}
	if version := cgroupVersion(); version != 0 {
		attributes["driver.yurt.cgroup"] = number(int64(version))
	}
	for _, r := range runtimes {
		attributes["driver.yurt.runtime."+attributeName(r.Name)] = text(r.Version)
	}
	d.templateAttributes(attributes)
	return &drivers.FingerprintResponse{Health: drivers.FingerprintResponse_HEALTHY, HealthDescription: "Healthy", Attributes: attributes}
}

// templateAttributes says which templates jobs may name here.
func (d *Driver) templateAttributes(attributes map[string]*shared.Attribute) {
	known, err := d.templates().Known()
	if err != nil {
		attributes["driver.yurt.templates_error"] = text(err.Error())
		return
	}
	for name, t := range known {
		attributes["driver.yurt.template."+attributeName(name)] = text(t.Digest()[:12])
	}
}

func cgroupVersion() int {
	manager, err := cgroup.Open("yurt-fingerprint")
	if err != nil {
		return 0
	}
	return manager.Version()
}

// attributeName is the text as a part of an attribute's name.
func attributeName(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		default:
			return '_'
		}
	}, text)
}

func text(value string) *shared.Attribute {
	return &shared.Attribute{Value: &shared.Attribute_StringVal{StringVal: value}}
}

func truth(value bool) *shared.Attribute {
	return &shared.Attribute{Value: &shared.Attribute_BoolVal{BoolVal: value}}
}

func number(value int64) *shared.Attribute {
	return &shared.Attribute{Value: &shared.Attribute_IntVal{IntVal: value}}
}
