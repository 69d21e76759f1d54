package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"

	"github.com/yurtrun/yurt/executor"
	"github.com/yurtrun/yurt/executor/broker/wire"
	"github.com/yurtrun/yurt/executor/sysmon"
)

// brokerCommand is the argument by which the bench becomes the broker of its own node, which commands of yurt have as a process too.
const brokerCommand = "broker"

// The broker's end of the socket, and the end of a pipe that it closes when the node can begin.
const (
	brokerFD = 3
	readyFD  = 4
)

// startBroker starts the broker of a node, and waits until it has made the node's directories. It ends with the socket.
func (p *place) startBroker(config executor.Config) (*net.UnixConn, error) {
	settings, err := json.Marshal(config)
	if err != nil {
		return nil, err
	}
	ours, theirs, err := wire.Pair()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	made, ready, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, ours.Close())
	}
	defer made.Close()
	cmd := exec.Command("/proc/self/exe", brokerCommand, string(settings)) //nolint:noctx // it ends with the socket
	cmd.Stderr, cmd.ExtraFiles = os.Stderr, []*os.File{theirs, ready}
	err = cmd.Start()
	ready.Close()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("starting the broker: %w", err), ours.Close())
	}
	p.cleanup(func() error { ours.Close(); return cmd.Wait() }) // the node may have closed it
	_, err = io.Copy(io.Discard, made)
	return ours, err
}

// serveBroker is the broker of a node that another process of the bench has.
func serveBroker(settings string) (err error) {
	if err := sysmon.Slacken(); err != nil { // as the broker of a command does
		return err
	}
	var config executor.Config
	if err := json.Unmarshal([]byte(settings), &config); err != nil {
		return err
	}
	config.Logger = slog.New(slog.DiscardHandler)
	socket, err := wire.Open(os.NewFile(brokerFD, "broker"))
	if err != nil {
		return err
	}
	power, err := executor.OpenPower(config)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, power.Close()) }()
	if err := os.NewFile(readyFD, "ready").Close(); err != nil {
		return err
	}
	if err := power.Prepare(context.Background()); err != nil {
		return err
	}
	return wire.Serve(context.Background(), socket, power.Broker)
}
