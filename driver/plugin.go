package driver

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	base "github.com/hashicorp/nomad/plugins/base/proto"
	drivers "github.com/hashicorp/nomad/plugins/drivers/proto"
	"google.golang.org/grpc"

	"github.com/yurtrun/yurt/driver/internal/node"
)

// Handshake of Nomad's plugins, as its documentation gives it.
const (
	protocolVersion = 2
	cookieKey       = "NOMAD_PLUGIN_MAGIC_COOKIE"
	cookieValue     = "e4327c2e01eabfd75a8a67adb114fb34a757d57eee7728d857a8cec6e91a7255"
)

// Serve serves the driver to the Nomad client that started this process, until the client is done with it. In a process that no
// client started, it returns at once with an error that explains the program.
func Serve(ctx context.Context, version string) error {
	if os.Getenv(cookieKey) != cookieValue {
		return byHand(filepath.Base(os.Args[0]))
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// The client reads the log. Once it was killed the log has no reader, and a line would end this process, with the calls of
	// the next client, which has found it.
	unread := make(chan os.Signal, 1)
	signal.Notify(unread, syscall.SIGPIPE)
	defer signal.Stop(unread)
	d := newDriver(ctx, version, newLogger())
	defer d.close()
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig: plugin.HandshakeConfig{ProtocolVersion: protocolVersion, MagicCookieKey: cookieKey, MagicCookieValue: cookieValue},
		Plugins:         plugin.PluginSet{"base": &basePlugin{driver: d}, "driver": &driverPlugin{driver: d}},
		Logger:          hclog.New(&hclog.LoggerOptions{Level: hclog.Warn, Output: os.Stderr, JSONFormat: true}),
		GRPCServer: func(options []grpc.ServerOption) *grpc.Server {
			return grpc.NewServer(append(options, grpc.MaxRecvMsgSize(maxMessage), grpc.MaxSendMsgSize(maxMessage))...)
		},
	})
	return nil
}

// SpawnCommand is the argument by which the plugin's program is told to call [Spawn] and to end.
const SpawnCommand = node.SpawnCommand

// Spawn starts the executor that standard input names, and prints its process id.
func Spawn(stdin io.Reader, stdout io.Writer) error { return node.Spawn(stdin, stdout) }

// maxMessage bounds a message from or to the client, in bytes, as the client does.
const maxMessage = 1 << 30

func byHand(name string) error {
	return fmt.Errorf(`%s is the Yurt driver of Nomad. It is not run by hand: put it into the plugin_dir
of a Nomad client, with yurt and the programs beside it, and restart the client. "nomad node
status -self" then lists the driver yurt`, name)
}

// basePlugin joins the part that every plugin of Nomad has to go-plugin.
type basePlugin struct {
	plugin.NetRPCUnsupportedPlugin
	driver *Driver
}

func (p *basePlugin) GRPCServer(_ *plugin.GRPCBroker, server *grpc.Server) error {
	base.RegisterBasePluginServer(server, &baseServer{driver: p.driver})
	return nil
}

// GRPCClient is the client's alone to need.
func (p *basePlugin) GRPCClient(context.Context, *plugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, errServerOnly
}

// driverPlugin joins the driver to go-plugin.
type driverPlugin struct {
	plugin.NetRPCUnsupportedPlugin
	driver *Driver
}

func (p *driverPlugin) GRPCServer(_ *plugin.GRPCBroker, server *grpc.Server) error {
	drivers.RegisterDriverServer(server, &driverServer{driver: p.driver})
	return nil
}

// GRPCClient is the client's alone to need.
func (p *driverPlugin) GRPCClient(context.Context, *plugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, errServerOnly
}
