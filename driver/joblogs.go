package driver

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	drivers "github.com/hashicorp/nomad/plugins/drivers/proto"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/driver/internal/pluginconfig"
	"github.com/yurtrun/yurt/driver/internal/taskspec"
)

// Nomad tells a driver only whether the logs block of a job is disabled. Its API has the rest, where the operator says how to
// reach it.

const (
	// askLimit is how long Nomad may take to answer: the task waits for that.
	askLimit = 3 * time.Second
	// maxAllocation bounds the answer, in bytes. The allocation holds its whole job.
	maxAllocation = 64 << 20
)

// limitLogs gives the task's logs the bounds that the logs block of its job has, unless its
// config block has some. If Nomad does not answer, the task starts with the usual ones.
func (d *Driver) limitLogs(ctx context.Context, config *drivers.TaskConfig, spec *taskspec.Spec) {
	operator := d.settings()
	logs := spec.Execution.Logs
	if operator.NomadAddress == "" || logs == nil || spec.OwnLogs {
		return
	}
	bounded, err := jobLogs(ctx, &operator, config, *logs)
	if err != nil {
		warning := fmt.Sprintf("the logs block of the job is not known, and up to %d files of %s are kept of each stream: %v", logs.MaxFiles, logs.MaxSize, err)
		d.logger.Warn("asking Nomad for a task's job", "task_id", config.GetId(), "error", err)
		d.events.say(config, warning)
		return
	}
	spec.Execution.Logs = &bounded
}

// allocation has the fields of Nomad's answer that matter here.
type allocation struct {
	TaskGroup string
	Job       struct {
		TaskGroups []struct {
			Name  string
			Tasks []struct {
				Name      string
				LogConfig struct{ MaxFiles, MaxFileSizeMB int }
			}
		}
	}
}

// jobLogs returns the logs with the bounds of the job.
func jobLogs(ctx context.Context, operator *pluginconfig.Config, config *drivers.TaskConfig, logs yurt.LogFiles) (yurt.LogFiles, error) {
	a, err := allocationOf(ctx, operator, config)
	if err != nil {
		return logs, err
	}
	for _, group := range a.Job.TaskGroups {
		if group.Name != a.TaskGroup {
			continue
		}
		for _, task := range group.Tasks {
			if task.Name == config.GetName() {
				logs.MaxFiles = min(task.LogConfig.MaxFiles, yurt.MaxLogFiles)
				logs.MaxSize = yurt.Size(task.LogConfig.MaxFileSizeMB) << 20
				return logs, logs.Validate("logs")
			}
		}
	}
	return logs, yurt.Errorf(yurt.CodeInternal, "the job of allocation %s has no task %s", config.GetAllocId(), config.GetName())
}

// allocationOf asks Nomad for the task's.
func allocationOf(ctx context.Context, operator *pluginconfig.Config, config *drivers.TaskConfig) (a allocation, err error) {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	// Any server knows it, also one that has lost its leader.
	query := url.Values{"namespace": {config.GetNamespace()}, "stale": {""}}
	address := strings.TrimSuffix(operator.NomadAddress, "/") + "/v1/allocation/" + url.PathEscape(config.GetAllocId()) + "?" + query.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return a, fmt.Errorf("asking Nomad: %w", err)
	}
	if operator.NomadTokenFile != "" {
		token, err := os.ReadFile(operator.NomadTokenFile)
		if err != nil {
			return a, fmt.Errorf("reading nomad_token_file: %w", err)
		}
		request.Header.Set("X-Nomad-Token", strings.TrimSpace(string(token)))
	}
	transport, err := nomadTransport(operator)
	if err != nil {
		return a, err
	}
	defer transport.CloseIdleConnections()
	response, err := transport.RoundTrip(request)
	if err != nil {
		return a, fmt.Errorf("asking Nomad at %s: %w", operator.NomadAddress, err)
	}
	defer response.Body.Close()
	body := io.LimitReader(response.Body, maxAllocation)
	if response.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(body, 200))                                                                            // it is for the message alone
		return a, fmt.Errorf("Nomad at %s answers %s: %s", operator.NomadAddress, response.Status, strings.TrimSpace(string(text))) //nolint:staticcheck // a name
	}
	if err := json.NewDecoder(body).Decode(&a); err != nil {
		return a, fmt.Errorf("reading the answer of Nomad at %s: %w", operator.NomadAddress, err)
	}
	return a, nil
}

// nomadTransport is how Nomad is reached.
func nomadTransport(operator *pluginconfig.Config) (*http.Transport, error) {
	transport := &http.Transport{}
	if operator.NomadCAFile == "" {
		return transport, nil
	}
	data, err := os.ReadFile(operator.NomadCAFile)
	if err != nil {
		return nil, fmt.Errorf("reading nomad_ca_file: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(data) {
		return nil, fmt.Errorf("nomad_ca_file %s holds no certificate", operator.NomadCAFile)
	}
	transport.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	return transport, nil
}
