package live

import (
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"
)

// guard serves requests from this machine's own page or from a reader, and refuses those made by a foreign page in a
// reader's browser: under a foreign name that resolves to this machine (DNS rebinding), or from another origin.
func guard(host string, h http.Handler) http.Handler {
	names := []string{"localhost", strings.ToLower(host)}
	if name, err := os.Hostname(); err == nil && !local(host) {
		first, _, _ := strings.Cut(strings.ToLower(name), ".")
		names = append(names, strings.ToLower(name), first, first+".local")
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, value := range map[string]string{
			"Cross-Origin-Resource-Policy": "same-origin", "Content-Security-Policy": "frame-ancestors 'none'",
			"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
		} {
			w.Header().Set(name, value)
		}
		switch {
		case r.ContentLength != 0: // and do not wait for the body
			http.NewResponseController(w).SetReadDeadline(time.Now())
			w.Header().Set("Connection", "close")
			http.Error(w, "a request here has no body", http.StatusBadRequest)
		case !named(r.Host, host, names):
			http.Error(w, "this page is not served under the name "+r.Host, http.StatusForbidden)
		case !ownOrigin(r):
			http.Error(w, "this page is not for pages from elsewhere", http.StatusForbidden)
		default:
			h.ServeHTTP(w, r)
		}
	})
}

func local(name string) bool { return name == "localhost" || net.ParseIP(name).IsLoopback() }

// named reports whether the Host of a request is an address or one of the names. If the server is for this machine
// alone, an address must be a loopback address.
func named(requested, host string, names []string) bool {
	name, _, err := net.SplitHostPort(requested)
	if err != nil { // without a port, which means port 80
		name = strings.Trim(requested, "[]")
	}
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	if net.ParseIP(name) != nil {
		return !local(host) || local(name)
	}
	return slices.Contains(names, name)
}

// ownOrigin reports whether a request comes from the page itself or from no page, or follows a link to the page.
func ownOrigin(r *http.Request) bool {
	if origin := r.Header.Get("Origin"); origin != "" && origin != "http://"+r.Host {
		return false
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none": // none: from an address that the reader entered
		return true
	}
	return r.URL.Path == "/" && r.Header.Get("Sec-Fetch-Mode") == "navigate" &&
		r.Header.Get("Sec-Fetch-Dest") == "document"
}
