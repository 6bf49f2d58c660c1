// Command subject is a program for tests to watch from outside: it collects garbage all the time, with the pause between two
// collections that its argument gives (1ms without one), and holds 10 MiB for as long as it runs. "spike" on its input has it hold
// 24 MiB more until the next line; it ends when its input does.
package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"time"
)

const mib = 1 << 20

var longLived = make([]byte, 10*mib)

// collecting is held during each collection, and while memory is taken: none sees a part of it.
var collecting sync.Mutex

func collect(pause time.Duration) {
	for {
		collecting.Lock()
		runtime.GC()
		collecting.Unlock()
		time.Sleep(pause)
	}
}

func pause() time.Duration {
	if len(os.Args) < 2 {
		return time.Millisecond
	}
	d, err := time.ParseDuration(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	return d
}

//go:noinline
func holdForAWhile(input *bufio.Scanner) {
	var rows [][]byte
	collecting.Lock()
	for range 24 {
		rows = append(rows, make([]byte, mib))
	}
	collecting.Unlock()
	fmt.Println("held")
	input.Scan()
	rows[0][0] = longLived[0]
}

func main() {
	debug.SetGCPercent(-1)         // no other collections
	runtime.MemProfile(nil, false) // otherwise the program has no memory profiler
	go collect(pause())
	fmt.Println("ready")
	input := bufio.NewScanner(os.Stdin)
	for input.Scan() {
		if input.Text() == "spike" {
			holdForAWhile(input)
		}
	}
}
