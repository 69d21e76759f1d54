//go:build linux && cgo && seccomp

package libcontainer

import (
	"errors"
	"os"
	"sync"

	"github.com/yurtrun/yurt/executor/launch"
)

// birth holds the tasks files of the cgroups, on cgroup v1, in which a sandbox is born.
type birth struct {
	births, homes []*os.File
	aborted       bool // the executor will not send one
}

func (b birth) close() {
	closeAll(b.births)
	closeAll(b.homes)
}

func closeAll(files []*os.File) {
	for _, f := range files {
		f.Close()
	}
}

func unpackBirth(req *launch.BirthRequest, files []*os.File) (birth, error) {
	if req.Births < 0 || req.Homes < 0 || len(files) != req.Births+req.Homes {
		closeAll(files)
		return birth{aborted: true}, errors.New("the cgroups of a request are not complete")
	}
	return birth{births: files[:req.Births], homes: files[req.Births:], aborted: req.Aborted}, nil
}

// births are the sandboxes that wait for their cgroups, by the ID of the request.
type births struct {
	mu      sync.Mutex
	waiting map[uint64]chan birth
}

func newBirths() *births { return &births{waiting: make(map[uint64]chan birth)} }

// expect returns where the birth of the request comes.
func (b *births) expect(id uint64) <-chan birth {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waiting[id] = make(chan birth, 1)
	return b.waiting[id]
}

// deliver hands over the birth, or closes it if its sandbox has failed already.
func (b *births) deliver(id uint64, born birth) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if ch := b.waiting[id]; ch != nil {
		delete(b.waiting, id)
		ch <- born
		return
	}
	born.close()
}

// done ends the wait for the birth: it is closed when it comes.
func (b *births) done(id uint64, ch <-chan birth) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.waiting, id)
	select {
	case born := <-ch:
		born.close()
	default:
	}
}
