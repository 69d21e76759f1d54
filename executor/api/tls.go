package api

import (
	"context"
	"log/slog"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/identity"
)

// A connection over TLS is closed at this age, and the calls on it a while later, so
// that no caller stays for long whose certificate is not good any more.
const (
	tlsAge   = 30 * time.Minute
	tlsGrace = 30 * time.Minute
)

// ServeTLS answers controllers over mutual TLS, in the background. It is called before
// Wait and Shutdown. While the source runs, the connection of a controller that is trusted no longer ends after [identity.Grace].
func (s *Server) ServeTLS(listener net.Listener, source *identity.Source) {
	conns := source.Connections(identity.RoleController, identity.Grace)
	creds := &tlsServer{credentials.NewTLS(source.ServerConfig(identity.RoleController)), conns, s.logger}
	s.serve(listener, creds, grpc.KeepaliveParams(keepalive.ServerParameters{
		Time: pingEvery, Timeout: pingLimit, MaxConnectionAge: tlsAge, MaxConnectionAgeGrace: tlsGrace,
	}))
}

// tlsServer logs the name of a refused caller, and the reason: the caller may learn less.
type tlsServer struct {
	credentials.TransportCredentials
	conns  *identity.Connections
	logger *slog.Logger
}

func (t *tlsServer) ServerHandshake(conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	remote := conn.RemoteAddr().String()
	secure, info, err := t.TransportCredentials.ServerHandshake(conn)
	if err != nil {
		t.logger.Warn("caller refused", "remote", remote, "error", err)
		return nil, nil, err
	}
	return watched(t.conns, secure, info), info, nil
}

// watched returns a connection that ends when its other side is trusted no longer.
func watched(conns *identity.Connections, conn net.Conn, info credentials.AuthInfo) net.Conn {
	if secure, ok := info.(credentials.TLSInfo); ok {
		return conns.Add(conn, secure.State)
	}
	return conn // another handshake than that of TLS, which there is not
}

func (t *tlsServer) Clone() credentials.TransportCredentials { return t }

// NewTLSClient returns a client of the executor of that node, which listens at address.
// The source is a controller's. The client connects when it is first used, and again whenever
// that is needed, each time with the certificate that is there then. While the source runs, the client also moves to a new connection
// after each change of the files, and the earlier one ends with its calls.
func NewTLSClient(address, node string, source *identity.Source) (*Client, error) {
	name := identity.Name{Role: identity.RoleExecutor, Name: node}
	if err := name.Validate(); err != nil {
		return nil, err
	}
	if _, _, err := net.SplitHostPort(address); err != nil {
		return nil, yurt.FieldErrorf(yurt.CodeInvalidArgument, "address", "%q is not an address; give host:port", address)
	}
	conns := source.Connections(identity.RoleExecutor, identity.Grace)
	creds := &tlsClient{source: source, executor: name, conns: conns}
	conn, err := newRenewed(func() (*grpc.ClientConn, error) { return dial("dns:///"+address, creds) })
	if err != nil {
		conns.Close()
		return nil, err
	}
	forget := source.Watch(conn.renew)
	return newClient(conn, func() error {
		forget()
		conns.Close()
		return conn.Close()
	}), nil
}

// tlsClient connects with the source's certificate of that moment.
type tlsClient struct {
	source   *identity.Source
	executor identity.Name
	conns    *identity.Connections
}

func (t *tlsClient) ClientHandshake(ctx context.Context, authority string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	config, err := t.source.ClientConfig(t.executor)
	if err != nil {
		return nil, nil, err
	}
	secure, info, err := credentials.NewTLS(config).ClientHandshake(ctx, authority, conn)
	if err != nil {
		return nil, nil, err
	}
	return watched(t.conns, secure, info), info, nil
}

// ServerHandshake is the server's alone to need.
func (t *tlsClient) ServerHandshake(net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return nil, nil, yurt.Errorf(yurt.CodeInternal, "a client serves nobody")
}

func (t *tlsClient) Info() credentials.ProtocolInfo {
	return credentials.ProtocolInfo{SecurityProtocol: "tls"}
}

func (t *tlsClient) Clone() credentials.TransportCredentials { return t }

func (t *tlsClient) OverrideServerName(string) error { return nil }
