// A program that allocates known numbers of objects when it is told to: 400,000 sessions of 48 bytes,
// by a generic function 200,000 pairs of 24 bytes, 200,000 strings of 112 bytes, each with a pointer
// to it, 20,000 slices of 1 KiB, and 100 of 1 MiB.
package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"
)

type session struct {
	next *session
	_    [5]int
}

type pair[K comparable, V any] struct {
	key   K
	value V
}

var (
	keptSession *session
	keptPair    any
	keptText    *string
	keptBytes   []byte
	name        = strings.Repeat("name", 21)
)

//go:noinline
func login() *session { return newSession() }

func newSession() *session { return &session{} } // inlined

//go:noinline
func newPair[K comparable, V any](k K, v V) *pair[K, V] { return &pair[K, V]{k, v} }

//go:noinline
func text(n int) *string {
	s := name + " and number " + name[:10+n%2]
	return &s
}

func buffer(n int) []byte { return make([]byte, n) }

func allocate() {
	for i := range 400_000 {
		keptSession = login()
		if i%2 == 0 {
			keptPair = newPair(name, keptSession)
			keptText = text(i)
		}
		if i%20 == 0 {
			keptBytes = buffer(1 << 10)
		}
		if i%4000 == 0 {
			keptBytes = buffer(1 << 20)
		}
	}
}

func main() {
	input := bufio.NewReader(os.Stdin)
	fmt.Println("ready")
	for {
		if _, err := input.ReadString('\n'); err != nil {
			return
		}
		allocate()
		fmt.Println("done")
	}
}
