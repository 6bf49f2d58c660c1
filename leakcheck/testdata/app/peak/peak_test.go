// Package peak has operations that hold much memory for a while, and others that make much garbage.
package peak

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/leakgate/leakgate/leakcheck"
)

const (
	bound = 2 << 20
	size  = 6 << 20
)

type (
	row  struct{ text []byte }
	tree struct {
		left, right *tree
		_           [64]byte
	}
)

var (
	kept any
	sink []byte
)

// hold is how long a peak lasts. Collections go on meanwhile.
func hold() {
	for end := time.Now().Add(30 * time.Millisecond); time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
}

// churn makes garbage, and holds next to nothing of it.
func churn() {
	for i := range 3000 {
		sink = make([]byte, 100+i)
	}
}

func grow(depth int) *tree {
	if depth == 0 {
		return nil
	}
	return &tree{left: grow(depth - 1), right: grow(depth - 1)}
}

//go:noinline
func rows(n int) (all []*row) {
	for range n {
		all = append(all, &row{make([]byte, 1000)})
	}
	return all
}

// spiking are operations that hold more than the bound for a while, and nothing when they return,
// and what a message says of who holds it.
var spiking = []struct {
	name string
	op   func()
	who  string
}{
	{"one block in a variable", func() {
		b := make([]byte, size)
		hold()
		b[0] = 1
		runtime.KeepAlive(b)
	}, "b of example.com/app/peak.init.func"},
	{"many small objects", func() { all := rows(6000); hold(); runtime.KeepAlive(all) }, "*peak.row"},
	{"a package variable", func() { kept = rows(6000); hold(); kept = nil }, "held by the package variable example.com/app/peak.kept"},
	{"it stays", func() { kept = rows(6000) }, "*peak.row"},
	{"a map", func() {
		m := make(map[int][]byte)
		for i := range 600 {
			m[i] = make([]byte, 10_000)
		}
		hold()
		runtime.KeepAlive(m)
	}, "[]uint8"},
	{"a sync.Map", func() {
		var registry sync.Map
		for i := range 600 {
			registry.Store(i, make([]byte, 10_000))
		}
		hold()
		runtime.KeepAlive(&registry)
	}, "registry"},
	{"another goroutine", func() {
		done := make(chan bool)
		go func() {
			all := rows(6000)
			hold()
			runtime.KeepAlive(all)
			close(done)
		}()
		<-done
	}, "*peak.row"},
	{"many goroutines, each a little", func() {
		together(60, func() { b := make([]byte, 100_000); hold(); runtime.KeepAlive(b) })
	}, " goroutines started in example.com/app/peak.together.func1, created by example.com/app/peak.together"},
	{"a channel's buffer", func() {
		c := make(chan []byte, 600)
		for range 600 {
			c <- make([]byte, 10_000)
		}
		hold()
		runtime.KeepAlive(c)
	}, "chan []uint8"},
	{"a reader that takes all", func() {
		b, _ := io.ReadAll(io.LimitReader(zeroes{}, size))
		hold()
		runtime.KeepAlive(b)
	}, "[]uint8"},
	{"a buffer that doubles", func() {
		var b bytes.Buffer
		for range 6000 {
			b.Write(make([]byte, 1000))
		}
		hold()
		runtime.KeepAlive(&b)
	}, "[]uint8"},
	{"a string", func() { s := strings.Repeat("x", size); hold(); runtime.KeepAlive(s) }, "string"},
	{"a tree", func() { r := grow(16); hold(); runtime.KeepAlive(r) }, " example.com/app/peak."},
	{"a list", func() {
		var first *tree
		for range 70_000 {
			first = &tree{left: first}
		}
		hold()
		runtime.KeepAlive(first)
	}, "*peak.tree"},
	{"a timer's function", func() {
		b := make([]byte, size)
		timer := time.AfterFunc(time.Hour, func() { sink = b })
		hold()
		timer.Stop()
	}, "└─ b  []uint8"},
	{"a context's value", func() {
		ctx := context.WithValue(context.Background(), row{}.key(), make([]byte, size))
		hold()
		runtime.KeepAlive(ctx)
	}, " of example.com/app/peak.init.func"},
	{"late, after much garbage", func() { churn(); churn(); b := make([]byte, size); hold(); runtime.KeepAlive(b) }, "b of example.com/app/peak.init.func"},
	{"a variable that op captures", capturing(), "*peak.row"},
	{"with garbage all the time", func() {
		b := make([]byte, size)
		for range 10 {
			churn()
		}
		runtime.KeepAlive(b)
	}, "b of example.com/app/peak.init.func"},
	{"a slice of a slice", func() {
		part := make([]byte, size)[:10:10]
		hold()
		runtime.KeepAlive(part)
	}, "[]uint8"},
}

func (row) key() any { return "key" }

func capturing() func() {
	var all []*row
	return func() {
		all = rows(6000)
		hold()
		runtime.KeepAlive(all)
		all = nil
	}
}

type zeroes struct{}

func (zeroes) Read(b []byte) (int, error) { return len(b), nil }

