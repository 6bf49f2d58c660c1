package allocrun

import (
	"strings"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
)

// TestCalls leaves out the runtime at the inner end of a stack, and entries of inlined functions.
// Each location has its functions from the innermost on.
func TestCalls(t *testing.T) {
	for stack, want := range map[string]string{
		"runtime.mallocgc; runtime.newobject; main.f; main.main; runtime.main": "main.f; main.main; runtime.main",
		// The runtime has an entry for main.f, too.
		"runtime.newobject; main.new, main.f; main.f; main.main":                                         "main.new, main.f; main.main",
		"runtime.newobject; runtime.CallersFrames, main.f; main.f; main.main":                            "runtime.CallersFrames, main.f; main.main",
		"runtime.newobject; main.exported, _cgoexp_1_exported; _cgoexp_1_exported; runtime.cgocallbackg": "main.exported, _cgoexp_1_exported; runtime.cgocallbackg",
		"runtime.mallocgc; runtime.allocm, runtime.newm; runtime.newm; runtime.mstart":                   "",
		"; main.f": "main.f",
	} {
		var locations []*profile.Location
		for of := range strings.SplitSeq(stack, "; ") {
			l := new(profile.Location)
			for name := range strings.SplitSeq(of, ", ") {
				if name != "" {
					l.Line = append(l.Line, profile.Line{Function: &profile.Function{Name: name}})
				}
			}
			locations = append(locations, l)
		}
		var got []string
		for _, l := range calls(locations) {
			var names []string
			for _, line := range l.Line {
				names = append(names, line.Function.Name)
			}
			got = append(got, strings.Join(names, ", "))
		}
		assert.Equal(t, want, strings.Join(got, "; "), stack)
	}
}
