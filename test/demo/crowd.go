package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// crash kills the server where it stands, and starts it again.
func (d *demo) crash(ctx context.Context) error {
	d.heading("The server crashes, the session does not")
	d.request(fmt.Sprintf("kill -9 %d && yurt dev", d.server.PID()))
	listen := strings.TrimPrefix(d.base, "http://")
	if err := d.server.Kill(); err != nil {
		return err
	}
	begun := time.Now()
	if err := d.start(ctx, listen); err != nil {
		return err
	}
	back := time.Since(begun)
	body := object{"command": []string{"cat", "notes.txt"}}
	d.curl(d.executePath(), body)
	r, err := d.execute(ctx, d.session.ID, body)
	if err != nil {
		return err
	}
	d.answer(compact(object{"exit_code": r.ExitCode, "stdout": r.Stdout}))
	if err := want(r.Stdout == "written by one execution\n", "the session lost its file: %s%s", r.Stdout, r.Stderr); err != nil {
		return err
	}
	d.proved("back after %s; the sandbox was found again, alive, with its files", ms(back))
	return nil
}

// guest is one session of the crowd.
type guest struct {
	ready, executed, total time.Duration
	err                    error
}

func (d *demo) manyAtOnce(ctx context.Context) error {
	const crowd = 20
	d.heading(fmt.Sprintf("%d sessions at once", crowd))
	d.say("each: create a session, compute something of its own in Python, end the session")
	guests := make([]guest, crowd)
	begun := time.Now()
	var wait sync.WaitGroup
	for i := range guests {
		wait.Go(func() { guests[i] = d.visit(ctx, i) })
	}
	wait.Wait()
	took := time.Since(begun)
	for i, g := range guests {
		if g.err != nil {
			return fmt.Errorf("session %d of %d: %w", i+1, crowd, g.err)
		}
	}
	d.timings("session ready", guests, func(g guest) time.Duration { return g.ready })
	d.timings("Python answered", guests, func(g guest) time.Duration { return g.executed })
	d.timings("gone again", guests, func(g guest) time.Duration { return g.total })
	d.proved("%d right answers, none mixed up, in %.1f s altogether", crowd, took.Seconds())
	return nil
}

func (d *demo) visit(ctx context.Context, i int) (g guest) {
	begun := time.Now()
	s, err := d.create(ctx, "python-basic")
	if err != nil {
		return guest{err: err}
	}
	g.ready = time.Since(begun)
	r, err := d.execute(ctx, s.ID, object{"language": "python", "code": fmt.Sprintf("print(%d ** 7)", i)})
	g.executed = time.Since(begun)
	if want := fmt.Sprintf("%d\n", i*i*i*i*i*i*i); err == nil && r.Stdout != want {
		err = fmt.Errorf("the answer is %q and has to be %q; %s", r.Stdout, want, r.Stderr)
	}
	if _, endErr := d.end(ctx, s.ID); err == nil {
		err = endErr
	}
	g.total, g.err = time.Since(begun), err
	return g
}

func (d *demo) timings(name string, guests []guest, of func(guest) time.Duration) {
	times := make([]time.Duration, len(guests))
	for i, g := range guests {
		times[i] = of(g)
	}
	slices.Sort(times)
	d.answer(fmt.Sprintf("%-16s first %8s   median %8s   last %8s", name, ms(times[0]), ms(times[len(times)/2]), ms(times[len(times)-1])))
}

// finish ends the session and the server, and looks for anything left.
func (d *demo) finish(ctx context.Context, before inventory) error {
	d.heading("And nothing is left")
	d.request("curl -X DELETE " + d.base + "/api/v1/sessions/" + d.session.ID)
	s, err := d.end(ctx, d.session.ID)
	if err != nil {
		return err
	}
	d.answer(compact(object{"id": s.ID, "state": s.State, "reason": s.Reason}))
	if err := d.server.Stop(); err != nil {
		return err
	}
	left, err := d.leftovers(before)
	if err != nil {
		return err
	}
	for _, kind := range []string{"processes", "mounts", "cgroups"} {
		d.answer(fmt.Sprintf("%-10s %d left", kind, len(left[kind])))
	}
	for kind, items := range left {
		if len(items) > 0 {
			return fmt.Errorf("these %s are left:\n%s", kind, strings.Join(items, "\n"))
		}
	}
	d.proved("no process, mount or cgroup of Yurt is on this machine that was not before")
	d.line("")
	d.line("   " + d.paint(bold, fmt.Sprintf("Done in %.0f s.", time.Since(d.begun).Seconds())) + " Your turn:")
	d.line("     bin/yurt dev                              the same server, on http://127.0.0.1:8700/docs")
	d.line("     bin/yurt run handler.py --event '{}'      a file of yours, with no server at all")
	d.line("     bin/yurt doctor                           what this machine can isolate, and what it cannot")
	d.line("")
	return nil
}

// leftovers compares the machine with how it was. Processes that were killed take a
// moment to be gone, so it looks again for up to two seconds.
func (d *demo) leftovers(before inventory) (map[string][]string, error) {
	for deadline := time.Now().Add(2 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		now, err := takeInventory(d.stateDir)
		if err != nil {
			return nil, err
		}
		left := now.since(before)
		if len(left["processes"])+len(left["mounts"])+len(left["cgroups"]) == 0 || time.Now().After(deadline) {
			return left, nil
		}
	}
}
