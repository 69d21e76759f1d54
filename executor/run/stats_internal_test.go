package run

import "testing"

// TestNetworkBytes: the bytes of all interfaces are added up, without the loopback and without
// lines that cannot be read.
func TestNetworkBytes(t *testing.T) {
	const head = "Inter-|   Receive                                                |  Transmit\n" +
		" face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed\n"
	for devices, want := range map[string][2]int64{
		"":   {0, 0},
		head: {0, 0},
		head + "    lo:  900 1 0 0 0 0 0 0 800 1 0 0 0 0 0 0\n": {0, 0},
		head + "    lo:  900 1 0 0 0 0 0 0 800 1 0 0 0 0 0 0\n" +
			"  eth0: 1000 1 0 0 0 0 0 0 20 1 0 0 0 0 0 0\neth1:3 1 0 0 0 0 0 0 4 1 0 0 0 0 0 0\n": {1003, 24},
		head + "eth0: 1 2 3\neth1: many 1 0 0 0 0 0 0 4 1 0 0 0 0 0 0\n": {0, 0},
	} {
		if received, sent := networkBytes(devices); received != want[0] || sent != want[1] {
			t.Errorf("%q: %d, %d, want %v", devices, received, sent, want)
		}
	}
}
