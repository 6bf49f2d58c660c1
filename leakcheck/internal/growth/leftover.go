package growth

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/internal/textfmt"
	"github.com/leakgate/leakgate/leakcheck/internal/assertion"
	"github.com/leakgate/leakgate/leakcheck/internal/goroutine"
	"github.com/leakgate/leakgate/leakcheck/internal/observe"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
	"github.com/leakgate/leakgate/refscan"
)

// What is there as often as calls were made was left by them, as a rule. It is all that tells
// if a call does not return before the first snapshot.

const (
	minReturned  = 4 // of fewer calls too much is there as often by chance
	maxMultiple  = 4 // how many of a kind each call may have left
	maxLeftovers = 3 // of a sort that are shown
	// how long a snapshot may take: the program may be stuck elsewhere, too
	maxLeftoverTime = 5 * time.Second
)

// leftByEach lists the goroutines, timers and heap objects of which there are as many as calls have
// been made, or a multiple. stacks are those of all goroutines. It takes a snapshot as things are,
// without a wait for the program to settle.
func leftByEach(a *assertion.Assertion, returned int64, stacks string) (lines []string) {
	if returned < minReturned {
		return nil
	}
	// The call that has not returned may have left some, too.
	fits := func(n int64) bool {
		each := n / returned
		return each > 0 && each <= maxMultiple && n <= each*(returned+1)
	}
	for o, g := range goroutine.Parse(stacks, a.Env.IsProgram) {
		if fits(g.Count) {
			lines = append(lines, fmt.Sprintf("%s started in %s, created by %s (%s): %s", textfmt.CountNoun(g.Count, "goroutine"), o.Start(), o.CreatedBy, a.Env.PlaceOf(o.CreatedAt), g.State))
		}
	}
	slices.Sort(lines)
	lines = lines[:min(len(lines), maxLeftovers)]
	ctx, cancel := context.WithTimeout(context.Background(), maxLeftoverTime)
	defer cancel()
	obs, err := a.Observe(ctx, observe.Needs{Heap: true, AsIs: true})
	if err != nil {
		return lines
	}
	var held []*tree.Branch
	for _, root := range tree.GrowForest(obs.Report) {
		switch info := root.Root; {
		case info.Kind == refscan.RootTimer && fits(info.Timers):
			lines = append(lines, textfmt.CountNoun(info.Timers, "timer")+": "+symbol.Unescape(root.Name))
		case info.Kind == refscan.RootOther || symbol.IsRuntime(info.Package) || info.Package == "testing":
		default:
			tree.Forest{root}.All(func(b *tree.Branch) bool {
				found := b.Objects > 0 && fits(b.Objects) && tree.RetainerOf(a.Env, b) == nil
				if found {
					held = append(held, b)
				}
				return !found
			})
		}
	}
	sort.SliceStable(held, func(i, j int) bool { return held[i].Total.Bytes > held[j].Total.Bytes }) // slices.SortStableFunc would be 8 KB
	for _, b := range held[:min(len(held), maxLeftovers)] {
		lines = append(lines, fmt.Sprintf("%s %s, with %s, at %s", textfmt.Count(b.Objects), strings.TrimPrefix(b.Typ, "*"), textfmt.ByteCount(b.Total.Bytes), b.Path))
	}
	return lines
}