// steady are operations that make as much garbage, or more, and hold little.
var steady = []struct {
	name string
	op   func()
}{
	{"nothing", func() {}},
	{"waits", hold},
	{"garbage of many sizes", churn},
	{"much garbage", func() {
		for range 10 {
			churn()
		}
	}},
	{"large garbage", func() {
		for range 300 {
			sink = make([]byte, 100_000)
		}
		sink = nil
	}},
	{"one row after the other", func() {
		for range 30_000 {
			kept = &row{make([]byte, 1000)}
		}
	}},
	{"a ring", func() {
		ring := make([][]byte, 100)
		for i := range 20_000 {
			ring[i%len(ring)] = make([]byte, 2000)
		}
		runtime.KeepAlive(ring)
	}},
	{"a map that is emptied", func() {
		m := make(map[int][]byte)
		for i := range 20_000 {
			m[i] = make([]byte, 1000)
			delete(m, i-100)
		}
	}},
	{"a channel that is drained", func() {
		c := make(chan []byte, 100)
		go func() {
			for range 20_000 {
				c <- make([]byte, 1000)
			}
			close(c)
		}()
		for b := range c {
			sink = b
		}
	}},
	{"goroutines that come and go", func() {
		for range 20 {
			together(20, churnLittle)
		}
	}},
	{"a copy through a buffer", func() {
		buffer := make([]byte, 32<<10)
		for range 300 {
			_, _ = io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{io.LimitReader(zeroes{}, 1<<20)}, buffer)
		}
	}},
	{"strings", func() {
		s := ""
		for i := range 2000 {
			s = fmt.Sprint(i, s[:min(len(s), 5000)])
		}
		kept = s
	}},
	{"small trees", func() {
		for range 200 {
			kept = grow(9)
		}
	}},
	{"a list that is cut", func() {
		for range 100 {
			var first *tree
			for range 1000 {
				first = &tree{left: first}
			}
			kept = first
		}
	}},
	{"a pool", func() {
		pool := sync.Pool{New: func() any { b := make([]byte, 64<<10); return &b }}
		for range 20_000 {
			pool.Put(pool.Get())
		}
	}},
	{"timers that are stopped", func() {
		for range 5000 {
			b := make([]byte, 1000)
			time.AfterFunc(time.Hour, func() { sink = b }).Stop()
		}
	}},
	{"contexts that are cancelled", func() {
		for range 2000 {
			_, cancel := context.WithCancel(context.WithValue(context.Background(), row{}.key(), make([]byte, 1000)))
			cancel()
		}
	}},
	{"finalizers", func() {
		for range 2000 {
			runtime.SetFinalizer(&row{make([]byte, 500)}, func(*row) {})
		}
	}},
	{"it collects garbage itself", func() {
		for range 5 {
			churnLittle()
			runtime.GC()
		}
	}},
	{"panics and recovers", func() {
		for range 2000 {
			func() {
				defer func() { _ = recover() }()
				panic(make([]byte, 2000))
			}()
		}
	}},
}

func together(n int, do func()) {
	var all sync.WaitGroup
	for range n {
		all.Add(1)
		go func() {
			defer all.Done()
			do()
		}()
	}
	all.Wait()
}

func churnLittle() {
	for i := range 200 {
		b := make([]byte, 100+i)
		runtime.KeepAlive(b)
	}
}

// A recorder is the test that an assertion fails.
type recorder struct{ errors, logs []string }

func (r *recorder) Helper() {}

func (r *recorder) Logf(f string, a ...any) { r.logs = append(r.logs, fmt.Sprintf(f, a...)) }

func (r *recorder) Errorf(f string, a ...any) { r.errors = append(r.errors, fmt.Sprintf(f, a...)) }

// Operations that hold more than the bound for a while are told from those that do not, and the
// message names who holds it, unless it says that this is not known.
func TestPeaksAreToldApart(t *testing.T) {
	named := 0
	for _, s := range spiking {
		t.Run("spiking/"+s.name, func(t *testing.T) {
			r := &recorder{}
			if leakcheck.AssertPeak(r, s.op, leakcheck.MaxBytes(bound)) {
				t.Fatalf("it passed: %s", r.logs)
			}
			text := strings.Join(r.errors, "\n")
			switch {
			case !strings.Contains(text, "leakcheck: op adds more to the live heap than the test allows"), len(r.errors) != 1:
				t.Error(text)
			case strings.Contains(text, "it was gone when a snapshot was taken"), strings.Contains(text, " of runtime.mallocgc"):
				t.Logf("not named: %s", text)
			case !strings.Contains(text, s.who) && !strings.Contains(text, "slot of example.com/app/peak."): // it is still being made
				t.Errorf("it does not say %q: %s", s.who, text)
			case !strings.Contains(text, "allocated at (about "):
				t.Errorf("it does not say where: %s", text)
			default:
				named++
			}
		})
		kept, sink = nil, nil
	}
	if named < len(spiking)/2 {
		t.Errorf("who holds it is said of %d of %d", named, len(spiking))
	}
	unknown := 0
	for _, s := range steady {
		t.Run("steady/"+s.name, func(t *testing.T) {
			// On a busy machine a mark phase takes so long that it finds much of the garbage, and too
			// few snapshots are taken to tell. Then it is unknown, which is no alarm.
			var r *recorder
			for range 3 {
				r = &recorder{}
				if leakcheck.AssertPeak(r, s.op, leakcheck.MaxBytes(bound)) || !strings.Contains(strings.Join(r.errors, "\n"), "UNKNOWN") {
					break
				}
			}
			switch {
			case strings.Contains(strings.Join(r.errors, "\n"), "UNKNOWN"):
				unknown++
				t.Logf("%s, %s", r.errors, r.logs)
			case len(r.errors) != 0 || !strings.Contains(strings.Join(r.logs, "\n"), "op adds "):
				t.Errorf("%s, %s", r.errors, r.logs)
			}
		})
		kept, sink = nil, nil
	}
	if unknown > len(steady)/3 {
		t.Errorf("%d of %d are unknown, three times each", unknown, len(steady))
	}
}
