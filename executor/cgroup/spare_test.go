package cgroup

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// TestPreparedLeafIsNew: a leaf that was made ahead is like any other, is used
// once only, and goes with its group.
func TestPreparedLeafIsNew(t *testing.T) {
	m := onV1(t)
	g := createV1(t, m, "prepared", Limits{CPU: 1, Memory: 64 << 20, PIDs: 16})
	names := []string{"first", "second", "third"}
	for _, name := range names {
		if err := g.Prepare(); err != nil {
			t.Fatal(err)
		}
		leaf, err := newLeaf(g, name)
		if err != nil {
			t.Fatal(err)
		}
		meter, err := leaf.Meter()
		if err != nil {
			t.Fatal(err)
		}
		if usage, err := meter.Usage(); err != nil || usage.CPU != 0 {
			t.Errorf("%s, before anything ran in it: %+v %v", name, usage, err)
		}
		runIn(t, g, name)
		usage, err := meter.Usage()
		if err != nil || usage.CPU <= 0 || usage.MemoryPeak <= 0 {
			t.Errorf("%s: %+v %v", name, usage, err)
		}
		// The name alone finds the leaf, as do the files that were opened before it had the name.
		if again, err := usageOf(g.leaf(name)); err != nil || again != usage {
			t.Errorf("%s: %+v and %+v %v", name, usage, again, err)
		}
		if err := leaf.Remove(); err != nil {
			t.Error(err)
		}
		if usage, err := meter.Usage(); err == nil {
			t.Errorf("%s, removed: %+v", name, usage)
		}
		meter.Close()
	}
	// That a former executor left one is no error.
	if err := g.Prepare(); err != nil {
		t.Fatal(err)
	}
	g.Close()
	next := m.Open("prepared")
	if err := next.Prepare(); err != nil {
		t.Fatal(err)
	}
	leaf, err := newLeaf(next, "fourth")
	if err != nil {
		t.Fatal(err)
	}
	if usage, err := usageOf(leaf); err != nil || usage.CPU != 0 {
		t.Errorf("before anything ran in it: %+v %v", usage, err)
	}
	left, err := subdirs(g.dir["freezer"] + "/runs")
	if err != nil || len(left) != 1 || !strings.HasSuffix(left[0], "/fourth") {
		t.Errorf("there are %v %v", left, err)
	}
}

// runIn runs a command in the leaf of that name.
func runIn(t *testing.T, g *groupV1, name string) {
	t.Helper()
	line := ""
	for _, dir := range g.leaf(name).dirs {
		line += "echo 0 > " + dir + "/tasks\n"
	}
	if out, err := exec.Command("/bin/sh", "-c", line+"true").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// TestPreparedLeafIsOpen: a run enters the leaf and reads its usage through the files that were opened ahead; all of
// them that are not handed out are closed with the leaf, with its group, or when it is removed.
func TestPreparedLeafIsOpen(t *testing.T) {
	g := createV1(t, onV1(t), "open", Limits{CPU: 1, Memory: 64 << 20, PIDs: 16})
	before := openFiles(t, g)
	ends := map[string]func(Leaf){
		"closed":  Leaf.Close,
		"removed": func(l Leaf) { _ = l.Remove() },
		"used": func(l Leaf) {
			files, err := l.Files()
			if err != nil || len(files) != len(g.leafDirs) {
				t.Errorf("%d files, %v", len(files), err)
			}
			closeAll(files)
			meter, err := l.Meter()
			if err != nil {
				t.Error(err)
			}
			l.Close()
			if _, err := meter.Usage(); err != nil {
				t.Errorf("the meter was closed with its leaf: %v", err)
			}
			meter.Close()
		},
		"destroyed": nil,
	}
	for name, end := range ends {
		if err := g.Prepare(); err != nil {
			t.Fatal(err)
		}
		if opened := openFiles(t, g) - before; opened != len(g.leafDirs)+meters {
			t.Errorf("%s: %d files were opened", name, opened)
		}
		if end == nil {
			g.Close()
		} else {
			leaf, err := newLeaf(g, name)
			if err != nil {
				t.Fatal(err)
			}
			if opened := openFiles(t, g) - before; opened != len(g.leafDirs)+meters {
				t.Errorf("%s: %d files are open once it is taken", name, opened)
			}
			end(leaf)
		}
		if left := openFiles(t, g) - before; left != 0 {
			t.Errorf("%s: %d files are left open", name, left)
		}
	}
}

// TestMeterStaysOpen: the files that Usage reads are opened once, and closed with the meter.
func TestMeterStaysOpen(t *testing.T) {
	g := createV1(t, onV1(t), "kept", modest())
	if _, err := newLeaf(g, "run"); err != nil {
		t.Fatal(err)
	}
	before := openFiles(t, g)
	meter, err := g.leaf("run").Meter() // as an executor that finds the leaf
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := meter.Usage(); err != nil {
			t.Fatal(err)
		}
		if opened := openFiles(t, g) - before; opened != meters {
			t.Errorf("%d files are open", opened)
		}
	}
	meter.Close()
	meter.Close()
	if _, err := meter.Usage(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("a closed meter gives %v", err)
	}
	if left := openFiles(t, g) - before; left != 0 {
		t.Errorf("%d files are left open", left)
	}
}

