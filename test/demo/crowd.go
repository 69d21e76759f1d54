package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/yurtrun/yurt/test/leftovers"
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
func (d *demo) finish(ctx context.Context) error {
	d.heading("And nothing is left")
	during, err := leftovers.Of(d.stateDir)
	if err != nil {
		return err
	}
	if err := want(len(during.Processes) > 1 && len(during.Cgroups) > 0, "the running server was not found, so nothing could be said of what it leaves"); err != nil {
		return err
	}
	d.request("curl -X DELETE " + d.short("/api/v1/sessions/"+d.session.ID))
	s, err := d.end(ctx, d.session.ID)
	if err != nil {
		return err
	}
	d.answer(compact(object{"id": s.ID, "state": s.State, "reason": s.Reason}))
	d.request(fmt.Sprintf("kill -INT %d", d.server.PID()))
	if err := d.server.Stop(); err != nil {
		return err
	}
	left, err := leftovers.Gone(ctx, d.stateDir, 2*time.Second)
	if err != nil {
		return err
	}
	d.answer(fmt.Sprintf("%-12s %8s %8s", "", "before", "after"))
	d.answer(fmt.Sprintf("%-12s %8d %8d", "processes", len(during.Processes), len(left.Processes)))
	d.answer(fmt.Sprintf("%-12s %8d %8d", "cgroups", len(during.Cgroups), len(left.Cgroups)))
	d.answer(fmt.Sprintf("%-12s %8d %8d", "directories", len(during.Directories), len(left.Directories)))
	d.answer(fmt.Sprintf("%-12s %8d %8d", "mounts", len(during.Mounts), len(left.Mounts)))
	if err := want(left.Count() == 0, "this is left:\n%s", left); err != nil {
		return err
	}
	d.proved("the machine is as it was")
	d.farewell()
	return nil
}

func (d *demo) farewell() {
	d.line("")
	d.line("   " + d.paint(bold, fmt.Sprintf("Done in %.0f s.", time.Since(d.begun).Seconds())) + " Your turn:")
	d.line("     bin/yurt dev                              the same server, on http://127.0.0.1:8700/docs")
	d.line("     bin/yurt run handler.py --event '{}'      a file of yours, with no server at all")
	d.line("     bin/yurt doctor                           what this machine can isolate, and what it cannot")
	d.line("")
}
