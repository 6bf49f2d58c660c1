// Command subject is a program for tests to look into from outside. It keeps a known number of objects, says "ready", and then
// waits; with the argument "busy" it does what makes that hard: it grows and shrinks stacks, collects garbage, takes signals and
// reads the clock, all the time, and calls C if it is built with the tag "calls".
package main

import (
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"
	"time"
)

// A Session is what the program keeps.
type Session struct {
	Name string
	Data *[4]int
}

// sessions has as many sessions as the first argument says: for each a session, a name and the data.
var sessions []*Session

// calls begins calls of C, in a build with the tag "calls".
var calls = func() {}

// label is a variable with a value that others know.
var label = "what the subject is called"

type chain struct {
	next *chain
	note [3]int
}

var sink [16]*chain

//go:noinline
func deep(n int, c *chain) *chain {
	var held [32]*chain
	held[n&31] = c
	if n == 0 {
		return held[0]
	}
	below := deep(n-1, held[n&31])
	if held[n&31] != c || below == nil {
		panic("a stack was damaged")
	}
	return c
}

func main() {
	n, err := strconv.Atoi(os.Args[1])
	if err != nil {
		panic(err)
	}
	for i := range n {
		sessions = append(sessions, &Session{Name: fmt.Sprintf("session number %07d", i), Data: &[4]int{i}})
	}
	sessions = append([]*Session(nil), sessions...)
	if len(os.Args) > 2 && os.Args[2] == "busy" {
		busy()
	}
	fmt.Println("ready", len(label))
	for {
		// A system call that a stop must not disturb.
		if err := syscall.Nanosleep(&syscall.Timespec{Sec: 3600}, nil); err != nil {
			fmt.Println("disturbed:", err)
		}
	}
}

func busy() {
	calls()
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGUSR1)
	go func() {
		for range c {
			sink[15] = &chain{}
		}
	}()
	go func() {
		for {
			_ = syscall.Kill(os.Getpid(), syscall.SIGUSR1)
			time.Sleep(200 * time.Microsecond)
		}
	}()
	for i := range 3 {
		go func() {
			for {
				done := make(chan struct{})
				go func() {
					sink[i] = deep(400, &chain{})
					close(done)
				}()
				for range 500 {
					_ = time.Now()
					sink[i+4] = &chain{next: &chain{}}
				}
				<-done
			}
		}()
	}
	go func() {
		for {
			runtime.GC()
			time.Sleep(time.Millisecond)
		}
	}()
}
