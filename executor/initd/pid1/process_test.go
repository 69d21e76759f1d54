package pid1

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/yurtrun/yurt/executor/initd"
)

// TestKeptOutputProperty compares a process's kept output with a plain list, under any sequence of additions,
// acknowledgements and reads.
func TestKeptOutputProperty(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := testProcess(t)
		var added []string // chunk n is added[n-1]
		acked, size := 0, 0
		rt.Repeat(map[string]func(*rapid.T){
			"add": func(rt *rapid.T) {
				if size >= maxUnacked {
					rt.Skip("it would wait, as TestAddWaitsForRoom tests")
				}
				text := rapid.StringN(1, 100, 1000).Draw(rt, "text")
				p.add(initd.Stdout, []byte(text))
				added = append(added, text)
				size += initd.Chunk{Data: []byte(text)}.Cost()
			},
			"ack": func(rt *rapid.T) {
				to := rapid.IntRange(0, len(added)+2).Draw(rt, "to")
				p.ack(uint64(to))
				for acked < min(to, len(added)) {
					size -= initd.Chunk{Data: []byte(added[acked])}.Cost()
					acked++
				}
			},
			"wait": func(rt *rapid.T) {
				after := rapid.IntRange(acked, len(added)+2).Draw(rt, "after")
				asked := false
				chunks, exit := p.wait(uint64(after), func() bool { was := asked; asked = true; return was || after >= len(added) })
				if exit != nil {
					rt.Fatalf("it has not ended, and says %+v", exit)
				}
				if want := max(0, len(added)-after); len(chunks) != want {
					rt.Fatalf("after %d of %d came %d chunks", after, len(added), len(chunks))
				}
				for i, c := range chunks {
					if c.Seq != uint64(after+i+1) || string(c.Data) != added[after+i] {
						rt.Fatalf("chunk %d is %d, %q", after+i+1, c.Seq, c.Data)
					}
				}
			},
			"": func(rt *rapid.T) {
				if p.size != size || len(p.chunks) != len(added)-acked {
					rt.Fatalf("it keeps %d bytes in %d chunks, want %d in %d", p.size, len(p.chunks), size, len(added)-acked)
				}
			},
		})
	})
}

// TestExitComesAfterAllOutput has the end known before the output is read.
func TestExitComesAfterAllOutput(t *testing.T) {
	p := testProcess(t)
	for i := range 10 {
		p.add(initd.Stdout, fmt.Append(nil, i))
	}
	end(p)
	if got := joined(collect(p)); string(got) != "0123456789" {
		t.Errorf("got %q", got)
	}
}

func TestAddWaitsForRoom(t *testing.T) {
	for name, free := range map[string]func(*process){
		"until the host acknowledges": func(p *process) { p.ack(1) },
		"until it is released":        (*process).release,
	} {
		t.Run(name, func(t *testing.T) {
			p := testProcess(t)
			half := bytes.Repeat([]byte("x"), maxUnacked/2)
			p.add(initd.Stdout, half)
			p.add(initd.Stdout, half)
			added := make(chan struct{})
			go func() {
				defer close(added)
				p.add(initd.Stdout, half)
			}()
			select {
			case <-added:
				t.Error("it took more than it may keep")
			case <-time.After(50 * time.Millisecond):
			}
			free(p)
			select {
			case <-added:
			case <-time.After(10 * time.Second):
				t.Fatal("it goes on waiting")
			}
			p.mu.Lock()
			defer p.mu.Unlock()
			if p.size > maxUnacked+2*(initd.Chunk{}).Cost() {
				t.Errorf("it keeps %d bytes", p.size)
			}
		})
	}
}

func TestWaitEnds(t *testing.T) {
	for name, stop := range map[string]func(p *process, stopped chan struct{}){
		"when told to":        func(p *process, stopped chan struct{}) { close(stopped); p.wake() },
		"when it is released": func(p *process, _ chan struct{}) { p.release() },
		"with the process":    func(p *process, _ chan struct{}) { end(p) },
	} {
		t.Run(name, func(t *testing.T) {
			p := testProcess(t)
			stopped, returned := make(chan struct{}), make(chan struct{})
			go func() {
				defer close(returned)
				p.wait(0, func() bool {
					select {
					case <-stopped:
						return true
					default:
						return false
					}
				})
			}()
			time.Sleep(10 * time.Millisecond)
			stop(p, stopped)
			select {
			case <-returned:
			case <-time.After(10 * time.Second):
				t.Fatal("it goes on waiting")
			}
		})
	}
}
