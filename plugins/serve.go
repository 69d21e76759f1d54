package plugins

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	pb "google.golang.org/protobuf/proto"

	"github.com/yurtrun/yurt/plugins/internal/protocol"
)

// BinaryPrefix starts the file name of every runtime's binary; the runtime's name follows it.
const BinaryPrefix = "yurt-runtime-"

// DescribeArgument is the argument with which a runtime's binary prints its description in place of serving: a message of the protocol,
// in base64. The build keeps it in the plugin directory, so that a host need not start the runtime to know it.
const DescribeArgument = "describe"

// Serve is the whole main function of a runtime's binary: it serves rt to the host that started the
// process and returns when the host is done with it. A process that no host started was run by
// hand: then Serve returns at once, with an error that explains the binary and where it belongs.
//
// The host may kill the process at any moment, so a runtime keeps no state that it
// must not lose. Its standard input is empty, its standard output belongs to the
// protocol, and lines on standard error end up in the host's log; hclog.Default()
// is set up to write there. Methods of rt may be called concurrently; a panic in
// one fails that call alone.
func Serve(rt Runtime) error {
	shake := protocol.Handshake()
	if os.Getenv(shake.MagicCookieKey) != shake.MagicCookieValue {
		if len(os.Args) == 2 && os.Args[1] == DescribeArgument {
			return describe(context.Background(), rt, os.Stdout)
		}
		return byHand(filepath.Base(os.Args[0]))
	}
	// The recovered panics and the runtime's own code write to hclog's default logger; go-plugin
	// reads JSON lines back into records.
	logger := hclog.New(&hclog.LoggerOptions{
		Level:      hclog.LevelFromString(os.Getenv(protocol.LogLevelEnv)),
		Output:     os.Stderr,
		JSONFormat: true,
	})
	hclog.SetDefault(logger)
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig:  shake,
		VersionedPlugins: protocol.Versions(&servedV1{runtime: rt}),
		Logger:           logger,
		GRPCServer: func(options []grpc.ServerOption) *grpc.Server {
			return grpc.NewServer(append(options, grpc.MaxRecvMsgSize(protocol.MaxRequestBytes), grpc.MaxSendMsgSize(protocol.MaxResponseBytes))...)
		},
	})
	return nil
}

// describe prints the description of the runtime.
func describe(ctx context.Context, rt Runtime, to io.Writer) error {
	info, err := rt.Describe(ctx)
	if err != nil {
		return fmt.Errorf("describing the runtime: %w", err)
	}
	data, err := pb.Marshal(infoToWire(info))
	if err != nil {
		return fmt.Errorf("writing the description: %w", err)
	}
	_, err = fmt.Fprintln(to, base64.StdEncoding.EncodeToString(data))
	return err
}

func byHand(name string) error {
	return fmt.Errorf(`%s is a language runtime of Yurt, speaking version %s of the runtime protocol.
It is not run by hand: put it into the plugin directory of a Yurt node, which starts it
when code in its language is to be run. "yurt runtime list" shows what is installed`, name, protocol.Spoken())
}
