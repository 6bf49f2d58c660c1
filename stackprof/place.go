package stackprof

import (
	"strings"

	"github.com/leakgate/leakgate/refscan"
)

// place is a location of the profile: a place in a function, with what is inlined there, the
// innermost call first.
type place struct{ calls []refscan.InlinedCall }

// places makes each place once.
type places struct {
	byContent map[string]*place
	frames    map[*refscan.StackLocation]framePlaces
}

// framePlaces are the two places of a physical frame. own is the function alone, to which the
// frame's size is charged. full also has the inlined calls, and callees are below it. They are the
// same if nothing is inlined.
type framePlaces struct{ own, full *place }

func newPlaces() *places {
	return &places{byContent: make(map[string]*place), frames: make(map[*refscan.StackLocation]framePlaces)}
}

// named returns the place of a name that has no source.
func (p *places) named(name string) *place {
	return p.place([]refscan.InlinedCall{{Func: name}})
}

func (p *places) frame(l *refscan.StackLocation) framePlaces {
	if f, ok := p.frames[l]; ok {
		return f
	}
	calls := append(l.Inlined[:len(l.Inlined):len(l.Inlined)],
		refscan.InlinedCall{Func: l.Func, File: l.File, Line: l.Line, StartLine: l.StartLine})
	if l.Wrapper && len(l.Inlined) > 0 {
		calls = l.Inlined // the wrapper is not in the source: the frame is that of what is inlined into it
	}
	f := framePlaces{own: p.place(calls[len(calls)-1:]), full: p.place(calls)}
	p.frames[l] = f
	return f
}

// place returns the place with these calls, the innermost first.
func (p *places) place(calls []refscan.InlinedCall) *place {
	var key strings.Builder
	for _, c := range calls {
		key.WriteString(c.Func)
		key.WriteByte(0)
		key.WriteString(c.File)
		for _, n := range []int{c.Line, c.StartLine} {
			key.WriteByte(0)
			for ; n > 0; n >>= 7 {
				key.WriteByte(byte(n) | 0x80)
			}
		}
		key.WriteByte(0)
	}
	known := p.byContent[key.String()]
	if known == nil {
		known = &place{calls: calls}
		p.byContent[key.String()] = known
	}
	return known
}
