// Package roots leaks by roots of all kinds.
package roots

import (
	"context"
	"runtime"
	"time"
	"weak"
)

type Thing struct {
	next *Thing
	buf  [40]byte
}

//go:noinline
func made() *Thing { return &Thing{next: new(Thing)} }

type conn struct {
	in *Thing
	n  int
}

type ring struct {
	self *ring
	in   *Thing
	any  any
}

type Box[T any] struct{ v *T }

var (
	global map[string]*Thing
	weaks  []weak.Pointer[Thing]
	keep   []any
	stop   = make(chan int)
)

func (c *conn) expire() { c.n++ }

func fire() { global = nil }

var start = func() {
	x := made()
	<-stop
	runtime.KeepAlive(x)
}

//go:noinline
func hold(ready chan int) {
	buf := made()
	ready <- 1
	<-stop
	runtime.KeepAlive(buf)
}

//go:noinline
func (c *conn) end() { c.n-- }

//go:noinline
func deferring(ready chan int) {
	for range 3 {
		defer (&conn{in: made()}).end()
	}
	ready <- 1
	<-stop
}

//go:noinline
func mapping(ready chan int) {
	m := map[int]*Thing{1: made(), 2: made()}
	ready <- 1
	<-stop
	runtime.KeepAlive(m)
}

//go:noinline
func generic[T any](v T, ready chan int) {
	list := []T{v, v}
	ready <- 1
	<-stop
	runtime.KeepAlive(list)
}

// Leak leaks, and returns a function that ends what can be ended.
func Leak() {
	ready := make(chan int)
	global = map[string]*Thing{"a": made()}
	go hold(ready)
	<-ready
	go deferring(ready)
	<-ready
	go mapping(ready)
	<-ready
	go generic(made(), ready)
	<-ready
	go func() {
		inner := made()
		ready <- 1
		<-stop
		runtime.KeepAlive(inner)
	}()
	<-ready
	go start()
	ctx, _ := context.WithTimeout(context.WithValue(context.Background(), conn{}, made()), time.Hour)
	_ = ctx
	time.AfterFunc(time.Hour, fire)
	time.AfterFunc(time.Hour, (&conn{in: made()}).expire)
	c := &conn{in: made()}
	time.AfterFunc(time.Hour, func() { c.in = nil })
	// Objects in a circle with one that has a finalizer are never freed.
	b := &Box[Box[ring]]{v: &Box[ring]{v: new(ring)}}
	b.v.v.self = b.v.v
	b.v.v.any = b
	runtime.SetFinalizer(b, func(*Box[Box[ring]]) {})
	a := &[2]any{made(), nil}
	a[1] = a
	runtime.SetFinalizer(a, func(*[2]any) {})
	p := made()
	runtime.AddCleanup(p, func(t *Thing) { t.next = nil }, made())
	keep = append(keep, p)
	s := make([]*Thing, 20)
	runtime.AddCleanup(&s[0], func(t *Thing) { t.next = nil }, made())
	keep = append(keep, s)
	n := new(int)
	runtime.AddCleanup(n, func(t *Thing) { t.next = nil }, made())
	keep = append(keep, n)
	w := made()
	weaks = append(weaks, weak.Make(w))
	keep = append(keep, w)
	time.Sleep(10 * time.Millisecond)
}
