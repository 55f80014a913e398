package live

import (
	"net"
	"sync"
)

// mostConnections is the largest number of connections at a time.
const mostConnections = 2048

// limited is a listener with a limited number of open connections. It refuses further connections at once, so that
// they take no descriptors from the run.
type limited struct {
	net.Listener
	free chan struct{} // an element for each open connection
}

// connections returns the limit on connections if the process may open the given number of files: a quarter, because a
// run also opens files.
func connections(descriptors uint64) int { return int(min(mostConnections, max(1, descriptors/4))) }

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
				c.SetWriteBuffer(chunkSize) // otherwise a reader that does not read may hold megabytes
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
