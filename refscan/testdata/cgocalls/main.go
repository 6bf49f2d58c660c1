// The program cgocalls holds cargo in goroutines that are in C code, and in Go code that C code called,
// takes a snapshot inside of such a call, and prints what holds how many cargoes.
package main

// #include "bridge.h"
import "C"

import (
	"log"
	"os"
	"sync"

	"github.com/leakgate/leakgate/refscan"
	"github.com/leakgate/leakgate/refscan/testdata/held"
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
	held.Print(func(path string, n *refscan.Node) string {
		if n.Type != "*main.cargo" {
			return ""
		}
		return path
	})
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
