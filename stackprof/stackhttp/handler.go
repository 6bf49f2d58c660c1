// Package stackhttp serves the profile of package stackprof over HTTP, in the style of
// net/http/pprof:
//
//	mux.HandleFunc("GET /debug/pprof/stackmem", stackhttp.Profile)
//
// and then
//
//	go tool pprof -http=: http://localhost:6060/debug/pprof/stackmem
//
// GET has to be there beside net/http/pprof, which registers "GET /debug/pprof/": a path without a
// method is in conflict with it, and the mux panics.
//
// Importing it registers nothing. It is a package of its own so that tests which use stackprof do
// not link net/http.
package stackhttp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/leakgate/leakgate/internal/debughttp"
	"github.com/leakgate/leakgate/refscan"
	"github.com/leakgate/leakgate/stackprof"
)

// maxWait bounds how long a request waits for the program's debug information.
const maxWait = 2 * time.Minute

// Profile responds with the stack profile of this process. The query parameter debug=1 asks for
// text, with n functions (n=50 if it is not given, 0 for all). Where no profile can be had, the
// status is 501 on systems that are not supported and 503 elsewhere, and the text says why.
// Requests take turns.
//
// As net/http/pprof does, it serves whoever can reach it. It refuses, with 403, what a browser says
// was made by a page of another site, and a request from this machine that is not for localhost:
// the name of such a page's host may lead here.
func Profile(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if why := refuses(r); why != "" {
		fail(w, http.StatusForbidden, errors.New(why))
		return
	}
	text, n, err := parameters(r)
	if err != nil {
		fail(w, http.StatusBadRequest, err)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), maxWait)
	defer cancel()
	p, err := stackprof.Take(refscan.WithContext(ctx))
	if err != nil {
		status := http.StatusServiceUnavailable
		if errors.Is(err, errors.ErrUnsupported) {
			status = http.StatusNotImplemented
		}
		fail(w, status, err)
		return
	}
	// The profile is put together first, so that a failure is not half a response.
	var b bytes.Buffer
	if text {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		err = p.WriteText(&b, n)
	} else {
		w.Header().Set("Content-Type", "application/octet-stream")
		w.Header().Set("Content-Disposition", `attachment; filename="stackmem"`)
		_, err = p.WriteTo(&b)
	}
	if err != nil {
		fail(w, http.StatusInternalServerError, err)
		return
	}
	debughttp.Send(w, b.Bytes())
}

// refuses returns why a request is not served, "" if it is.
func refuses(r *http.Request) string {
	why := debughttp.CrossSite(r)
	if why == "" && debughttp.FromHere(r) {
		if why = debughttp.ForeignHost(r); why != "" {
			why += "; a proxy on this machine has to pass requests on for localhost"
		}
	}
	return why
}

func parameters(r *http.Request) (text bool, n int, err error) {
	n = 50
	query := r.URL.Query()
	if v := query.Get("debug"); v != "" {
		level, err := strconv.Atoi(v)
		if err != nil || level < 0 {
			return false, 0, fmt.Errorf("the parameter debug=%q is no level: use 0 for a profile, 1 for text", v)
		}
		text = level > 0
	}
	if v := query.Get("n"); v != "" {
		n, err = strconv.Atoi(v)
		if err != nil || n < 0 {
			return false, 0, fmt.Errorf("the parameter n=%q is no number of functions", v)
		}
	}
	return text, n, nil
}

func fail(w http.ResponseWriter, status int, err error) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Go-Pprof", "1") // go tool pprof then shows the text
	w.Header().Del("Content-Disposition")
	w.WriteHeader(status)
	fmt.Fprintln(w, err)
}
