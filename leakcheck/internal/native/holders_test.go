package native

import (
	"fmt"
	"testing"

	"github.com/leakgate/leakgate/internal/engine/native/nativeholders"
	"github.com/leakgate/leakgate/internal/testkit/assert"
)

// The holders of most blocks are named, and what nothing refers to, where it belongs by its size.
func TestHeldBy(t *testing.T) {
	holder := func(kind nativeholders.Kind, name string, blocks int64) nativeholders.Holder {
		return nativeholders.Holder{Kind: kind, Name: name, File: "libz.so", Sum: nativeholders.Sum{Blocks: blocks}}
	}
	amount := func(s nativeholders.Sum) string { return fmt.Sprint(s.Blocks, " blocks") }
	sum := func(n int64) nativeholders.Sum { return nativeholders.Sum{Blocks: n} }
	for _, tt := range []struct {
		name string
		r    nativeholders.Result
		want []string
	}{
		{"nobody", nativeholders.Result{All: sum(100)}, nil},
		{"kinds", nativeholders.Result{All: sum(100), Holders: []nativeholders.Holder{
			holder(nativeholders.Go, "example.com/app.handle", 40), holder(nativeholders.Variable, "cache", 30), holder(nativeholders.Variable, "", 20), holder(nativeholders.Frame, "app.run", 10),
		}}, []string{
			"held by example.com/app.handle -> 40 blocks", "held by the C variable cache (libz.so) -> 30 blocks",
			"held by a C variable without a name (libz.so) -> 20 blocks", "held by the stack of a goroutine, at app.run -> 10 blocks",
		}},
		{"others", nativeholders.Result{All: sum(100), Holders: []nativeholders.Holder{holder(nativeholders.Thread, "", 50), holder(nativeholders.Mapping, "", 5), holder(nativeholders.Go, "few", 4)}}, []string{
			"held by a thread: its stack in C code, or a thread-local variable -> 50 blocks", "held by mapped memory that is neither Go's nor malloc's -> 5 blocks",
		}},
		{"no more than four", nativeholders.Result{All: sum(50), Holders: []nativeholders.Holder{
			holder(nativeholders.Go, "a", 10), holder(nativeholders.Go, "b", 10), holder(nativeholders.Go, "c", 10), holder(nativeholders.Go, "d", 10), holder(nativeholders.Go, "e", 10),
		}}, []string{"held by a -> 10 blocks", "held by b -> 10 blocks", "held by c -> 10 blocks", "held by d -> 10 blocks"}},
		{"all are lost", nativeholders.Result{All: sum(100), Lost: sum(100)}, []string{"no reference is left: lost"}},
		{"most are lost", nativeholders.Result{All: sum(100), Lost: sum(60), Holders: []nativeholders.Holder{holder(nativeholders.Go, "a", 40)}}, []string{"no reference is left to 60 blocks: lost", "held by a -> 40 blocks"}},
		{"some are lost", nativeholders.Result{All: sum(100), Lost: sum(40), InC: true, Holders: []nativeholders.Holder{holder(nativeholders.Go, "a", 60)}}, []string{
			"held by a -> 60 blocks", "no reference is left to 40 blocks: lost, unless a thread in C code has it in a register",
		}},
		{"few are lost", nativeholders.Result{All: sum(100), Lost: sum(4), Holders: []nativeholders.Holder{holder(nativeholders.Go, "a", 96)}}, []string{"held by a -> 96 blocks"}},
		{"not read", nativeholders.Result{All: sum(100), Lost: sum(100), Unread: "a mapping"}, []string{"could not tell who holds 100 blocks: a mapping"}},
	} {
		assert.Equal(t, tt.want, HeldBy(&tt.r, 120, amount), tt.name)
	}
}
