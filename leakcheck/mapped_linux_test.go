package leakcheck

import (
	"syscall"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
	"github.com/leakgate/leakgate/leakcheck/internal/goroutine"
	"github.com/leakgate/leakgate/leakcheck/internal/growth"
	"github.com/leakgate/leakgate/leakcheck/internal/ledger"
)

// Memory that op maps is a leak, even if other memory is returned between two snapshots; it is none
// if it is gone by the next snapshot.
func TestMappedBesideAFall(t *testing.T) {
	if ledger.Sanitized {
		t.Skip("with a sanitizer it is not judged")
	}
	const each = 64 << 10
	for name, tt := range map[string]struct {
		fall int64 // after the first snapshot
		stay int64 // of what op has mapped, as a percentage
		want bool
	}{
		"beside a fall":          {fall: 1 << 20, stay: 100, want: true},
		"beside a large fall":    {fall: 64 << 20, stay: 100, want: true},
		"gone, and a large fall": {fall: 64 << 20, stay: 0},
		"unmapped":               {stay: 0},
	} {
		t.Run(name, func(t *testing.T) {
			var made int64
			w := newWorld(t, growing(sessions, 5)...)
			w.Resources = func(string) (*ledger.Ledger, error) {
				size := made * each * tt.stay / 100
				if w.snapshots == 1 {
					size += tt.fall
				}
				return &ledger.Ledger{Items: []ledger.Item{{
					Kind: ledger.Mapping, Names: [ledger.Levels]string{ledger.Anonymous, "mapped files", "mapped files"}, Size: size,
				}}}, nil
			}
			var mapped [][]byte
			defer func() {
				for _, b := range mapped {
					_ = syscall.Munmap(b)
				}
			}()
			op := func() {
				b, err := syscall.Mmap(-1, 0, each, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
				assert.NoError(t, err)
				mapped = append(mapped, b)
				made++
			}
			none := func(func(string) bool) map[goroutine.Origin]goroutine.Pile {
				return map[goroutine.Origin]goroutine.Pile{}
			}
			ft := &fakeT{name: "TestMapper"}
			passed := growth.AssertNoGrowth(w.Checker, ft, environ.Site{File: "/src/app/app_test.go", Line: 31}, op, newGrowthRequest(op, tenAndTen), growth.Source{Goroutines: none})
			ft.end()
			assert.Equal(t, !tt.want, passed, ft.errorText())
			if tt.want {
				wantInOrder(t, ft.errorText(), "leakcheck: resources grow with every call of op\n", "+64.0 KiB/op: anonymous memory\n")
			}
		})
	}
}
