package quota_test

import (
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/access"
	"github.com/yurtrun/yurt/controller/quota"
)

// TestRefusalsAreReadable: a refusal names the quota and its use, and gives sizes with a unit.
func TestRefusalsAreReadable(t *testing.T) {
	const gib = yurt.Size(1 << 30)
	ten, half, memory := 10, 1.5, 64*gib
	session := yurt.Session{Resources: yurt.Resources{CPU: 1, Memory: gib}}
	for _, tt := range []struct {
		quotas access.Quotas
		used   access.Usage
		want   string
	}{
		{access.Quotas{Sessions: &ten}, access.Usage{Sessions: 10}, "the request would exceed the quota sessions of the tenant: 10 of 10 are in use; end sessions, or ask the operator for more"},
		{access.Quotas{CPU: &half}, access.Usage{CPU: 1}, "the request would exceed the quota cpu of the tenant: 1 of 1.5 are in use; end sessions, or ask the operator for more"},
		{access.Quotas{Memory: &memory}, access.Usage{Memory: 64*gib - gib/2}, "the request would exceed the quota memory of the tenant: 65024Mi of 64Gi are in use; end sessions, or ask the operator for more"},
	} {
		err := quota.AdmitSession(tt.quotas, tt.used, time.Time{}, session)
		if err == nil || err.Error() != tt.want {
			t.Errorf("the refusal is %v, want %s", err, tt.want)
		}
	}
}