// TestAlone: a process is alone that has neither another beside it nor a second thread.
func TestAlone(t *testing.T) {
	g := createV1(t, onV1(t), "alone", modest())
	leaf, err := newLeaf(g, "run")
	if err != nil {
		t.Fatal(err)
	}
	want := func(when string, want bool) {
		t.Helper()
		if alone, err := g.Alone("run"); alone != want || err != nil {
			t.Errorf("%s: %t, %v", when, alone, err)
		}
	}
	want("nobody is there", false)
	one := sleepIn(t, leaf)
	want("one is", true)
	two := sleepIn(t, leaf)
	want("two are", false)
	for _, cmd := range []*exec.Cmd{one, two} {
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
	}
	threads := "import threading, time; threading.Thread(target=time.sleep, args=(60,)).start(); print('in', flush=True)"
	cmd := staysIn(t, leaf, `exec /usr/bin/python3 -c "`+threads+`"`)
	want("one with two threads is", false)
	if n, err := g.Count("run"); n != 1 || err != nil {
		t.Errorf("%d processes are in it, %v", n, err)
	}
	killed(t, leaf, cmd)
}

// sleepIn starts a process in the leaf, by the files that are for that, which ends with the test.
func sleepIn(t *testing.T, leaf Leaf) *exec.Cmd {
	t.Helper()
	return staysIn(t, leaf, "echo in; exec sleep 60")
}

// staysIn is sleepIn for a process that says when it is there.
func staysIn(t *testing.T, leaf Leaf, command string) *exec.Cmd {
	t.Helper()
	files, err := leaf.Files()
	if err != nil {
		t.Fatal(err)
	}
	defer closeAll(files)
	line := ""
	for i := range files {
		line += "echo 0 >&" + strconv.Itoa(3+i) + "; "
	}
	cmd := exec.Command("/bin/sh", "-c", line+command)
	cmd.ExtraFiles = files
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	if _, err := out.Read(make([]byte, 3)); err != nil {
		t.Fatal(err)
	}
	return cmd
}

// newLeaf makes a leaf that has its name.
func newLeaf(g Leaves, name string) (Leaf, error) {
	leaf, err := g.TakeLeaf(name)
	if err != nil {
		return nil, err
	}
	if err := leaf.Name(); err != nil {
		return nil, errors.Join(err, leaf.Remove())
	}
	return leaf, nil
}

// usageOf reads the usage of a leaf once.
func usageOf(leaf Leaf) (Usage, error) {
	meter, err := leaf.Meter()
	if err != nil {
		return Usage{}, err
	}
	defer meter.Close()
	return meter.Usage()
}

// countIn counts the processes in a leaf, whichever name it has.
func countIn(leaf Leaf) (int, error) {
	if l, ok := leaf.(*leafV1); ok {
		return count(l.freezer)
	}
	return count(leaf.(*leafV2).dir)
}

// killed fails the test unless the process of the leaf is ended by Kill.
func killed(t *testing.T, leaf Leaf, cmd *exec.Cmd) {
	t.Helper()
	if n, err := countIn(leaf); n != 1 || err != nil {
		t.Fatalf("%d processes are in it, %v", n, err)
	}
	ended := make(chan struct{})
	go func() { // or it stays in the leaf
		defer close(ended)
		_ = cmd.Wait()
	}()
	if err := leaf.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-ended
}

