package announce

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/consul/api"
)

func (a *Announcer) key() string { return KeyPrefix + a.config.Node }

func (a *Announcer) sessionName() string { return ServiceName + " " + a.config.Node }

// openSession makes sure that there is a session of ours, which the key belongs to.
func (a *Announcer) openSession(ctx context.Context) error {
	if err := a.renew(ctx); err != nil || a.session != "" {
		return err
	}
	options, cancel := a.write(ctx)
	defer cancel()
	id, _, err := a.client.Session().Create(&api.SessionEntry{
		Name: a.sessionName(), TTL: a.config.TTL.String(), Behavior: api.SessionBehaviorDelete,
		LockDelay: time.Millisecond, // the next holder is this node's next executor, and need not wait
	}, options)
	if err != nil {
		return fmt.Errorf("opening a session of Consul: %w", err)
	}
	a.session = id
	return nil
}

// renew renews the session, if there is one and it is still known.
func (a *Announcer) renew(ctx context.Context) error {
	if a.session == "" {
		return nil
	}
	options, cancel := a.write(ctx)
	defer cancel()
	entry, _, err := a.client.Session().Renew(a.session, options)
	if err != nil {
		return fmt.Errorf("renewing the session of Consul: %w", err)
	}
	if entry == nil {
		a.session = ""
	}
	return nil
}

// publish writes the node's capacity, if it is known.
func (a *Announcer) publish(ctx context.Context) error {
	value, err := a.marshal()
	if err != nil || value == nil {
		return err
	}
	written, err := a.acquire(ctx, value)
	if err != nil || written {
		return err
	}
	if err := a.evict(ctx); err != nil {
		return err
	}
	written, err = a.acquire(ctx, value)
	if err == nil && !written {
		err = fmt.Errorf("the key %s cannot be had of Consul now", a.key())
	}
	return err
}

// acquire writes the key, unless it is another session's.
func (a *Announcer) acquire(ctx context.Context, value []byte) (bool, error) {
	options, cancel := a.write(ctx)
	defer cancel()
	written, _, err := a.client.KV().Acquire(&api.KVPair{Key: a.key(), Value: value, Session: a.session}, options)
	if err != nil {
		return false, fmt.Errorf("announcing the node's capacity: %w", err)
	}
	return written, nil
}

// evict ends the session that holds our key, if it is of an executor that was here before
// and was killed. One on another machine is another node that goes by our name.
func (a *Announcer) evict(ctx context.Context) error {
	options, cancel := a.query(ctx)
	defer cancel()
	pair, _, err := a.client.KV().Get(a.key(), options)
	if err != nil {
		return fmt.Errorf("looking up the announcer of this node: %w", err)
	}
	if pair == nil || pair.Session == "" || pair.Session == a.session {
		return nil
	}
	holder, _, err := a.client.Session().Info(pair.Session, options)
	if err != nil || holder == nil {
		return err
	}
	ours, _, err := a.client.Session().Info(a.session, options)
	if err != nil {
		return fmt.Errorf("looking up the announcer of this node: %w", err)
	}
	if ours == nil {
		a.session = ""
		return errors.New("the session of Consul is not known any more")
	}
	if holder.Node != ours.Node || holder.Name != ours.Name {
		return fmt.Errorf("another executor goes by the name %s, at Consul's node %s; give each node a name of its own", a.config.Node, holder.Node)
	}
	removal, stop := a.write(ctx)
	defer stop()
	if _, err := a.client.Session().Destroy(pair.Session, removal); err != nil {
		return fmt.Errorf("ending the session of an earlier executor: %w", err)
	}
	return nil
}

// keepUp tells Consul that the executor is there, and checks that its entry is.
func (a *Announcer) keepUp(ctx context.Context) error {
	if err := a.renew(ctx); err != nil {
		return err
	}
	if a.session == "" {
		return errors.New("the session of Consul is not known any more")
	}
	if err := a.pass(ctx); err != nil {
		return err
	}
	options, cancel := a.query(ctx)
	defer cancel()
	options.AllowStale = true // it will be looked at again
	pair, _, err := a.client.KV().Get(a.key(), options)
	if err != nil {
		return fmt.Errorf("looking for the node's capacity: %w", err)
	}
	if pair == nil || pair.Session != a.session {
		return a.publish(ctx)
	}
	return nil
}

// withdraw takes back all that was announced, as far as Consul hears it.
func (a *Announcer) withdraw(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), withdrawLimit)
	defer cancel()
	var failed error
	if a.session != "" {
		options, stop := a.write(ctx)
		defer stop()
		_, failed = a.client.Session().Destroy(a.session, options)
	}
	options, stop := a.query(ctx)
	defer stop()
	if a.address != "" { // it was registered, or that was tried
		failed = errors.Join(failed, a.client.Agent().ServiceDeregisterOpts(a.serviceID(), options))
	}
	if failed != nil {
		a.logger.Warn("the node's announcement could not be withdrawn; it expires in Consul", "error", failed)
	}
}
