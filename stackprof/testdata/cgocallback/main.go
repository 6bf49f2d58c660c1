// Program cgocallback profiles its stacks while Go functions that C called are waiting: one called from a
// goroutine's call of C, one from a thread that C made.
package main

/*
#cgo LDFLAGS: -lpthread
#include <pthread.h>

extern void goWaits(int);

static void callBack(int which) { goWaits(which); }

static void *run(void *unused) { callBack(1); return unused; }

static pthread_t thread;
static int startThread(void) { return pthread_create(&thread, 0, run, 0); }
static int joinThread(void) { return pthread_join(thread, 0); }
*/
import "C"

import (
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/leakgate/leakgate/stackprof"
)

var (
	ready   sync.WaitGroup
	release = make(chan struct{})
)

//export goWaits
//go:noinline
func goWaits(which C.int) {
	var frame [4000]byte
	frame[which] = 1
	ready.Done()
	<-release
	frame[which]++
}

//go:noinline
func callsC() { C.callBack(0) }

func main() {
	ready.Add(2)
	var done sync.WaitGroup
	done.Go(callsC)
	if C.startThread() != 0 {
		fail("no thread")
	}
	ready.Wait()
	p, err := stackprof.Take()
	if err != nil {
		fail(err)
	}
	close(release)
	done.Wait()
	if C.joinThread() != 0 {
		fail("the thread did not end")
	}
	if p.Stacks.Unattributed != 0 {
		fail("unattributed: ", p.Stacks.Unattributed, p.Stacks.Others)
	}
	fromGo, fromC := 0, 0
	for _, g := range p.Stacks.Goroutines {
		sum := g.Trace.Base
		var names []string
		for _, f := range g.Trace.Frames {
			sum += f.Size
			names = append(names, f.Func)
			if f.Func == "main.goWaits" && f.Size < 4000 {
				fail("the frame of goWaits has ", f.Size)
			}
		}
		if g.Trace.Problem != "" || sum != g.Used() {
			fail(g.Entry, ": ", g.Trace.Problem, sum, g.Used())
		}
		switch path := strings.Join(names, " "); {
		case strings.Contains(path, "main.goWaits") && strings.Contains(path, "main.callsC"):
			fromGo++
		case strings.Contains(path, "main.goWaits"):
			fromC++
		}
	}
	if fromGo != 1 || fromC != 1 {
		fail("callbacks from Go and from C: ", fromGo, fromC)
	}
	fmt.Println("ok")
}

func fail(args ...any) {
	fmt.Println(append([]any{"wrong:"}, args...)...)
	os.Exit(1)
}