// TestTakenLeafHasItsNameLater: before the leaf has its name, no other run can take it, and its processes can be
// killed. A process in it is found there under either name.
func TestTakenLeafHasItsNameLater(t *testing.T) {
	g := createV1(t, onV1(t), "taken", Limits{CPU: 1, Memory: 64 << 20, PIDs: 16})
	for _, named := range []bool{false, true} {
		if err := g.Prepare(); err != nil {
			t.Fatal(err)
		}
		leaf, err := g.TakeLeaf("late")
		if err != nil {
			t.Fatal(err)
		}
		cmd := sleepIn(t, leaf)
		if err := g.Prepare(); err != nil {
			t.Fatal(err)
		}
		other, err := g.TakeLeaf("other")
		if err != nil {
			t.Fatal(err)
		}
		if n, err := countIn(other); n != 0 || err != nil {
			t.Errorf("the next run has %d processes of this one, %v", n, err)
		}
		if err := other.Remove(); err != nil {
			t.Error(err)
		}
		if named {
			if err := errors.Join(leaf.Name(), leaf.Name()); err != nil {
				t.Fatal(err)
			}
			leaf = g.leaf("late")
		}
		killed(t, leaf, cmd)
		if err := leaf.Remove(); err != nil {
			t.Error(err)
		}
	}
	if left, err := subdirs(g.dir["freezer"] + "/runs"); err != nil || len(left) != 0 {
		t.Errorf("there are %v %v", left, err)
	}
}

// TestReclaim: a run keeps its leaf when its executor was killed before the leaf had its name in all hierarchies. The
// next executor completes the name, and makes no other spare until then.
func TestReclaim(t *testing.T) {
	m := onV1(t)
	g := createV1(t, m, "reclaim", Limits{CPU: 1, Memory: 64 << 20, PIDs: 16})
	for named := range g.leafDirs {
		before := m.Open("reclaim").(*groupV1)
		if err := before.Prepare(); err != nil {
			t.Fatal(err)
		}
		leaf, err := before.TakeLeaf("run")
		if err != nil {
			t.Fatal(err)
		}
		cmd := sleepIn(t, leaf)
		for i := range named {
			if err := os.Rename(g.leaf(spareName).dirs[i], g.leaf("run").dirs[i]); err != nil {
				t.Fatal(err)
			}
		}
		leaf.Close()
		next := m.Open("reclaim")
		if err := next.Prepare(); !errors.Is(err, ErrBusy) {
			t.Errorf("with a run in it, making another gave %v", err)
		}
		if err := next.Reclaim("run"); err != nil {
			t.Fatal(err)
		}
		found, err := next.Find("run")
		if err != nil {
			t.Fatal(err)
		}
		killed(t, found, cmd)
		if err := errors.Join(found.Remove(), next.Prepare()); err != nil {
			t.Error(err)
		}
		if err := next.Reclaim("gone"); err != nil { // takes no leaf of this executor
			t.Error(err)
		}
		after, err := newLeaf(next, "after")
		if err != nil {
			t.Fatal(err)
		}
		if err := after.Remove(); err != nil {
			t.Error(err)
		}
		next.Close()
	}
}

// openFiles counts this process's open files of the group.
func openFiles(t *testing.T, g *groupV1) (count int) {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		target, err := os.Readlink("/proc/self/fd/" + entry.Name())
		if err == nil && slices.ContainsFunc(g.leafDirs, func(dir string) bool { return strings.HasPrefix(target, dir+"/") }) {
			count++
		}
	}
	return count
}

// TestPreparedLeafIsWhole: when a part of the spare leaf is gone, a run gets an error and the next one a leaf.
func TestPreparedLeafIsWhole(t *testing.T) {
	g := createV1(t, onV1(t), "whole", Limits{CPU: 1, Memory: 64 << 20, PIDs: 16})
	if err := g.Prepare(); err != nil {
		t.Fatal(err)
	}
	spare := g.leaf(spareName)
	if err := os.Remove(spare.dirs[len(spare.dirs)-1]); err != nil {
		t.Fatal(err)
	}
	if _, err := newLeaf(g, "unlucky"); err == nil {
		t.Error("it is made of less than all directories")
	}
	if _, err := newLeaf(g, "unlucky"); err != nil {
		t.Errorf("the next one: %v", err)
	}
}

// A run may end while its sandbox is destroyed.
func TestGroupIsDestroyedWhileALeafIsPrepared(t *testing.T) {
	m := onV1(t)
	for i := range 50 {
		g := createV1(t, m, "ending-"+strconv.Itoa(i), Limits{CPU: 1, Memory: 64 << 20, PIDs: 16})
		var preparing sync.WaitGroup
		preparing.Go(func() { _ = g.Prepare() }) // an error once it is gone
		err := g.Destroy(t.Context())
		preparing.Wait()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(g.dir["memory"]); !errors.Is(err, os.ErrNotExist) {
			t.Fatalf("it is there still: %v", err)
		}
	}
}
