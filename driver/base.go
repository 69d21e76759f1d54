package driver

import (
	"context"
	"errors"
	"strings"

	base "github.com/hashicorp/nomad/plugins/base/proto"

	"github.com/yurtrun/yurt/driver/internal/pluginconfig"
)

// Name is the name of the driver in jobs.
const Name = "yurt"

// apiVersion is the version of Nomad's driver interface that this speaks.
const apiVersion = "v0.1.0"

var errServerOnly = errors.New("this program serves the driver and is no client of one")

// baseServer answers the calls that Nomad makes to every plugin.
type baseServer struct {
	base.UnimplementedBasePluginServer
	driver *Driver
}

// PluginInfo implements the service.
func (s *baseServer) PluginInfo(context.Context, *base.PluginInfoRequest) (*base.PluginInfoResponse, error) {
	return &base.PluginInfoResponse{
		Type: base.PluginType_DRIVER, PluginApiVersions: []string{apiVersion},
		PluginVersion: pluginVersion(s.driver.version), Name: Name,
	}, nil
}

// ConfigSchema implements the service.
func (*baseServer) ConfigSchema(context.Context, *base.ConfigSchemaRequest) (*base.ConfigSchemaResponse, error) {
	return &base.ConfigSchemaResponse{Spec: pluginconfig.Schema()}, nil
}

// SetConfig implements the service. It looks at the configuration and keeps it: Nomad calls
// it in processes that it only wants this answer of.
func (s *baseServer) SetConfig(_ context.Context, req *base.SetConfigRequest) (*base.SetConfigResponse, error) {
	config, err := pluginconfig.Read(req.GetMsgpackConfig())
	if err != nil {
		return nil, wire(err)
	}
	s.driver.configure(config)
	return &base.SetConfigResponse{}, nil
}

// pluginVersion is the version as Nomad reads one: that of a build between releases begins
// with no number.
func pluginVersion(version string) string {
	if number := strings.TrimPrefix(version, "v"); number != "" && number[0] >= '0' && number[0] <= '9' && strings.Contains(number, ".") {
		return number
	}
	return "0.0.0+" + version
}
