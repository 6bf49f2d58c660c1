package trial

import (
	"slices"

	"github.com/leakgate/leakgate/leakcheck/internal/assertion"
	"github.com/leakgate/leakgate/leakcheck/internal/goroutine"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/series"
	"github.com/leakgate/leakgate/leakcheck/internal/ledger"
	"github.com/leakgate/leakgate/refscan"
)

// Judge judges by all snapshots.
func (t *Trial) Judge() *Judgement {
	n := *t
	return n.judge()
}

// judge judges by all snapshots, and remembers what grew.
func (t *Trial) judge() *Judgement {
	e := t.Last().Eval
	if len(e.Problems) > 0 {
		return &Judgement{Misuse: true}
	}
	j := &Judgement{Growth: t.Growth()}
	none := j.Growth.None()
	if err := t.Doubt(); err != nil && !j.Growth.HasMissed() {
		j.Err = &assertion.AuditError{Err: err}
	} else if t.Uncounted() && none {
		j.Err = uncountedGoroutines()
	} else if lost := t.Lost(); lost != "" && none {
		j.Err = &refscan.UnavailableError{
			Cause:  "what calls of op leave with the system is not known, since it could be read at first, and later not: " + lost,
			Remedy: "let op give back what it takes, or run this test alone",
		}
	}
	switch {
	case j.Err != nil:
	case none:
		j.Mapping = t.Mapping()
		j.goesOn = j.Mapping != nil || HasChunk(t.Last().Mapped)
	default:
		e.Forest = j.Growth.Forest // the record of an unknown verdict has it, too
		j.goesOn = true
		t.suspects = append(slices.Clip(t.suspects), j.Growth.Leaks...)
	}
	return j
}

// uncountedGoroutines is the cause of an unknown verdict where goroutines could not be counted and
// nothing else grows.
func uncountedGoroutines() error {
	return &refscan.UnavailableError{
		Cause:  "whether goroutines pile up is not known, since they were not counted: " + goroutine.TooMany,
		Remedy: "let the goroutines of earlier tests end, or run this test alone",
	}
}

// HasChunk reports whether calls of op have mapped memory that may be a chunk: one of which each
// call takes a part, without any new object, until another one is mapped. Then all batches run,
// since only a chunk that is used up shows.
func HasChunk(mapped int64) bool { return mapped >= series.MinChunk && !ledger.Sanitized }

// Forgiven names what grew at some snapshot so far, and is no leak.
func (t *Trial) Forgiven() []string { return t.Wording.Forgiven(t.suspects) }
