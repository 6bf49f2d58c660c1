// A program in which C calls Go, which allocates 100,000 boxes of 64 bytes for each line that it
// reads. What is exported is inlined into the wrapper that C calls.
package main

// extern void box(int);
// static void boxes(int n) { for (int i = 0; i < n; i++) box(i); }
import "C"

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
)

type boxed struct{ n [8]int }

var kept *boxed

//export box
func box(i C.int) { kept = &boxed{[8]int{int(i)}} }

func main() {
	runtime.MemProfile(nil, false) // otherwise the program has no memory profiler
	input := bufio.NewReader(os.Stdin)
	fmt.Println("ready")
	for {
		if _, err := input.ReadString('\n'); err != nil {
			return
		}
		C.boxes(100_000)
		fmt.Println("done")
	}
}
