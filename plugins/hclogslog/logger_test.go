package hclogslog_test

import (
	"bytes"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/yurtrun/yurt/plugins/hclogslog"
)

// logged returns the lines that use writes, with the time left out.
func logged(t *testing.T, least slog.Level, use func(hclog.Logger)) string {
	t.Helper()
	var buf bytes.Buffer
	handler := slog.NewTextHandler(&buf, &slog.HandlerOptions{
		Level: least,
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		},
	})
	use(hclogslog.New(slog.New(handler)))
	return buf.String()
}

func TestLogger(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		least slog.Level
		use   func(hclog.Logger)
		want  []string
	}{
		"levels": {hclogslog.LevelTrace, func(l hclog.Logger) {
			l.Trace("a")
			l.Debug("b")
			l.Info("c")
			l.Warn("d")
			l.Error("e")
			l.Log(hclog.NoLevel, "f")
			l.Log(hclog.Off, "g")
		}, []string{"level=DEBUG-4 msg=a", "level=DEBUG msg=b", "level=INFO msg=c", "level=WARN msg=d", "level=ERROR msg=e", "level=INFO msg=f"}},
		"hidden by the handler": {slog.LevelWarn, func(l hclog.Logger) {
			l.Info("a")
			l.Warn("b")
		}, []string{"level=WARN msg=b"}},
		"hidden by SetLevel": {slog.LevelDebug, func(l hclog.Logger) {
			child := l.Named("child")
			l.SetLevel(hclog.Error)
			child.Warn("a")
			child.Error("b")
		}, []string{"level=ERROR msg=b logger=child"}},
		"arguments": {slog.LevelInfo, func(l hclog.Logger) {
			l.Info("a", "n", 1, "s", "x y", 7, "number as key")
			l.Info("b", "alone")
			l.Info("c", "f", hclog.Fmt("%d-%s", 1, "z"), "h", hclog.Hex(255), "o", hclog.Octal(8), "b", hclog.Binary(5), "q", hclog.Quote("\n"), "e", hclog.Format{})
		}, []string{
			`level=INFO msg=a n=1 s="x y" 7="number as key"`, "level=INFO msg=b EXTRA_VALUE_AT_END=alone",
			`level=INFO msg=c f=1-z h=0xff o=010 b=0b101 q="\"\\n\"" e=""`,
		}},
		"names and implied arguments": {slog.LevelInfo, func(l hclog.Logger) {
			named := l.Named("a").Named("b").With("k", "v")
			named.Info("x", "m", 1)
			named.ResetNamed("c").Info("y")
			named.With("l", 2).Info("z")
			l.Info("w")
		}, []string{"level=INFO msg=x logger=a.b k=v m=1", "level=INFO msg=y logger=c k=v", "level=INFO msg=z logger=a.b k=v l=2", "level=INFO msg=w"}},
		"standard logger": {slog.LevelInfo, func(l hclog.Logger) {
			l.StandardLogger(nil).Println("[WARN] as it is")
			infer := l.StandardLogger(&hclog.StandardLoggerOptions{InferLevels: true})
			infer.Println("[WARN] warning")
			infer.Println("[ERR] error")
			infer.Println("no level")
			_, _ = io.WriteString(l.StandardWriter(&hclog.StandardLoggerOptions{ForceLevel: hclog.Error}), "[INFO] forced\n")
			stamped := l.StandardWriter(&hclog.StandardLoggerOptions{InferLevels: true, InferLevelsWithTimestamp: true})
			_, _ = io.WriteString(stamped, "2024/05/06 07:08:09 [WARN] stamped\n")
			_, _ = io.WriteString(stamped, "not a time [WARN] kept\n")
		}, []string{
			`level=INFO msg="[WARN] as it is"`, "level=WARN msg=warning", "level=ERROR msg=error", `level=INFO msg="no level"`,
			"level=ERROR msg=forced", "level=WARN msg=stamped", `level=INFO msg="not a time [WARN] kept"`,
		}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, want := logged(t, tt.least, tt.use), strings.Join(tt.want, "\n")+"\n"; got != want {
				t.Errorf("got\n%swant\n%s", got, want)
			}
		})
	}
}

func TestLevels(t *testing.T) {
	t.Parallel()
	l := hclogslog.New(slog.New(slog.NewTextHandler(new(bytes.Buffer), &slog.HandlerOptions{Level: slog.LevelInfo})))
	if l.IsTrace() || l.IsDebug() || !l.IsInfo() || !l.IsWarn() || !l.IsError() || l.GetLevel() != hclog.Info {
		t.Errorf("level %s", l.GetLevel())
	}
	l.SetLevel(hclog.Off)
	if l.IsError() || l.GetLevel() != hclog.Off {
		t.Errorf("level %s after Off", l.GetLevel())
	}
	if off := hclogslog.New(slog.New(slog.DiscardHandler)); off.GetLevel() != hclog.Off {
		t.Errorf("level %s of a handler that takes nothing", off.GetLevel())
	}
	if args := l.With("a", 1).ImpliedArgs(); len(args) != 2 || l.Named("n").Name() != "n" {
		t.Errorf("implied %v", args)
	}
}
