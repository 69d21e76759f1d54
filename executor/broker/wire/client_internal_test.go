package wire

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/broker"
	"github.com/yurtrun/yurt/executor/failure"
	"github.com/yurtrun/yurt/executor/idrange"
	"github.com/yurtrun/yurt/executor/rootfs"
	"github.com/yurtrun/yurt/internal/linux/descriptor"
	"github.com/yurtrun/yurt/internal/linux/packet"
)

// TestAnswersThatNoBrokerGives: the client returns an error, and keeps no descriptor.
func TestAnswersThatNoBrokerGives(t *testing.T) {
	for name, hostile := range map[string]struct {
		data  string
		files int
		lives bool // the connection
	}{
		"no JSON":              {data: "x"},
		"another number":       {data: `{"id":2}`, files: 1},
		"an unknown field":     {data: `{"id":1,"as":"root"}`, files: 1},
		"too many descriptors": {data: `{"id":1}`, files: maxFiles + 1},
		"a giant":              {data: `{"id":1,"value":"` + strings.Repeat("a", maxBytes) + `"}`, files: 1},
		"no file":              {data: `{"id":1}`, lives: true},
		"two files":            {data: `{"id":1}`, files: 2, lives: true},
		"a value":              {data: `{"id":1,"value":true}`, files: 1, lives: true},
		"an error and a file":  {data: `{"id":1,"error":{"text":"no"}}`, files: 1, lives: true},
	} {
		t.Run(name, func(t *testing.T) {
			keepsFiles(t)
			executor, host := connect(t)
			client := NewClient(executor, nil, nil)
			asked := make(chan error, 1)
			go func() {
				files, err := client.Open("sbx_a", broker.Root)
				descriptor.CloseAll(files)
				asked <- err
			}()
			if _, _, err := packet.Receive(host, make([]byte, maxBytes), 0); err != nil {
				t.Fatal(err)
			}
			if err := sendRaw(t, host, hostile.data, nulls(t, hostile.files)...); err != nil {
				t.Fatal(err)
			}
			if err := <-asked; err == nil {
				t.Error("the request succeeds")
			}
			if hostile.lives {
				select {
				case <-client.Done():
					t.Error("the connection has ended")
				default:
				}
			} else {
				<-client.Done()
			}
			client.Close()
		})
	}
}

