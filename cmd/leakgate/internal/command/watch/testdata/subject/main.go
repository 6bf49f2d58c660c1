// Command subject is a program for tests to watch from outside: it collects garbage all the time, and holds 10 MiB for as long as
// it runs. "spike" on its input has it hold 24 MiB more until the next line; it ends when its input does.
package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"time"
)

const mib = 1 << 20

var longLived = make([]byte, 10*mib)

func collect() {
	for {
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
}

//go:noinline
func holdForAWhile(input *bufio.Scanner) {
	var rows [][]byte
	for range 24 {
		rows = append(rows, make([]byte, mib))
	}
	fmt.Println("held")
	input.Scan()
	rows[0][0] = longLived[0]
}

func main() {
	go collect()
	fmt.Println("ready")
	input := bufio.NewScanner(os.Stdin)
	for input.Scan() {
		if input.Text() == "spike" {
			holdForAWhile(input)
		}
	}
}
