package serve

import (
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"
)

// Refuse answers a request that is not served.
type Refuse func(w http.ResponseWriter, status int, message string)

// Text refuses with a line of text.
func Text(w http.ResponseWriter, status int, message string) { http.Error(w, message, status) }

// Guard serves requests from this machine's own page or from a client, and refuses those made by a foreign page in a
// reader's browser: under a foreign name that resolves to this machine (DNS rebinding), or from another origin. host is
// Listen's. Pages of the further origins are not foreign; * means every origin.
func Guard(host string, refuse Refuse, h http.Handler, origins ...string) http.Handler {
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
		case !named(r.Host, host, names):
			refuse(w, http.StatusForbidden, "this page is not served under the name "+r.Host)
		case !ownOrigin(r) && !oneOf(origins, r.Header.Get("Origin")):
			refuse(w, http.StatusForbidden, "this page is not for pages from elsewhere")
		default:
			h.ServeHTTP(w, r)
		}
	})
}

// NoBody refuses requests with a body.
func NoBody(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength == 0 {
			h.ServeHTTP(w, r)
			return
		}
		Unread(w)
		http.Error(w, "a request here has no body", http.StatusBadRequest)
	})
}

// Unread closes the connection after the answer, without waiting for the rest of a body.
func Unread(w http.ResponseWriter) {
	http.NewResponseController(w).SetReadDeadline(time.Now())
	w.Header().Set("Connection", "close")
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

// oneOf reports whether an origin is one of a list.
func oneOf(origins []string, origin string) bool {
	return origin != "" && (slices.Contains(origins, origin) || slices.Contains(origins, "*"))
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
