package wire

import (
	"net"
	"os"

	"github.com/yurtrun/yurt/executor/broker"
)

// Cgroups reads cgroups without power over them.
type Cgroups interface {
	GaugeOf(sandboxID string) broker.Gauge
	// MeterOf and AlarmOf take the files over when they succeed.
	MeterOf(files []*os.File) (*broker.Meter, error)
	AlarmOf(sandboxID string, file *os.File) (broker.Alarm, error)
}

// Client asks the broker at the other end of a socket. It implements [broker.Broker]. A request whose context ends is cancelled there, and
// returns when the broker has left off. All requests fail with [yurt.CodeUnavailable] once the connection has ended.
type Client struct {
	*calls
	cgroups Cgroups
}

var _ broker.Broker = (*Client)(nil)

// NewClient returns a client on the socket, which is the client's from then on. When the connection ends in another way than by Close, the
// client calls lost, which may be nil, before any request fails. The caller calls Close.
func NewClient(socket *net.UnixConn, cgroups Cgroups, lost func()) *Client {
	return &Client{newCalls(socket, lost), cgroups}
}
