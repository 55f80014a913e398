package browser

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"
)

type message struct {
	ID        int             `json:"id,omitempty"`
	Session   string          `json:"sessionId,omitempty"`
	Method    string          `json:"method,omitempty"`
	Params    any             `json:"params,omitempty"`
	Result    json.RawMessage `json:"result,omitempty"`
	Complaint json.RawMessage `json:"error,omitempty"`
}

// Call sends a request and waits for the answer.
func (b *Tab) Call(method string, params, result any) {
	b.t.Helper()
	b.id++
	data, err := json.Marshal(message{ID: b.id, Session: b.session, Method: method, Params: params})
	must(b.t, err)
	_, err = b.in.Write(append(data, 0))
	must(b.t, err)
	for {
		m := b.next(method)
		if m.ID != b.id {
			continue
		}
		if m.Complaint != nil {
			b.t.Fatalf("%s: %s", method, m.Complaint)
		}
		if result != nil {
			must(b.t, json.Unmarshal(m.Result, result))
		}
		return
	}
}

// next returns the next message. It collects the errors among the messages that are not answers.
func (b *Tab) next(waiting string) (m message) {
	b.t.Helper()
	must(b.t, b.out.SetReadDeadline(time.Now().Add(30*time.Second)))
	for bytes.IndexByte(b.read.Bytes(), 0) < 0 {
		piece := make([]byte, 1<<16)
		n, err := b.out.Read(piece)
		if err != nil {
			b.t.Fatalf("chromium, %s: %v", waiting, err)
		}
		b.read.Write(piece[:n])
	}
	data, err := b.read.ReadBytes(0)
	must(b.t, err)
	must(b.t, json.Unmarshal(bytes.TrimRight(data, "\x00"), &m))
	switch params := fmt.Sprint(m.Params); m.Method {
	case "Page.loadEventFired":
		b.loaded = true
	case "Runtime.exceptionThrown":
		b.Errors = append(b.Errors, params)
	case "Runtime.consoleAPICalled", "Log.entryAdded":
		if bytes.Contains(data, []byte(`"error"`)) || bytes.Contains(data, []byte(`"warning"`)) {
			b.Errors = append(b.Errors, params)
		}
	}
	return m
}
