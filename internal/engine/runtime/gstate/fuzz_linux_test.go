package gstate_test

import (
	"runtime"
	"testing"

	"github.com/leakgate/leakgate/internal/engine/memory/image"
	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
	"github.com/leakgate/leakgate/internal/engine/runtime/gstate"
	"github.com/leakgate/leakgate/internal/testkit/imagetest"
)

// FuzzStates reads the states of goroutines, their labels and the account of stacks from damaged
// memory. For crashers see FuzzModel of package goruntime.
func FuzzStates(f *testing.F) {
	p := imagetest.Record(f)
	places := p.Places(f)
	imagetest.Seed(f, len(places))
	f.Fuzz(func(t *testing.T, input []byte) {
		defer p.Mend()
		p.Damage(places, input)
		err := p.Bounded(func() {
			m, err := goruntime.LoadStacks(image.NewSpace(p), p.Index, 0, runtime.GOARCH, p.Caller())
			if err != nil {
				return
			}
			_, _ = gstate.ReadStackMemory(m)
			states, err := gstate.NewStates(m)
			if err != nil {
				return
			}
			blocks, err := gstate.NewBlocks(m)
			if err != nil {
				return
			}
			var labels []uint64
			for _, g := range m.Goroutines {
				labels = append(labels, states.Of(g).Labels)
				_, _ = blocks.Of(g)
			}
			gstate.LabelSets(m, labels)
		})
		if err != nil {
			t.Error(err)
		}
	})
}
