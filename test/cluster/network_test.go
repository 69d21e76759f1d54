package cluster

import (
	"net"
	"testing"
	"time"

	nomad "github.com/hashicorp/nomad/api"
)

// A host that is cut off is lost to the servers; mended, it is back.
func TestHostsOfTheirOwn(t *testing.T) {
	t.Parallel()
	network := TestNetwork(t)
	c := Nomad(t, Options{Servers: 1, Network: network, Config: "server {\n  heartbeat_grace = \"1s\"\n  min_heartbeat_ttl = \"1s\"\n}"})
	c.Run(t, counter)
	c.WaitRunning(t, "counter")
	client := c.Clients[0]
	host := client.Host()

	if err := host.CutOff(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.WaitNode(t, client.Node, "down", func(n *nomad.NodeListStub) bool { return n.Status == nomad.NodeStatusDown })
	if err := host.Mend(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.WaitNode(t, client.Node, "ready", func(n *nomad.NodeListStub) bool { return n.Status == nomad.NodeStatusReady })
	c.WaitRunning(t, "counter")
}

func TestSlowHost(t *testing.T) {
	t.Parallel()
	needsRoot(t)
	network := TestNetwork(t)
	host := network.TestHost(t)
	if err := host.Slow(t.Context(), 800); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(network.Address(), "0"))
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	sender := &process{name: "sender", dir: t.TempDir(), host: host, args: []string{
		"/bin/bash", "-c", "head -c 300000 /dev/zero >/dev/tcp/" + network.Address() + "/$0", port(t, listener.Addr()),
	}}
	if err := sender.start(); err != nil {
		t.Fatal(err)
	}
	defer sender.Kill()
	conn, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	start, got := time.Now(), 0
	for buf := make([]byte, 64<<10); ; {
		n, err := conn.Read(buf)
		got += n
		if err != nil {
			break
		}
	}
	// 300 kB are 2.4 megabits, of which the burst of 128 kilobits is free: 2.8 s. However
	// fast the machine is, no less.
	if took := time.Since(start); got != 300_000 || took < 2*time.Second {
		t.Errorf("%d bytes took %s at 800 kilobits a second", got, took)
	}
	if err := host.FullSpeed(t.Context()); err != nil {
		t.Error(err)
	}
}

func port(t *testing.T, address net.Addr) string {
	t.Helper()
	_, port, err := net.SplitHostPort(address.String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}
