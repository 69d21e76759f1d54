// Package cpuidle keeps the processors of the host out of deep idle states while a request waits. A request
// takes threads that wake each other up, dozens of times for a new sandbox. Between these moments a processor is idle
// and sleeps. To wake it up takes a tenth of a millisecond on a virtual machine, where the hypervisor does
// it, and on other machines as long as the idle state is deep.
//
// The kernel's PM QoS (Documentation/admin-guide/pm/cpuidle.rst) has processors wait in a loop instead. That takes
// power, and the host's time where this machine is virtual. It is a setting of the whole host, so it is
// off unless an operator gives a limit.
package cpuidle

import (
	"encoding/binary"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// Device takes from each process that has it open how many microseconds processors may take to wake up.
const Device = "/dev/cpu_dma_latency"

// Values for [Device], of 32 bits.
const (
	awake         = 0
	kernelDefault = 0xffffffff // -1
)

// Processors are those of the host. Methods may be called concurrently, and have no effect on nil.
type Processors struct {
	limit  time.Duration
	logger *slog.Logger

	mu    sync.Mutex
	file  *os.File // nil once it is closed
	holds int
}

// OpenDevice opens the device, which is root's. The caller closes it.
func OpenDevice() (*os.File, error) {
	file, err := os.OpenFile(Device, os.O_WRONLY, 0)
	if err != nil {
		return nil, fmt.Errorf("keeping processors awake: %w", err)
	}
	return file, nil
}

// Reset lets processors sleep again that a process with the same device has kept awake, and that was killed.
func Reset(device *os.File) error {
	if _, err := device.Write(binary.NativeEndian.AppendUint32(nil, kernelDefault)); err != nil {
		return fmt.Errorf("letting processors sleep: %w", err)
	}
	return nil
}

// Open returns the processors with the device open, which is theirs from then on. No request keeps them awake for longer than limit.
func Open(device *os.File, limit time.Duration, logger *slog.Logger) *Processors {
	return &Processors{limit: limit, logger: logger, file: device}
}

// Hold keeps the processors awake until a millisecond after release is called, in which the answer
// reaches the client, and at most for the limit.
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

// linger is how long an answer may take to reach its client.
const linger = time.Millisecond

// add counts the requests that wait, and tells the kernel when the first one comes and the last one goes.
func (p *Processors) add(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.holds
	p.holds += n
	switch {
	case before == 0:
		p.ask(awake)
	case p.holds == 0:
		p.ask(kernelDefault)
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

// Close lets the processors sleep, also while requests wait.
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
