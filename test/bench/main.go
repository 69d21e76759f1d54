package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"syscall"

	"github.com/yurtrun/yurt/executor/rundir"
	"github.com/yurtrun/yurt/executor/sysmon"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		stop()
		os.Exit(1) //nolint:gocritic // stop was called
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 2 && args[0] == brokerCommand {
		return serveBroker(args[1])
	}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	pick := flags.String("run", ".", "regular expression of the rows to measure")
	out := flags.String("out", "bin/bench.json", "file to write the figures to")
	bin := flags.String("bin", "bin", "directory of the built programs")
	quick := flags.Bool("quick", false, "a fast look: a fifth of the rounds")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if err := sysmon.Slacken(); err != nil { // as yurt executor does
		return err
	}
	pattern, err := regexp.Compile(*pick)
	if err != nil {
		return fmt.Errorf("-run: %w", err)
	}
	rows, err := measureAll(ctx, pattern, *bin, *quick)
	if err != nil {
		return err
	}
	printTable(os.Stdout, rows)
	return writeJSON(*out, rows)
}

// measureAll measures the rows that the pattern picks, each in a place of its own.
func measureAll(ctx context.Context, pattern *regexp.Regexp, bin string, quick bool) ([]Row, error) {
	var rows []Row
	for _, bench := range slices.Concat(nodeBenches(), doorBenches(), pythonBenches(), kernelBenches(), codeBenches(), nomadBenches(), clusterBenches()) {
		if !pattern.MatchString(bench.name) {
			continue
		}
		if quick {
			bench.n /= 5
		}
		row, err := measureOne(ctx, bench, bin)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", bench.name, err)
		}
		rows = append(rows, row)
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("no row matches %q", pattern)
	}
	return rows, nil
}

func measureOne(ctx context.Context, bench bench, bin string) (row Row, err error) {
	dir, err := os.MkdirTemp("", "yurt-bench-")
	if err != nil {
		return Row{}, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	runDir, err := os.MkdirTemp(memoryDir(), "yurt-bench-")
	if err != nil {
		return Row{}, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(runDir)) }()
	place := &place{ctx: ctx, bin: bin, dir: dir, runDir: runDir}
	defer func() { err = errors.Join(err, place.clean()) }()
	if row, err = bench.in(place); err != nil {
		return Row{}, err
	}
	row.Name, row.Goal, row.Phases = bench.name, bench.goal.text, place.medians()
	row.Met = bench.goal.met == nil || bench.goal.met(row)
	return row, nil
}

// memoryDir is where runtime directories are to be, Yurt's and those of its peers: in memory,
// also in a container whose /run is not.
func memoryDir() string {
	for _, dir := range []string{rundir.Default, "/dev/shm"} {
		if rundir.InMemory(dir) {
			return dir
		}
	}
	return ""
}

// in measures the row in its place.
func (b bench) in(place *place) (Row, error) {
	if b.measure != nil {
		return b.measure(place, b.n)
	}
	contenders, err := b.prepare(place)
	if err != nil {
		return Row{}, err
	}
	return measure(place.ctx, b, contenders)
}

func writeJSON(path string, rows []Row) error {
	data, err := json.MarshalIndent(rows, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, append(data, '\n'), 0o644)
}
