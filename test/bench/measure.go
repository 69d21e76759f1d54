package main

import (
	"context"
	"fmt"
	"os"
	"slices"
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
}

// contender does the row's operation in its own way. The first is ours.
type contender struct {
	name string
	do   func() error
}

// place is where a row is measured, and what is to be undone after it.
type place struct {
	ctx      context.Context
	bin, dir string
	cleanups []func() error
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

// Row is what was measured, as it is written to the file.
type Row struct {
	Name  string          `json:"name"`
	P50   float64         `json:"p50_ms"`
	P99   float64         `json:"p99_ms"`
	N     int             `json:"n"`
	Unit  string          `json:"unit"`
	Peers map[string]Peer `json:"peers"`
}

// Peer is how another did in the same run. Ratio is its median over ours: above 1
// we are faster.
type Peer struct {
	P50   float64 `json:"p50_ms"`
	P99   float64 `json:"p99_ms"`
	Ratio float64 `json:"ratio"`
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
			began := time.Now()
			if err := c.do(); err != nil {
				bar.Abort(true)
				progress.Wait()
				return Row{}, fmt.Errorf("%s: %w", c.name, err)
			}
			if round >= warmup {
				took[i] = append(took[i], float64(time.Since(began))/float64(time.Millisecond))
			}
		}
		bar.Increment()
	}
	progress.Wait()
	return summarise(b, contenders, took), nil
}

func summarise(b bench, contenders []contender, took [][]float64) Row {
	row := Row{Name: b.name, N: b.n, Unit: "ms", P50: quantile(took[0], 0.5), P99: quantile(took[0], 0.99), Peers: make(map[string]Peer)}
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