// TestStartIsPassedWhole: a new sandbox is asked for as its caller describes it, or not at all.
func TestStartIsPassedWhole(t *testing.T) {
	keepsFiles(t)
	noted := &starts{Broker: refusing()}
	executor, _ := serve(t, noted)
	client := NewClient(executor, unread{}, nil)
	defer client.Close()
	request := broker.StartRequest{
		ID: "sbx_a", IDBase: idrange.First, Limits: yurt.Resources{CPU: 0.5, Memory: 1 << 30, Disk: 1 << 20, PIDs: 5, DiskKind: yurt.DiskImage},
		Isolation: yurt.Isolation{Level: yurt.IsolationNamespaces, PerExecution: true, SystemCalls: []string{yurt.CallsPtrace}},
		Host:      &yurt.HostAccess{Hostname: "<a&b>", Mounts: []yurt.Mount{{Source: "/ü", Target: "/b", ReadOnly: true}}, CPUs: []int{1}},
		Root:      broker.RootParts{HostPaths: []string{"/a", "/\u2028"}, Toolchains: []rootfs.Toolchain{{HostPaths: []string{"/t"}, Path: []string{"/t/bin"}}}, Image: "i", Installs: true},
	}
	started, err := client.Start(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	if started.Init.PID != 7 || started.Phases["launch"] != 1.5 {
		t.Errorf("the answer is %+v", started)
	}
	if !reflect.DeepEqual(noted.request, request) {
		t.Errorf("the broker has got %+v, want %+v", noted.request, request)
	}
	long, odd := request, request
	long.Root.Image = strings.Repeat("x", maxBytes)
	odd.Root.Image = "/\xff"
	for name, bad := range map[string]broker.StartRequest{"a request that is too long": long, "a path that is no text": odd} {
		noted.request = broker.StartRequest{}
		if _, err := client.Start(t.Context(), bad); yurt.CodeOf(err) != yurt.CodeInvalidArgument || noted.request.ID != "" {
			t.Errorf("%s: %v, want %s", name, err, yurt.CodeInvalidArgument)
		}
		if err := client.Thaw("x"); yurt.CodeOf(err) != yurt.CodeInvalidArgument {
			t.Errorf("the connection does not go on after %s: %v", name, err)
		}
	}
}

// unread is the cgroups of a test that reads no usage.
type unread struct{ Cgroups }

func (unread) GaugeOf(string) broker.Gauge { return nil }

// starts is a broker that notes the request of a start, which only a whole node carries out.
type starts struct {
	broker.Broker
	request broker.StartRequest
}

func (s *starts) Start(_ context.Context, r broker.StartRequest) (broker.Started, error) {
	s.request = r
	started := broker.Started{Phases: map[string]float64{"launch": 1.5}}
	started.Init.PID = 7
	return started, nil
}

// TestErrorsKeepTheirParts: callers see the same in an error of the broker's, whichever process it is in.
func TestErrorsKeepTheirParts(t *testing.T) {
	full := &fs.PathError{Op: "write", Path: "/state/a", Err: syscall.ENOSPC}
	for name, err := range map[string]error{
		"plain":            errors.New("no"),
		"with a code":      yurt.Errorf(yurt.CodeSandboxFailed, "starting sandbox %s: %w", "sbx_a", full),
		"with a field":     fmt.Errorf("asking: %w", yurt.FieldErrorf(yurt.CodeLimitOutOfRange, "resources.memory", "too much")),
		"of the kernel":    fmt.Errorf("making: %w", syscall.EBUSY),
		"a missing file":   fmt.Errorf("opening: %w", &fs.PathError{Op: "open", Path: "/x", Err: syscall.ENOENT}),
		"not supported":    errors.ErrUnsupported,
		"an ended context": fmt.Errorf("freezing: %w", context.DeadlineExceeded),
		"several":          errors.Join(yurt.Errorf(yurt.CodeSandboxFailed, "a"), syscall.EPERM),
	} {
		data := mustEncode(t, failure.New(err))
		var f failure.Failure
		if err := packet.Decode(data, &f); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got := f.Err()
		if got.Error() != err.Error() || yurt.CodeOf(got) != yurt.CodeOf(err) || yurt.IsField(got, "resources.memory") != yurt.IsField(err, "resources.memory") {
			t.Errorf("%s: %v with the code %s, want %v with %s", name, got, yurt.CodeOf(got), err, yurt.CodeOf(err))
		}
		for _, value := range []error{syscall.ENOSPC, syscall.EBUSY, syscall.EPERM, fs.ErrNotExist, errors.ErrUnsupported, context.Canceled, context.DeadlineExceeded} {
			if errors.Is(got, value) != errors.Is(err, value) {
				t.Errorf("%s: whether it is %v has another answer", name, value)
			}
		}
		var had, has *fs.PathError
		if errors.As(err, &had) != errors.As(got, &has) || had != nil && *has != *had {
			t.Errorf("%s: its file is %v, want %v", name, has, had)
		}
	}
	long := failure.New(errors.New(strings.Repeat("\xff<", maxBytes)))
	if data := mustEncode(t, answer{ID: 1, Error: long}); len(data) > maxBytes || packet.Decode(data, &answer{}) != nil {
		t.Errorf("an error with a long text makes a message of %d bytes", len(data))
	}
}

// TestLostConnection: the client says that the broker has ended before any request fails of that, and does not say it of its own Close.
func TestLostConnection(t *testing.T) {
	ours, theirs, err := Pair()
	if err != nil {
		t.Fatal(err)
	}
	var lost atomic.Bool
	client := NewClient(ours, nil, func() {
		time.Sleep(10 * time.Millisecond) // in which a request could fail
		lost.Store(true)
	})
	defer client.Close()
	failed := make(chan error, 1)
	go func() {
		err := client.Thaw("x")
		if !lost.Load() {
			t.Error("a request fails first")
		}
		failed <- err
	}()
	if _, err := theirs.Read(make([]byte, maxBytes)); err != nil {
		t.Fatal(err)
	}
	theirs.Close()
	if err := <-failed; yurt.CodeOf(err) != yurt.CodeUnavailable {
		t.Errorf("it fails with %v, want %s", err, yurt.CodeUnavailable)
	}
	if err := client.Thaw("x"); yurt.CodeOf(err) != yurt.CodeUnavailable {
		t.Errorf("the next one fails with %v, want %s", err, yurt.CodeUnavailable)
	}

	ours, theirs, err = Pair()
	if err != nil {
		t.Fatal(err)
	}
	defer theirs.Close()
	whole := NewClient(ours, nil, func() { t.Error("a connection that its own side has closed is lost") })
	if err := whole.Close(); err != nil {
		t.Error(err)
	}
}
