// Package debughttp has what the HTTP handlers that show a program's inside have in common: they
// answer no web page of another site, and wait for no client for ever.
package debughttp

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"
)

// CrossSite returns why a request may have been made by a web page of another site, "" if it was
// not. Such a page cannot read the answer as a rule, but each request costs a snapshot. Requests of
// clients that are no browsers pass. Unlike net/http.CrossOriginProtection it looks at GET, too,
// and at Referer, since a browser sends no Origin with an image.
func CrossSite(r *http.Request) string {
	const remedy = "; enter the address in the browser itself, or ask with curl or go tool pprof"
	switch site := r.Header.Get("Sec-Fetch-Site"); site {
	case "same-origin", "none":
		return ""
	case "": // no browser, or one that takes the connection for insecure
	default:
		return "a page of another site made the request (Sec-Fetch-Site: " + site + ")" + remedy
	}
	for _, name := range []string{"Origin", "Referer"} {
		from := r.Header.Get(name)
		if from == "" {
			continue
		}
		if page, err := url.Parse(from); err != nil || !strings.EqualFold(page.Host, r.Host) {
			return fmt.Sprintf("a page of another site made the request (%s: %q)", name, from) + remedy
		}
	}
	return ""
}

// FromHere reports whether a request comes from this machine, by its address. A proxy on this
// machine may have passed it on.
func FromHere(r *http.Request) bool {
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	return err == nil && from.Addr().Unmap().IsLoopback()
}

// ForeignHost returns why a request is not for this machine by its name, "" if it is. A page may
// have its own host's name lead to 127.0.0.1 (DNS rebinding). To the browser the answer is then one
// of the page's own site.
func ForeignHost(r *http.Request) string {
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if addr, err := netip.ParseAddr(strings.Trim(host, "[]")); strings.EqualFold(host, "localhost") || err == nil && addr.IsLoopback() {
		return ""
	}
	return fmt.Sprintf("the request is for %q, which need not be this machine", host)
}

// Patience is how long a client may take to read an answer. Tests replace it.
var Patience = time.Minute

// Send writes an answer. A client that does not read it is given up after Patience, if the server
// has deadlines; nothing may be locked meanwhile all the same. The time that the server allows for
// answers starts anew, since a snapshot may have used it up.
func Send(w http.ResponseWriter, b []byte) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(Patience)) // not every server has them
	_, _ = w.Write(b)                                                            // the client may be gone
}
