package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// bench is a row to be measured.
type bench struct {
	name    string
	n       int           // measured rounds
	pause   time.Duration // before each operation
	prepare func(*place) ([]contender, error)
	measure func(p *place, n int) (Row, error) // instead of prepare, for rows that are no duration
	goal    goal
}

// goal is the limit that a row has to meet.
type goal struct {
	text string
	met  func(Row) bool
}

// contender does the row's operation in its own way. The first is ours. The functions before and
// after it are not measured.
type contender struct {
	name              string
	do, before, after func() error
}

// once does the operation and returns how long it took, in milliseconds.
func (c contender) once() (float64, error) {
	if c.before != nil {
		if err := c.before(); err != nil {
			return 0, err
		}
	}
	began := time.Now()
	err := c.do()
	took := millis(time.Since(began))
	if err == nil && c.after != nil {
		err = c.after()
	}
	return took, err
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// place is where a row is measured, and the functions that clean up after it.
type place struct {
	ctx      context.Context
	bin, dir string
	runDir   string // in memory
	cleanups []func() error

	mu     sync.Mutex
	phases map[string][]float64 // of our operations
}

// note keeps the phases of an operation of ours.
func (p *place) note(phases map[string]float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.phases == nil {
		p.phases = make(map[string][]float64)
	}
	for name, took := range phases {
		p.phases[name] = append(p.phases[name], took)
	}
}

// medians returns the median of each phase.
func (p *place) medians() map[string]float64 {
	medians := make(map[string]float64, len(p.phases))
	for name, took := range p.phases {
		medians[name] = quantile(took, 0.5)
	}
	return medians
}

func (p *place) cleanup(do func() error) { p.cleanups = append(p.cleanups, do) }

func (p *place) clean() error {
	for _, do := range slices.Backward(p.cleanups) {
		if err := do(); err != nil {
			return fmt.Errorf("cleaning up: %w", err)
		}
	}
	return nil
}

// Row is a measurement, as it is written to the file.
type Row struct {
	Name   string             `json:"name"`
	P50    float64            `json:"p50_ms,omitempty"`
	P99    float64            `json:"p99_ms,omitempty"`
	Value  float64            `json:"value,omitempty"` // of a row that is no duration, in its unit
	Unit   string             `json:"unit"`
	N      int                `json:"n"`
	Growth float64            `json:"growth,omitempty"` // the median of the last creates over that of the first
	Peers  map[string]Peer    `json:"peers,omitempty"`
	Phases map[string]float64 `json:"phases_ms,omitempty"` // median of each
	Goal   string             `json:"goal,omitempty"`
	Met    bool               `json:"met"`
}

// Peer is how another did in the same run. Ratio is how many times faster we are.
type Peer struct {
	P50   float64 `json:"p50_ms,omitempty"`
	P99   float64 `json:"p99_ms,omitempty"`
	Value float64 `json:"value,omitempty"`
	Ratio float64 `json:"ratio,omitempty"`
}

// warmup is how many rounds are not counted.
const warmup = 3

// measure lets the contenders take turns.
func measure(ctx context.Context, b bench, contenders []contender) (Row, error) {
	progress := mpb.NewWithContext(ctx, mpb.WithOutput(os.Stderr), mpb.WithWidth(40))
	bar := progress.AddBar(int64(b.n+warmup), mpb.PrependDecorators(decor.Name(fmt.Sprintf("%-20s", b.name))), mpb.AppendDecorators(decor.CountersNoUnit("%d/%d")))
	took := make([][]float64, len(contenders))
	for round := range b.n + warmup {
		for i, c := range contenders {
			select {
			case <-ctx.Done():
				return Row{}, ctx.Err()
			case <-time.After(b.pause):
			}
			ms, err := c.once()
			if err != nil {
				bar.Abort(true)
				progress.Wait()
				return Row{}, fmt.Errorf("%s: %w", c.name, err)
			}
			if round >= warmup {
				took[i] = append(took[i], ms)
			}
		}
		bar.Increment()
	}
	progress.Wait()
	return summarise(b, contenders, took), nil
}

func summarise(b bench, contenders []contender, took [][]float64) Row {
	row := Row{N: b.n, Unit: "ms", P50: quantile(took[0], 0.5), P99: quantile(took[0], 0.99), Peers: make(map[string]Peer)}
	for i, c := range contenders[1:] {
		p50 := quantile(took[i+1], 0.5)
		row.Peers[c.name] = Peer{P50: p50, P99: quantile(took[i+1], 0.99), Ratio: p50 / row.P50}
	}
	return row
}

// quantile returns the smallest value that at least q of all do not exceed.
func quantile(values []float64, q float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}
