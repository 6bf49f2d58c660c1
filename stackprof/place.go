package stackprof

import (
	"strings"

	"github.com/google/pprof/profile"

	"github.com/leakgate/leakgate/refscan"
)

// places makes the locations and functions of a profile, each once.
type places struct {
	out       *profile.Profile
	functions map[string]*profile.Function
	byContent map[string]*profile.Location
	frames    map[*refscan.StackLocation]framePlaces
}

// framePlaces are the two locations of a physical frame: the function alone, which its size is charged to,
// and with what is inlined, which callees are below. They are the same where nothing is.
type framePlaces struct{ own, full *profile.Location }

func newPlaces(out *profile.Profile) *places {
	return &places{
		out: out, functions: make(map[string]*profile.Function),
		byContent: make(map[string]*profile.Location), frames: make(map[*refscan.StackLocation]framePlaces),
	}
}

// named returns the location of a name that has no source.
func (p *places) named(name string) *profile.Location {
	return p.location([]refscan.InlinedCall{{Func: name}})
}

func (p *places) frame(l *refscan.StackLocation) framePlaces {
	if f, ok := p.frames[l]; ok {
		return f
	}
	calls := append(l.Inlined[:len(l.Inlined):len(l.Inlined)],
		refscan.InlinedCall{Func: l.Func, File: l.File, Line: l.Line, StartLine: l.StartLine})
	if l.Wrapper && len(l.Inlined) > 0 {
		calls = l.Inlined // nobody wrote the wrapper: the frame is that of what is inlined into it
	}
	f := framePlaces{own: p.location(calls[len(calls)-1:]), full: p.location(calls)}
	p.frames[l] = f
	return f
}

// location returns the location with these calls, the innermost first.
func (p *places) location(calls []refscan.InlinedCall) *profile.Location {
	loc := &profile.Location{}
	var key strings.Builder
	for _, c := range calls {
		f := p.function(c)
		loc.Line = append(loc.Line, profile.Line{Function: f, Line: int64(c.Line)})
		for _, n := range []uint64{f.ID, uint64(c.Line)} {
			for range 8 {
				key.WriteByte(byte(n))
				n >>= 8
			}
		}
	}
	if known := p.byContent[key.String()]; known != nil {
		return known
	}
	loc.ID = uint64(len(p.out.Location) + 1)
	p.out.Location = append(p.out.Location, loc)
	p.byContent[key.String()] = loc
	return loc
}

func (p *places) function(c refscan.InlinedCall) *profile.Function {
	key := c.Func + "\x00" + c.File
	if f := p.functions[key]; f != nil {
		return f
	}
	f := &profile.Function{
		ID: uint64(len(p.out.Function) + 1), Name: c.Func, SystemName: c.Func,
		Filename: c.File, StartLine: int64(c.StartLine),
	}
	p.out.Function = append(p.out.Function, f)
	p.functions[key] = f
	return f
}
