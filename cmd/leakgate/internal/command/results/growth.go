package results

import (
	"errors"
	"slices"

	"github.com/google/pprof/profile"
)

// errNoGrowth says that a profile does not tell whether stacks grow; the figures are those of
// doc/stackprof.md.
var errNoGrowth = errors.New("no sample was taken while a stack was copied to a larger one, which does not mean that none was: " +
	"there is one for each 10 ms of copying, in some thousand goroutines that grow: take a CPU profile for longer, or under more load")

// growth tells from a CPU profile which calls made stacks grow: it keeps the samples that were
// taken while the runtime copied a stack to a larger one, without the runtime's own frames, so that
// the innermost frame is the function whose frame did not fit. It does not change cpu.
//
// A stack that has grown does not tell which call made it so, and growing takes microseconds. So
// this finds stacks that grow again and again, as those of short-lived goroutines do, and needs a
// CPU profile of a program under load. The error is errNoGrowth if no sample was taken meanwhile.
func growth(cpu *profile.Profile) (*profile.Profile, error) {
	if !slices.ContainsFunc(cpu.SampleType, func(t *profile.ValueType) bool { return t.Type == "cpu" }) {
		return nil, errors.New("this is no CPU profile: it has no sample type cpu")
	}
	out := cpu.Copy()
	out.Sample = slices.DeleteFunc(out.Sample, func(s *profile.Sample) bool {
		i := growing(s.Location)
		s.Location = s.Location[i:]
		return i == 0
	})
	if len(out.Sample) == 0 {
		return nil, errNoGrowth
	}
	return out.Compact(), nil
}

// growing returns the index of the frame that needed a larger stack, 0 if none did. A stack that
// shrinks is copied too, but not by newstack itself (go1.26 runtime/stack.go). The runtime's
// traceback steps from newstack, on the system stack, to the frame that called it, without
// morestack between (runtime/traceback.go, unwindJumpStack).
func growing(stack []*profile.Location) int {
	for i := 2; i < len(stack); i++ {
		if isFunction(stack[i-2], "runtime.copystack") && isFunction(stack[i-1], "runtime.newstack") {
			return i
		}
	}
	return 0
}

func isFunction(l *profile.Location, name string) bool {
	return len(l.Line) > 0 && l.Line[len(l.Line)-1].Function != nil && l.Line[len(l.Line)-1].Function.Name == name
}
