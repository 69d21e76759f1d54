// Package wakeful keeps the processors of the host from sleeping while somebody waits for an
// answer. An answer takes threads that wake each other up, dozens of times for a new sandbox.
// Between them a processor has nothing to do and sleeps, from which it wakes up in a tenth of a
// millisecond: on a virtual machine since that goes through the hypervisor, elsewhere as deep as it
// sleeps.
//
// The kernel is asked by its PM QoS (Documentation/admin-guide/pm/cpuidle.rst) to have processors
// wait in a loop instead. That takes power, and of a virtual machine's host the time, which is why
// it is for moments alone.
package wakeful

import (
	"encoding/binary"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// Device is where the kernel takes from each who has it open how many microseconds processors may
// take to wake up.
const Device = "/dev/cpu_dma_latency"

// What is written to it, as 32 bits.
const (
	awake    = 0
	asItDoes = 0xffffffff // -1: the kernel's own default
)

// Processors are those of the host. Methods may be called concurrently, and do nothing on nil.
type Processors struct {
	limit  time.Duration
	logger *slog.Logger

	mu    sync.Mutex
	file  *os.File // nil once it is closed
	holds int
}

// Open returns the processors, which nobody who waits keeps awake for longer than limit.
func Open(limit time.Duration, logger *slog.Logger) (*Processors, error) {
	file, err := os.OpenFile(Device, os.O_WRONLY, 0)
	if err != nil {
		return nil, fmt.Errorf("keeping processors awake: %w", err)
	}
	return &Processors{limit: limit, logger: logger, file: file}, nil
}

// Hold keeps the processors awake until a moment after release is called, in which the answer
// reaches who waits for it, and at most for the limit.
func (p *Processors) Hold() (release func()) {
	if p == nil {
		return func() {}
	}
	p.add(1)
	end := time.AfterFunc(p.limit, func() { p.add(-1) })
	return func() {
		if end.Stop() {
			end.Reset(linger)
		}
	}
}

// linger is how long an answer may take to who waits for it.
const linger = time.Millisecond

// add counts those who wait, and tells the kernel when there is a first, and none any more.
func (p *Processors) add(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.holds
	p.holds += n
	switch {
	case before == 0:
		p.ask(awake)
	case p.holds == 0:
		p.ask(asItDoes)
	}
}

func (p *Processors) ask(latency uint32) {
	if p.file == nil {
		return
	}
	if _, err := p.file.Write(binary.NativeEndian.AppendUint32(nil, latency)); err != nil {
		p.logger.Warn("processors are not kept awake", "error", err)
	}
}

// Close lets them sleep, whoever waits.
func (p *Processors) Close() error {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	file := p.file
	p.file = nil
	if file == nil {
		return nil
	}
	return file.Close()
}
