// Package refscanhttp serves what keeps the memory of a running program alive, as net/http/pprof
// serves where it was allocated:
//
//	http.Handle("/debug/retained", new(refscanhttp.Handler))
//
// Each request takes one snapshot: the program is stopped for some milliseconds (a fork), and the
// scan, which runs beside the program, takes about the CPU time of ten garbage collections, and as
// much memory as the heap. The answer is
//
//	/debug/retained                  a page, or text for clients that ask for no HTML
//	/debug/retained?format=json      what "leakgate scan -base" reads
//	/debug/retained?format=profile   a profile for "go tool pprof": go tool pprof 'http://localhost:6060/debug/retained?format=profile'
//	/debug/retained?base=previous    what has grown since the request before, per second
//
// Every answer has its number in the header Leakgate-Scan. base also takes such a number; the last
// four answers are kept. top says how many roots are shown.
//
// Names and types come from the program's debug information, which go build writes unless it is
// told not to (-ldflags=-w).
package refscanhttp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/leakgate/leakgate/internal/debughttp"
	"github.com/leakgate/leakgate/refscan"
	"github.com/leakgate/leakgate/refscan/scanreport"
)

// A Handler answers requests with what is retained. The zero value is ready for use. Several
// goroutines may use it at once; one snapshot is taken at a time, and other requests are refused
// with 503 meanwhile. Where no snapshot is possible the text says why, with 503, or 501 on systems
// that are not supported.
type Handler struct {
	// AllowRemote serves requests that do not come from this machine. Without it they are refused,
	// and so are requests that a proxy says it passes on, and requests for a host name other than
	// localhost: a page elsewhere on the web could have made them, by a name of its own that leads
	// to this machine. A proxy on this machine that says nothing looks like a client on it: do not
	// have it pass this path on. With AllowRemote, guard the path as you guard /debug/pprof.
	// Answers have the names of the program's types and variables and how much they hold, no
	// contents; but each request costs a snapshot.
	//
	// What a browser says was made by a page of another site (Sec-Fetch-Site, Origin, Referer) is
	// refused in any case.
	AllowRemote bool
}

// How a request may be answered.
const (
	formatPage    = "html"
	formatText    = "text"
	formatJSON    = "json"
	formatProfile = "profile"
)

const (
	defaultTop = 30
	// longest bounds a request, and thus how long others are refused.
	longest = 2 * time.Minute
)

// busy is held while a snapshot is taken and read, and not while an answer is written: a client
// that does not read keeps nobody waiting.
var busy sync.Mutex

var errBusy = errors.New("another snapshot is being taken")

// A query has the parameters of a request.
type query struct {
	format string
	top    int
	base   string // "" for none
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if why := h.refuses(r); why != "" {
		http.Error(w, why, http.StatusForbidden)
		return
	}
	if r.Method != http.MethodGet {
		w.Header().Set("Allow", http.MethodGet)
		http.Error(w, "each request takes a snapshot of the program: only GET does", http.StatusMethodNotAllowed)
		return
	}
	q, err := parse(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	base, older, err := kept.get(q.base)
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	scan, number, err := look(r.Context())
	switch {
	case errors.Is(err, errBusy):
		w.Header().Set("Retry-After", "1")
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	case err != nil:
		status := http.StatusServiceUnavailable
		if errors.Is(err, errors.ErrUnsupported) {
			status = http.StatusNotImplemented
		}
		http.Error(w, "could not tell what is retained: "+err.Error(), status)
		return
	}
	w.Header().Set("Leakgate-Scan", strconv.Itoa(number))
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if err := q.write(w, scan, base, older); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

// refuses returns why a request is not served, "" if it is.
func (h *Handler) refuses(r *http.Request) string {
	if why := debughttp.CrossSite(r); why != "" || h.AllowRemote {
		return why
	}
	why := debughttp.ForeignHost(r)
	if !debughttp.FromHere(r) {
		why = "the request does not come from this machine"
	}
	for _, passedOn := range []string{"Forwarded", "X-Forwarded-For", "X-Real-Ip", "Via"} {
		if r.Header.Get(passedOn) != "" {
			why = "the request was passed on (" + passedOn + ")"
		}
	}
	if why == "" {
		return ""
	}
	return why + "; set AllowRemote of the refscanhttp.Handler to serve it"
}

func parse(r *http.Request) (*query, error) {
	asked := r.URL.Query()
	q := &query{format: asked.Get("format"), top: defaultTop, base: asked.Get("base")}
	switch q.format {
	case formatPage, formatText, formatJSON, formatProfile:
	case "":
		q.format = formatText
		if strings.Contains(r.Header.Get("Accept"), "text/html") {
			q.format = formatPage
		}
	default:
		return nil, fmt.Errorf("format=%s: there are %s, %s, %s and %s", q.format, formatPage, formatText, formatJSON, formatProfile)
	}
	if text := asked.Get("top"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("top=%s: it is how many roots are shown, a number from 1 on", text)
		}
		q.top = n
	}
	if q.base != "" && (q.format == formatJSON || q.format == formatProfile) {
		return nil, fmt.Errorf("base is for %s and %s; compare %s with leakgate scan -base, and profiles with go tool pprof -base", formatPage, formatText, formatJSON)
	}
	return q, nil
}

// look takes a snapshot of this process, scans it and keeps the scan.
func look(ctx context.Context) (scan *scanreport.Scan, number int, err error) {
	if !busy.TryLock() {
		return nil, 0, errBusy
	}
	defer busy.Unlock()
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	if scan, err = scanreport.TakeSelf(ctx, refscan.WithRetained()); err != nil {
		return nil, 0, err
	}
	return scan, kept.add(scan), nil
}
