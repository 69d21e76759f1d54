package cluster

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net"
	"strconv"
)

// freeAddress returns a loopback address on which none of the ports is in use, chosen at random
// from sixteen million, so that two tests hardly ever pick the same at a time.
func freeAddress(ports ...int) (string, error) {
	var last error
	for range 20 {
		raw := make([]byte, 3)
		_, _ = rand.Read(raw) // it cannot fail
		// 127.0 belongs to everybody, and the last byte is that of a host.
		address := fmt.Sprintf("127.%d.%d.%d", 1+int(raw[0])%254, raw[1], 1+int(raw[2])%254)
		if last = allFree(address, ports); last == nil {
			return address, nil
		}
	}
	return "", fmt.Errorf("looking for an address to listen on: %w", last)
}

func allFree(address string, ports []int) error {
	for _, port := range ports {
		l, err := net.Listen("tcp", net.JoinHostPort(address, strconv.Itoa(port)))
		if err != nil {
			return err
		}
		if err := l.Close(); err != nil {
			return err
		}
	}
	return nil
}

// unique returns a name that starts with the prefix and that no other cluster has.
func unique(prefix string) string {
	raw := make([]byte, 4)
	_, _ = rand.Read(raw)
	return prefix + hex.EncodeToString(raw)
}

// place chooses an agent's address: that of its host, else the one that is preferred if
// the ports are free there, else any.
func place(host *Host, prefer string, ports ...int) (string, error) {
	if host != nil {
		return host.Address, nil
	}
	if prefer != "" && allFree(prefer, ports) == nil {
		return prefer, nil
	}
	return freeAddress(ports...)
}
