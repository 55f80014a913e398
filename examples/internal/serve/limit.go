// Package serve contains what the servers of the examples share: an address, a limit on connections, and a guard
// against foreign pages.
package serve

import (
	"net"
	"sync"

	"github.com/pkg/errors"
)

// Listen listens at an address such as :8080, the value of -serve. An empty host means this machine alone, and port 0
// any free port.
func Listen(address string) (l net.Listener, host string, err error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, "", errors.Errorf("-serve: got %q, want a port such as :8080, or a host and a port", address)
	}
	if host == "" {
		host = "127.0.0.1"
	}
	l, err = net.Listen("tcp", net.JoinHostPort(host, port))
	return l, host, errors.Wrap(err, "-serve")
}

// Local reports whether a server at that host of Listen is for this machine alone.
func Local(host string) bool { return local(host) }

// mostConnections is the largest number of connections at a time.
const mostConnections = 2048

// limited is a listener with a limited number of open connections. It refuses further connections at once, so that
// they take no descriptors from the run.
type limited struct {
	net.Listener
	free chan struct{} // an element for each open connection
}

// Limit returns l with the given number of simultaneous connections at most.
func Limit(l net.Listener, connections int) net.Listener {
	return &limited{l, make(chan struct{}, connections)}
}

// Connections returns the limit on connections of this process: a quarter of the files that it may open, because a
// program also opens files.
func Connections() int { return connections(descriptors()) }

func connections(descriptors uint64) int { return int(min(mostConnections, max(1, descriptors/4))) }

// writeBuffer is the number of bytes that the system holds for a client that does not read.
const writeBuffer = 1 << 16

// Accept waits for the next connection that is not refused.
func (l *limited) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		select {
		case l.free <- struct{}{}:
			if c, ok := c.(*net.TCPConn); ok {
				c.SetWriteBuffer(writeBuffer) // otherwise it may be megabytes
			}
			return &counted{Conn: c, leave: sync.OnceFunc(func() { <-l.free })}, nil
		default:
			c.Write([]byte("HTTP/1.1 503 Service Unavailable\r\nRetry-After: 10\r\nConnection: close\r\n\r\n"))
			c.Close()
		}
	}
}

// counted is a connection of a limited listener.
type counted struct {
	net.Conn
	leave func()
}

// Close closes the connection and makes room for another.
func (c *counted) Close() error {
	err := c.Conn.Close()
	c.leave()
	return err
}
