package serve

import (
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
)

// TestGuard checks which requests are answered, by Host, Origin and Sec-Fetch-Site, for a server of this machine alone
// and for one of a network.
func TestGuard(t *testing.T) {
	name, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	link := []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}
	for _, c := range []struct {
		served, path, host string
		headers            []string
		want               int
	}{
		{"127.0.0.1", "/", "localhost:80", nil, 200},
		{"127.0.0.1", "/events", "127.0.0.1:80", nil, 200},
		{"127.0.0.1", "/", "[::1]:80", nil, 200},
		{"127.0.0.1", "/", "[::1]", nil, 200},
		{"127.0.0.1", "/", "LOCALHOST.", nil, 200},
		{"127.0.0.1", "/", "evil.example:80", nil, 403},
		{"127.0.0.1", "/", "localhost.evil.example", nil, 403},
		{"127.0.0.1", "/", "192.168.1.2:80", nil, 403},
		{"127.0.0.1", "/", name, nil, map[bool]int{true: 200, false: 403}[name == "localhost"]},
		{"127.0.0.1", "/", "", nil, 403},
		{"0.0.0.0", "/", "192.168.1.2:80", nil, 200},
		{"0.0.0.0", "/", name + ":80", nil, 200},
		{"0.0.0.0", "/", "localhost", nil, 200},
		{"0.0.0.0", "/", "evil.example", nil, 403},
		{"box.example", "/", "box.example:80", nil, 200},
		{
			"127.0.0.1", "/events", "localhost:80",
			[]string{"Origin", "http://localhost:80", "Sec-Fetch-Site", "same-origin"}, 200,
		},
		{"127.0.0.1", "/events", "localhost:80", []string{"Sec-Fetch-Site", "none"}, 200},
		{"127.0.0.1", "/events", "localhost:80", []string{"Origin", "http://localhost:81"}, 403},
		{"127.0.0.1", "/events", "localhost:80", []string{"Origin", "https://localhost:80"}, 403},
		{"127.0.0.1", "/events", "localhost:80", []string{"Origin", "null"}, 403},
		{"127.0.0.1", "/events", "localhost:80", []string{"Sec-Fetch-Site", "same-site"}, 403},
		{"127.0.0.1", "/events", "localhost:80", []string{"Sec-Fetch-Site", "cross-site"}, 403},
		{"127.0.0.1", "/events", "localhost:80", link, 403},
		{"127.0.0.1", "/", "localhost:80", link, 200},
		{
			"127.0.0.1", "/", "localhost:80",
			[]string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "iframe"}, 403,
		},
		{"127.0.0.1", "/", "localhost:80", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "cors"}, 403},
	} {
		r := httptest.NewRequest("GET", c.path, nil)
		r.Host = c.host
		for i := 0; i < len(c.headers); i += 2 {
			r.Header.Set(c.headers[i], c.headers[i+1])
		}
		w := httptest.NewRecorder()
		Guard(c.served, Text, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})).ServeHTTP(w, r)
		if w.Code != c.want {
			t.Errorf(
				"served at %s, %s of %q with %q: got status %d, want %d", c.served, c.path, c.host, c.headers, w.Code,
				c.want,
			)
		}
	}
}
