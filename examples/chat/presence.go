package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/pkg/errors"
)

// errLeft is the error of a client that has left, or that does not read.
var errLeft = errors.New("the client has left")

// connectionKey is the key of a request's connection in its context.
type connectionKey struct{}

// withConnection is an http.Server's ConnContext.
func withConnection(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connectionKey{}, c)
}

// presence returns a context that ends when the client of a request has left, and a function to be called before
// anything is written. The context of package net/http also ends when a client has only closed its own direction of the
// connection and still waits for the answer. Both look alike until something is sent: a client that has left refuses
// it. So the interim answer 102 (RFC 2518) is sent then, which every client of HTTP/1.1 skips.
func presence(h *http.Request) (ctx context.Context, speak func()) {
	ctx, leave := context.WithCancelCause(context.WithoutCancel(h.Context()))
	spoken, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-h.Context().Done():
		case <-spoken:
			return
		}
		c, ok := h.Context().Value(connectionKey{}).(net.Conn)
		if !ok || !h.ProtoAtLeast(1, 1) {
			leave(errLeft)
			return
		}
		for pause := 50 * time.Millisecond; ; pause *= 2 { // the first word is refused after its arrival
			if _, err := io.WriteString(c, "HTTP/1.1 102 Processing\r\n\r\n"); err != nil {
				leave(errLeft)
				return
			}
			select {
			case <-time.After(pause):
			case <-spoken:
				return
			}
		}
	}()
	return ctx, sync.OnceFunc(func() {
		close(spoken)
		<-ended
	})
}
