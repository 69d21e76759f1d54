package sqlite_test

import (
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/access"
	"github.com/yurtrun/yurt/controller/sqlite"
)

// processor is the processor time that the process has had.
func processor(tb testing.TB) time.Duration {
	tb.Helper()
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// BenchmarkExecution measures the store's part of an execution: the read of its session, its begin and its end.
func BenchmarkExecution(b *testing.B) {
	store := open(b, filepath.Join(b.TempDir(), "yurt.db"))
	s := someSession()
	if err := store.CreateSession(b.Context(), s, yurt.Transition{To: s.State, At: s.CreatedAt}, nil); err != nil {
		b.Fatal(err)
	}
	move := func(to yurt.SessionState) func(s *yurt.Session, running int) ([]yurt.Transition, error) {
		return func(s *yurt.Session, _ int) ([]yurt.Transition, error) {
			s.ActiveAt = time.Now()
			change, err := s.Transition(to, "execution exe_0123456789abcdef started", s.ActiveAt)
			return []yurt.Transition{change}, err
		}
	}
	result := &yurt.Result{Stdout: "hello\n", Artifacts: []yurt.Artifact{}, Metrics: yurt.Metrics{Phases: map[string]float64{"plan": 0.1, "run": 1}}, StartedAt: time.Now(), EndedAt: time.Now()}
	before := processor(b)
	for b.Loop() {
		if _, err := store.Session(b.Context(), s.ID); err != nil {
			b.Fatal(err)
		}
		e := yurt.Execution{ID: yurt.NewExecutionID(), SessionID: s.ID, Kind: yurt.KindCommand, State: yurt.ExecutionRunning, CreatedAt: time.Now(), Owner: "ctl_a"}
		if _, err := store.BeginExecution(b.Context(), e, move(yurt.SessionRunning)); err != nil {
			b.Fatal(err)
		}
		if _, _, err := store.EndExecution(b.Context(), e.ID, result, move(yurt.SessionReady)); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64((processor(b)-before).Microseconds())/float64(b.N), "cpu-µs/op")
}

// BenchmarkCreate measures the store's part of a create by a tenant without quotas, and with all of them.
func BenchmarkCreate(b *testing.B) {
	many, cores, bytes := 1<<30, 1e6, yurt.Size(1<<50)
	for name, quotas := range map[string]access.Quotas{
		"free":    {},
		"bounded": {Sessions: &many, CreatesPerMinute: &many, CPU: &cores, Memory: &bytes, Disk: &bytes, Executions: &many, Storage: &bytes},
	} {
		b.Run(name, func(b *testing.B) {
			store := open(b, filepath.Join(b.TempDir(), "yurt.db"))
			if name == "bounded" {
				if err := sqlite.Quotas(store).SetQuotas(b.Context(), "acme", quotas); err != nil {
					b.Fatal(err)
				}
			}
			before := processor(b)
			for b.Loop() {
				s := someSession()
				s.ID, s.Tenant, s.CreatedAt = yurt.NewSessionID(), "acme", time.Now()
				if err := store.CreateSession(b.Context(), s, yurt.Transition{To: s.State, At: s.CreatedAt}, nil); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64((processor(b)-before).Microseconds())/float64(b.N), "cpu-µs/op")
		})
	}
}
