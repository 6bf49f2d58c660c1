package rtlayout

import (
	"strconv"
	"strings"

	"github.com/leakgate/leakgate/internal/symbol"
)

// Semantics holds the differences between Go versions that no name of a field tells.
type Semantics struct {
	// Kinds of mspan.specials (runtime/mheap.go, _KindSpecial*).
	Finalizer, WeakHandle, Profile, Cleanup uint8
	// ScansXRegs: the extended registers of asynchronously preempted goroutines are roots
	// (runtime/mgcmark.go:scanstack, from go1.27).
	ScansXRegs bool
}

var supported = map[int]Semantics{
	26: {Finalizer: 2, WeakHandle: 3, Profile: 4, Cleanup: 7},
	27: {Finalizer: 2, WeakHandle: 3, Profile: 4, Cleanup: 7, ScansXRegs: true},
}

// SupportedVersions is how messages name the versions whose runtime structures are known: "Go 1.26
// and 1.27".
func SupportedVersions() string {
	text, left := "Go ", len(supported)
	for minor := 0; left > 0; minor++ {
		if _, ok := supported[minor]; !ok {
			continue
		}
		text += "1." + strconv.Itoa(minor)
		switch left--; left {
		case 0:
		case 1:
			text += " and "
		default:
			text += ", "
		}
	}
	return text
}

// experiments are the GOEXPERIMENT settings, on or off, that do not change how the runtime's
// structures are read: all settings of Go 1.26 and 1.27 (internal/goexperiment/flags.go) except
// arenas, whose chunks are spans of their own kind.
const experiments = " boringcrypto cgocheck2 dwarf5 fieldtrack goroutineleakprofile greenteagc heapminimum512kib jsonv2 loopvar mapsplitgroup" +
	" newinliner preemptibleloops randomizedheapbase64 regabiargs regabiwrappers runtimefreegc runtimesecret simd sizespecializedmalloc staticlockranking "

// A VersionError says that the program was built with a Go version, or a GOEXPERIMENT setting,
// whose runtime this package does not know.
type VersionError struct {
	Version    string // of the program, as runtime.Version has it
	Experiment string // the setting, "" if it is the version
}

// Error implements error.
func (e *VersionError) Error() string {
	if e.Experiment != "" {
		return "the program was built with GOEXPERIMENT=" + e.Experiment + " (" + e.Version + "); what that does to the runtime's structures is not known"
	}
	return "the program was built with " + e.Version + "; the runtime structures of " + SupportedVersions() + " are known"
}

// CheckVersion returns a *VersionError if programs of a Go version, given as runtime.Version has
// it, cannot be read.
func CheckVersion(version string) error {
	_, err := SemanticsOf(version)
	return err
}

// SemanticsOf returns the Semantics of a Go version, given as runtime.Version has it, or a
// *VersionError if programs of that version cannot be read.
func SemanticsOf(version string) (Semantics, error) {
	minor, ok := symbol.GoMinor(version)
	if !ok {
		return Semantics{}, &VersionError{Version: version}
	}
	s, ok := supported[minor]
	if !ok {
		return Semantics{}, &VersionError{Version: version}
	}
	// Settings other than the default follow (go1.26 cmd/link/internal/ld/main.go, Main): "go1.26.8
	// X:nogreenteagc,simd".
	_, settings, _ := strings.Cut(version, "X:")
	settings, _, _ = strings.Cut(settings, " ")
	for settings != "" {
		var setting string
		setting, settings, _ = strings.Cut(settings, ",")
		if !strings.Contains(experiments, " "+setting+" ") && !strings.Contains(experiments, " "+strings.TrimPrefix(setting, "no")+" ") {
			return Semantics{}, &VersionError{Version: version, Experiment: setting}
		}
	}
	return s, nil
}
