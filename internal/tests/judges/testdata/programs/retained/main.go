// A program that keeps memory in a package variable, and in a variable of a goroutine, as the
// example of goref does.
package main

import (
	"fmt"
	"io"
	"os"
	"runtime"
)

type address struct{ street, town string }

type order struct {
	number *int64
	lines  []string
	to     *address
	notes  map[string]string
}

var orders []*order

func newOrder(n int) *order {
	number := int64(n)
	text := func(size int) string { return string(make([]byte, size)) }
	return &order{
		number: &number,
		lines:  []string{text(1024), text(1024), text(1024)},
		to:     &address{text(100), text(50)},
		notes:  map[string]string{text(1024): text(1024)},
	}
}

func receive(c <-chan any, ready chan<- bool) {
	var cached []any
	for v := range c {
		cached = append(cached, v)
		ready <- true
	}
	runtime.KeepAlive(cached)
}

func main() {
	for n := range 5000 {
		orders = append(orders, newOrder(n))
	}
	c, ready := make(chan any, 100), make(chan bool)
	go receive(c, ready)
	for n := range 10000 {
		c <- newOrder(n)
		<-ready
	}
	runtime.GC()
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
	runtime.KeepAlive(orders)
}
