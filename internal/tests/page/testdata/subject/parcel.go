// Package parcel leaks in several ways, for pictures and tests of what leakgate shows.
package parcel

import (
	"bytes"
	"context"
	"strconv"
	"time"
)

// A Request is what a server remembers of each request.
type Request struct {
	User  string
	Body  []byte
	Retry struct{ Body []byte }
	Tags  []string
}

// A Server keeps all of its requests.
type Server struct{ Requests map[string]*Request }

var (
	inflight = Server{make(map[string]*Request)}
	log      bytes.Buffer
	history  [][]byte
)

// Handle forgets to forget.
func Handle(n int) {
	r := &Request{User: "user " + strconv.Itoa(n) + " of the parcel service", Body: make([]byte, 1<<10), Tags: []string{strconv.Itoa(n)}}
	r.Retry.Body = make([]byte, 2<<10)
	inflight.Requests[r.User] = r
	log.WriteString(r.User)
}

// Remember keeps a copy with each call.
func Remember() { history = append(history, make([]byte, 512)) }

// expire is what a timer runs.
func (r *Request) expire() { r.Body = nil }

// Expire keeps a request for an hour.
func Expire() *time.Timer {
	r := &Request{Body: make([]byte, 64<<10)}
	return time.AfterFunc(time.Hour, r.expire)
}

// Wait starts goroutines that keep a buffer until the context is done.
func Wait(ctx context.Context, n int) {
	for range n {
		go wait(ctx, make([]byte, 16<<10))
	}
}

func wait(ctx context.Context, buffer []byte) {
	<-ctx.Done()
	clear(buffer)
}
