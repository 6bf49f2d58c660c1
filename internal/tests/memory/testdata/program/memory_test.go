package memory

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"weak"

	"github.com/leakgate/leakgate/leakcheck"
)

// A verb is an assertion. It has to fail if red is set, and to pass otherwise.
type verb func(t *testing.T, s shape, red bool)

// amount is a bound that what was filled in breaks if red is set.
func amount(red bool) int64 {
	if red {
		return 10
	}
	return 1 << 40
}

// healthy leaves what it allocates to the collector; leaking keeps some of it.
func healthy() { dropped = &node{} }

func leaking() {
	kept = append(kept, &node{}, &entry{of: map[string]int{"a": 1}})
	dropped = &node{}
}

func operation(red bool) func() {
	if red {
		return leaking
	}
	return healthy
}

var verbs = map[string]verb{
	// The program alone: what an assertion does to the heap, without leakgate.
	"control": func(*testing.T, shape, bool) {
		for range 2000 {
			leaking()
		}
		for range 20 {
			runtime.GC()
		}
	},
	"root": func(t *testing.T, s shape, red bool) {
		leakcheck.AssertRetained(t, leakcheck.Root(s.root).MaxBytes(amount(red)), leakcheck.Full())
	},
	"paths": func(t *testing.T, s shape, red bool) {
		leakcheck.AssertRetained(t, leakcheck.Path(s.root).MaxBytes(amount(red)), leakcheck.Path(s.path).MaxObjects(amount(red)), leakcheck.Full())
	},
	"type": func(t *testing.T, s shape, red bool) {
		healthy()
		leakcheck.AssertRetained(t, leakcheck.TypeNamed("**").MaxBytes(amount(red)), leakcheck.Full())
	},
	"scope": func(t *testing.T, s shape, red bool) {
		leakcheck.AssertRetained(t, leakcheck.TypeNamed("**").MaxBytes(amount(red)),
			leakcheck.Scope("example.com/memory"), leakcheck.Ignore("memory.kept", "is not of interest"), leakcheck.Full())
	},
	"retained": func(t *testing.T, s shape, red bool) {
		leakcheck.AssertRetained(t, leakcheck.Root(s.root).MaxRetainedBytes(amount(red)))
	},
	"since": func(t *testing.T, s shape, red bool) {
		b := leakcheck.TakeBaseline(t)
		for range 100 {
			leaking()
		}
		leakcheck.AssertRetained(t, leakcheck.Root("memory.kept").MaxObjects(amount(red)), leakcheck.Since(b))
	},
	"growth": func(t *testing.T, s shape, red bool) { leakcheck.AssertNoGrowth(t, operation(red)) },
	"growth goroutines": func(t *testing.T, s shape, red bool) {
		leakcheck.AssertNoGrowth(t, func() {
			if red {
				go wait(&node{})
			}
		})
	},
	"expect": func(t *testing.T, s shape, red bool) {
		p := &node{n: 1}
		if red {
			held = p
		}
		leakcheck.ExpectCollected(t, p, "the test is over")
	},
	"collected": func(t *testing.T, s shape, red bool) {
		p := weak.Make(&node{n: 1})
		if red {
			held = &node{n: 2}
			p = weak.Make(held)
		}
		leakcheck.AssertCollected(t, p, "nobody has it")
	},
	"allocs": func(t *testing.T, s shape, red bool) {
		leakcheck.AssertAllocs(t, healthy, leakcheck.Type[*node]().MaxAllocsPerOp(amount(red)/10-1))
	},
	"peak": func(t *testing.T, s shape, red bool) {
		leakcheck.AssertPeak(t, func() { dropped = make([]byte, 2<<20) }, leakcheck.MaxBytes(amount(red)<<10))
	},
	"none leaked": func(t *testing.T, s shape, red bool) {
		if red {
			c := make(chan int)
			go func() { <-c }()
		}
		leakcheck.AssertRetained(t, leakcheck.Goroutines("example.com/memory.**").NoneLeaked())
	},
}

// TestInGroup is run by the tests of the folder above: it fills the heap, waits for its limit, and
// calls a verb.
func TestInGroup(t *testing.T) {
	s, ok := shapes[os.Getenv("MEMORY_SHAPE")]
	if !ok {
		t.Skip("the tests of the folder above run it")
	}
	megabytes, err := strconv.Atoi(os.Getenv("MEMORY_SIZE"))
	if err != nil {
		t.Fatal(err)
	}
	s.fill(megabytes << 20)
	debug.FreeOSMemory()
	fmt.Println(resident())
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	v, red := strings.CutSuffix(os.Getenv("MEMORY_VERB"), " red")
	verbs[v](t, s, red)
}

// resident returns the bytes of memory that the process has.
func resident() int64 {
	text, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(text)) {
		var kB int64
		if _, err := fmt.Sscanf(line, "VmRSS: %d kB", &kB); err == nil {
			return kB << 10
		}
	}
	return 0
}
