package announce

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/hashicorp/consul/api"

	"github.com/yurtrun/yurt"
)

const (
	callLimit     = 5 * time.Second // of one request to Consul
	withdrawLimit = 3 * time.Second // for the last ones
	retryLeast    = 100 * time.Millisecond
	// retryMost is well below the time after which controllers take a node for lost that is
	// not there when Consul is back without its memory.
	retryMost = 2 * time.Second
)

// Node is an executor, as this package announces it.
type Node interface {
	// WatchCapacity calls each with the node's capacity, at once and again when it changes, until ctx is done.
	WatchCapacity(ctx context.Context, each func(yurt.Capacity) error) error
}

// Announcer announces one node. Only one goroutine runs it.
type Announcer struct {
	config Config
	client *api.Client
	logger *slog.Logger

	address  string        // of the executor, complete
	session  string        // of Consul's; "" before it is made
	announce chan struct{} // holds one when there is something new to announce

	mu       sync.Mutex
	capacity *yurt.Capacity // the latest; nil before the first
}

// New returns an announcer. It makes no request before it runs.
func New(config Config) (*Announcer, error) {
	config.TTL = cmp.Or(config.TTL, DefaultTTL)
	if _, _, err := config.split(); err != nil {
		return nil, yurt.FieldErrorf(yurt.CodeInvalidArgument, "advertise", "%w; give host:port", err)
	}
	client, err := config.client()
	if err != nil {
		return nil, err
	}
	return &Announcer{config: config, client: client, logger: config.Logger, announce: make(chan struct{}, 1)}, nil
}

// Run announces the node until ctx is done, and withdraws that then.
func (a *Announcer) Run(ctx context.Context, node Node) {
	var watching sync.WaitGroup
	watching.Go(func() { a.watch(ctx, node) })
	defer watching.Wait()
	for failures, silent := 0, ""; ctx.Err() == nil; {
		err := a.live(ctx, func() {
			a.logger.Info("announced to Consul", "node", a.config.Node, "address", a.address)
			failures, silent = 0, ""
		})
		if ctx.Err() != nil {
			break
		}
		failures++
		if err.Error() != silent { // an outage is logged once
			a.logger.Warn("this node cannot be announced to Consul; trying again", "error", err)
			silent = err.Error()
		}
		wait := min(retryMost, retryLeast<<min(failures-1, 10))
		pause(ctx, wait/2+rand.N(wait)) //nolint:gosec // it is to differ, and not to be secret
	}
	a.withdraw(ctx)
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// watch keeps the node's latest capacity.
func (a *Announcer) watch(ctx context.Context, node Node) {
	for ctx.Err() == nil {
		err := node.WatchCapacity(ctx, func(now yurt.Capacity) error {
			a.mu.Lock()
			a.capacity = &now
			a.mu.Unlock()
			select {
			case a.announce <- struct{}{}:
			default:
			}
			return nil
		})
		if ctx.Err() == nil {
			a.logger.Warn("asking the node for its capacity", "error", err)
			pause(ctx, time.Second)
		}
	}
}

// live announces the node until something fails, or ctx is done. It calls announced when
// all has been told once.
func (a *Announcer) live(ctx context.Context, announced func()) error {
	if err := a.register(ctx); err != nil {
		return err
	}
	if err := a.openSession(ctx); err != nil {
		return err
	}
	if err := a.publish(ctx); err != nil {
		return err
	}
	announced()
	tick := time.NewTicker(a.config.TTL / 3)
	defer tick.Stop()
	for {
		var err error
		select {
		case <-a.announce:
			err = a.publish(ctx)
		case <-tick.C:
			err = a.keepUp(ctx)
		case <-ctx.Done():
			return ctx.Err()
		}
		if err != nil {
			return err
		}
	}
}

// query and write are the options of one request, which the context bounds.
func (a *Announcer) query(ctx context.Context) (*api.QueryOptions, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	return (&api.QueryOptions{Token: a.config.token()}).WithContext(ctx), cancel
}

func (a *Announcer) write(ctx context.Context) (*api.WriteOptions, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	return (&api.WriteOptions{Token: a.config.token()}).WithContext(ctx), cancel
}

func (a *Announcer) serviceID() string { return ServiceName + "-" + a.config.Node }

func (a *Announcer) checkID() string { return "service:" + a.serviceID() }

// register makes the executor a service of the node's agent.
func (a *Announcer) register(ctx context.Context) error {
	host, port, err := a.config.split()
	if err != nil {
		return err
	}
	if host == "" {
		if host, err = a.agentAddress(ctx); err != nil {
			return err
		}
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		return fmt.Errorf("the port %q: %w", port, err)
	}
	a.address = net.JoinHostPort(host, port)
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	service := &api.AgentServiceRegistration{
		ID: a.serviceID(), Name: ServiceName, Address: host, Port: number,
		Meta: map[string]string{"node": a.config.Node, "version": a.config.Version},
		Check: &api.AgentServiceCheck{
			CheckID: a.checkID(), Name: "the executor is there",
			TTL: (2 * a.config.TTL).String(), Status: api.HealthPassing, DeregisterCriticalServiceAfter: "10m",
		},
	}
	if err := a.client.Agent().ServiceRegisterOpts(service, api.ServiceRegisterOpts{Token: a.config.token()}.WithContext(ctx)); err != nil {
		return fmt.Errorf("registering the executor with Consul: %w", err)
	}
	return a.pass(ctx) // which an agent that is started again remembers, unlike the status above
}

// pass tells Consul that the executor is there.
func (a *Announcer) pass(ctx context.Context) error {
	options, cancel := a.query(ctx)
	defer cancel()
	if err := a.client.Agent().UpdateTTLOpts(a.checkID(), "", api.HealthPassing, options); err != nil {
		return fmt.Errorf("telling Consul that the executor is there: %w", err)
	}
	return nil
}

// agentAddress returns the address by which Consul knows this machine.
func (a *Announcer) agentAddress(ctx context.Context) (string, error) {
	options, cancel := a.query(ctx)
	defer cancel()
	var self struct{ Member struct{ Addr string } }
	if _, err := a.client.Raw().Query("/v1/agent/self", &self, options); err != nil {
		return "", fmt.Errorf("asking Consul for the address of this machine: %w", err)
	}
	if net.ParseIP(self.Member.Addr) == nil {
		return "", fmt.Errorf("this machine has the address %.100q at Consul, which is none; give one", self.Member.Addr)
	}
	return self.Member.Addr, nil
}

// marshal returns the entry to announce.
func (a *Announcer) marshal() ([]byte, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.capacity == nil {
		return nil, nil
	}
	capacity := *a.capacity
	capacity.Node, capacity.Address, capacity.Version = a.config.Node, a.address, a.config.Version
	data, err := json.Marshal(capacity)
	if err != nil {
		return nil, fmt.Errorf("encoding the node's capacity: %w", err)
	}
	return data, nil
}
