// The program cgocalls holds cargo in goroutines that are in C code, and in Go code that C code called,
// takes a snapshot inside of such a call, and prints what holds how many cargoes.
package main

// #include "bridge.h"
import "C"

import (
	"encoding/json"
	"log"
	"os"
	"sync"

	"github.com/leakgate/leakgate/internal/nodename"
	"github.com/leakgate/leakgate/refscan"
)

type cargo struct {
	id   int
	data []byte
}

//go:noinline
func newCargo() *cargo { return &cargo{data: make([]byte, 100)} }

//go:noinline
func use(p *cargo) { p.id++ }

var (
	ready sync.WaitGroup
	stop  = make(chan bool)
)

//go:noinline
func inC(fd int) {
	p := newCargo()
	ready.Done()
	C.wait_for(C.int(fd))
	use(p)
}

//go:noinline
func throughC(which int) {
	p := newCargo()
	C.call_back(C.int(which))
	use(p)
}

const (
	wait = iota
	capture
)

//export goCallback
func goCallback(which C.int) {
	p := newCargo()
	switch which {
	case wait:
		ready.Done()
		<-stop
	case capture:
		report()
	}
	use(p)
}

func report() {
	s, err := refscan.Capture()
	if err != nil {
		log.Fatal(err)
	}
	r, err := s.Scan()
	if err != nil {
		log.Fatal(err)
	}
	if err := s.Close(); err != nil {
		log.Fatal(err)
	}
	out := struct {
		Totals refscan.Totals
		Held   map[string]int64
	}{r.Totals, map[string]int64{}}
	var walk func(string, *refscan.Node)
	walk = func(path string, n *refscan.Node) {
		path = nodename.Join(path, n.Name)
		if n.Type == "*main.cargo" && n.Objects > 0 {
			out.Held[path] += n.Objects
		}
		for _, c := range n.Children {
			walk(path, c)
		}
	}
	for _, n := range r.Fold().Roots {
		walk("", n)
	}
	if err := json.NewEncoder(os.Stdout).Encode(out); err != nil {
		log.Fatal(err)
	}
}

func main() {
	in, out, err := os.Pipe()
	if err != nil {
		log.Fatal(err)
	}
	fd := int(in.Fd()) // blocking from here on
	var ended sync.WaitGroup
	ready.Add(2)
	ended.Go(func() { inC(fd) })
	ended.Go(func() { throughC(wait) })
	ready.Wait()
	throughC(capture)
	close(stop)
	if err := out.Close(); err != nil {
		log.Fatal(err)
	}
	ended.Wait()
}
