// Command deviceplugin is a device plugin of Nomad that offers one block device, for tests of a
// driver's work with it. Nomad's client starts it, with the path of the device and that of a
// directory as its arguments. A task that reserves the device has it at /dev/test/disk, another
// view of it at /dev/test/fixed, which can only be read, the directory at /device, read-only, and
// the variable TEST_DEVICE.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/hashicorp/go-plugin"
	base "github.com/hashicorp/nomad/plugins/base/proto"
	device "github.com/hashicorp/nomad/plugins/device/proto"
	"github.com/hashicorp/nomad/plugins/shared/hclspec"
	"google.golang.org/grpc"
)

// The name is that of the plugin. The device is of the vendor test, the type disk and the name loop.
const name = "deviceplugin"

const deviceID = "disk-1"

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "deviceplugin is started by Nomad, with a device and a directory")
		os.Exit(1)
	}
	p := &offer{disk: os.Args[1], dir: os.Args[2]}
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig: plugin.HandshakeConfig{
			ProtocolVersion: 2, MagicCookieKey: "NOMAD_PLUGIN_MAGIC_COOKIE",
			MagicCookieValue: "e4327c2e01eabfd75a8a67adb114fb34a757d57eee7728d857a8cec6e91a7255",
		},
		Plugins: plugin.PluginSet{
			"base":   part{register: func(s *grpc.Server) { base.RegisterBasePluginServer(s, &about{}) }},
			"device": part{register: func(s *grpc.Server) { device.RegisterDevicePluginServer(s, p) }},
		},
		GRPCServer: plugin.DefaultGRPCServer,
	})
}

// part is a part of the plugin, as go-plugin wants it.
type part struct {
	plugin.NetRPCUnsupportedPlugin
	register func(*grpc.Server)
}

func (p part) GRPCServer(_ *plugin.GRPCBroker, s *grpc.Server) error { //nolint:unparam // go-plugin has an error there
	p.register(s)
	return nil
}

func (part) GRPCClient(context.Context, *plugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, errors.New("this program is no client")
}

// about answers Nomad's questions to every plugin.
type about struct {
	base.UnimplementedBasePluginServer
}

func (*about) PluginInfo(context.Context, *base.PluginInfoRequest) (*base.PluginInfoResponse, error) {
	return &base.PluginInfoResponse{Type: base.PluginType_DEVICE, PluginApiVersions: []string{"v0.1.0"}, PluginVersion: "0.1.0", Name: name}, nil
}

func (*about) ConfigSchema(context.Context, *base.ConfigSchemaRequest) (*base.ConfigSchemaResponse, error) {
	return &base.ConfigSchemaResponse{Spec: hclspec.NewObject(nil)}, nil
}

func (*about) SetConfig(context.Context, *base.SetConfigRequest) (*base.SetConfigResponse, error) {
	return &base.SetConfigResponse{}, nil
}

// offer is the device.
type offer struct {
	device.UnimplementedDevicePluginServer
	disk, dir string
}

func (o *offer) Fingerprint(_ *device.FingerprintRequest, stream device.DevicePlugin_FingerprintServer) error {
	err := stream.Send(&device.FingerprintResponse{DeviceGroup: []*device.DeviceGroup{{
		Vendor: "test", DeviceType: "disk", DeviceName: "loop", Devices: []*device.DetectedDevice{{ID: deviceID, Healthy: true}},
	}}})
	<-stream.Context().Done()
	return err
}

func (o *offer) Reserve(context.Context, *device.ReserveRequest) (*device.ReserveResponse, error) {
	return &device.ReserveResponse{ContainerRes: &device.ContainerReservation{
		Envs:   map[string]string{"TEST_DEVICE": deviceID},
		Mounts: []*device.Mount{{TaskPath: "/device", HostPath: o.dir, ReadOnly: true}},
		Devices: []*device.DeviceSpec{
			{TaskPath: "/dev/test/disk", HostPath: o.disk, Permissions: "rwm"},
			{TaskPath: "/dev/test/fixed", HostPath: o.disk, Permissions: "r"},
		},
	}}, nil
}

func (o *offer) Stats(_ *device.StatsRequest, stream device.DevicePlugin_StatsServer) error {
	<-stream.Context().Done()
	return nil
}
