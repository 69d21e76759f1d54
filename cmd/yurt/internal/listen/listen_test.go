package listen

import (
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/yurtrun/yurt"
)

func TestAddresses(t *testing.T) {
	for _, address := range []string{"127.0.0.1:8700", "127.1.2.3:0", "[::1]:8700", "localhost:65535", Default} {
		f := Flags{Address: address}
		if err := f.Check(); err != nil || f.Keys() || !f.Trusting() {
			t.Errorf("%q: error %v, keys %v, trusting %v, want a server of this machine without keys", address, err, f.Keys(), f.Trusting())
		}
	}
	for _, address := range []string{
		"", "8700", ":8700", "0.0.0.0:8700", "[::]:8700", "192.168.1.2:80", "example.com:80", "localhost.example.com:80",
		"127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:65536", "127.0.0.1:-1", "[::ffff:10.0.0.1]:80",
	} {
		f := Flags{Address: address}
		if err := f.Check(); yurt.CodeOf(err) != yurt.CodeInvalidArgument {
			t.Errorf("%q: error %v, want an invalid argument", address, err)
		}
	}
}

// TestDoors: an address that other machines reach has keys and TLS, unless its operator says otherwise.
func TestDoors(t *testing.T) {
	const open = "0.0.0.0:8700"
	tests := []struct {
		name           string
		flags          Flags
		refused        string
		keys, trusting bool
	}{
		{"local with keys", Flags{Address: Default, RequireKeys: true}, "", true, false},
		{"open", Flags{Address: open}, "--listen-cert and --listen-key", true, false},
		{"open with keys but without TLS", Flags{Address: open, RequireKeys: true}, "--listen-cert and --listen-key", true, false},
		{"open with TLS", Flags{Address: open, Certificate: "a", Key: "b"}, "", true, false},
		{"half of TLS", Flags{Address: open, Certificate: "a"}, "belong together", true, false},
		{"insecure", Flags{Address: open, Insecure: true}, "", false, false},
		{"behind a proxy", Flags{Address: open, Insecure: true, RequireKeys: true}, "", true, false},
		{"local behind a proxy", Flags{Address: Default, Insecure: true}, "", false, false},
	}
	for _, tt := range tests {
		err := tt.flags.Check()
		if tt.refused == "" && err != nil || tt.refused != "" && (err == nil || !strings.Contains(err.Error(), tt.refused)) {
			t.Errorf("%s: error %v, want %q", tt.name, err, tt.refused)
		}
		if tt.flags.Keys() != tt.keys || tt.flags.Trusting() != tt.trusting {
			t.Errorf("%s: keys %v, trusting %v, want %v and %v", tt.name, tt.flags.Keys(), tt.flags.Trusting(), tt.keys, tt.trusting)
		}
	}
}

// TestURL: a server that listens at all addresses names one that a client can call.
func TestURL(t *testing.T) {
	for address, want := range map[string]string{
		"[::]:8700": "https://localhost:8700", "0.0.0.0:80": "https://localhost:80", "127.0.0.1:8700": "https://127.0.0.1:8700", "[::1]:1": "https://[::1]:1",
	} {
		at := net.TCPAddrFromAddrPort(netip.MustParseAddrPort(address))
		if got := (&Flags{Certificate: "a"}).URL(at); got != want {
			t.Errorf("the URL at %s is %s, want %s", address, got, want)
		}
	}
}
