package leakcheck

import (
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/assert"
)

// A desk forgets to let go of its baskets if it leaks.
type desk struct {
	all   map[int]*basket
	leaks bool
}

//go:noinline
func newDesk(leaks bool) *desk { return &desk{make(map[int]*basket), leaks} }

func (d *desk) serve() {
	n := len(d.all)
	d.all[n] = new(basket)
	if !d.leaks {
		delete(d.all, n)
	}
}

type server interface{ serve() }

var globalDesk *desk

// TestReportRetainedOfVariables checks that what the benchmark's variables refer to counts, though
// they are not used after the loop, or that the log says that it does not.
func TestReportRetainedOfVariables(t *testing.T) {
	for name, bench := range map[string]func(b *testing.B, leaks bool){
		"as documented": func(b *testing.B, leaks bool) {
			d := newDesk(leaks)
			ReportRetained(b)
			for b.Loop() {
				d.serve()
			}
		},
		"b.N": func(b *testing.B, leaks bool) {
			d := newDesk(leaks)
			ReportRetained(b)
			for range b.N {
				d.serve()
			}
		},
		"kept alive": func(b *testing.B, leaks bool) {
			d := newDesk(leaks)
			ReportRetained(b)
			for b.Loop() {
				d.serve()
			}
			runtime.KeepAlive(d)
		},
		"cleanup": func(b *testing.B, leaks bool) {
			d := newDesk(leaks)
			b.Cleanup(func() { runtime.KeepAlive(d) })
			ReportRetained(b)
			for b.Loop() {
				d.serve()
			}
		},
		"package variable": func(b *testing.B, leaks bool) {
			globalDesk = newDesk(leaks)
			ReportRetained(b)
			for b.Loop() {
				globalDesk.serve()
			}
		},
		"value": func(b *testing.B, leaks bool) {
			d := desk{make(map[int]*basket), leaks}
			ReportRetained(b)
			for b.Loop() {
				d.serve()
			}
		},
		"interface": func(b *testing.B, leaks bool) {
			var s server = newDesk(leaks)
			ReportRetained(b)
			for b.Loop() {
				s.serve()
			}
		},
		"method value": func(b *testing.B, leaks bool) {
			serve := newDesk(leaks).serve
			ReportRetained(b)
			for b.Loop() {
				serve()
			}
		},
		"slice": func(b *testing.B, leaks bool) {
			all := []*desk{newDesk(leaks), newDesk(leaks)}
			ReportRetained(b)
			for i := 0; b.Loop(); i++ {
				all[i%2].serve()
			}
		},
		"helper": func(b *testing.B, leaks bool) {
			d := newDesk(leaks)
			loop(b, func() { d.serve() })
		},
		"on the stack": func(b *testing.B, leaks bool) {
			d := &desk{make(map[int]*basket), leaks}
			ReportRetained(b)
			for b.Loop() {
				d.serve()
			}
		},
		"map": func(b *testing.B, leaks bool) {
			all := make(map[int]*basket, 1)
			fill := func() {
				if n := len(all); leaks {
					all[n] = new(basket)
				} else {
					delete(all, n)
				}
			}
			ReportRetained(b)
			for b.Loop() {
				fill()
			}
		},
	} {
		for _, leaks := range []bool{true, false} {
			var log *testing.B
			got := benchmarked(t, "20000x", func(b *testing.B) { log = b; bench(b, leaks) })["retained-objects/op"]
			told := strings.Contains(logOf(log), "could not tell what variables of the benchmark retain")
			switch name {
			case "value", "map", "slice", "helper", "on the stack":
				assert.True(t, told || leaks == (got >= 0.9), "%s, leaks: %v, %v objects/op", name, leaks, got)
			default:
				assert.Equal(t, leaks, got >= 0.9, "%s, leaks: %v, %v objects/op", name, leaks, got)
				assert.True(t, leaks || got < 0.1, "%s: %v objects/op", name, got)
				assert.True(t, !told, "%s: %s", name, logOf(log))
			}
		}
	}
}

// logOf returns what a benchmark has logged (go1.26 testing/testing.go, common.output).
func logOf(b *testing.B) string {
	return string(reflect.ValueOf(b).Elem().FieldByName("output").Bytes())
}

func loop(b *testing.B, op func()) {
	ReportRetained(b)
	for b.Loop() {
		op()
	}
}
