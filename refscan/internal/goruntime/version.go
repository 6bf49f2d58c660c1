package goruntime

import (
	"fmt"
	"strconv"
	"strings"
)

// semantics is what differs between Go versions in meaning, not in layout.
type semantics struct {
	// Kinds of mspan.specials (runtime/mheap.go, _KindSpecial*).
	specialFinalizer, specialWeakHandle, specialProfile, specialCleanup uint8
	// scansXRegs: the extended registers of asynchronously preempted goroutines are roots
	// (runtime/mgcmark.go:scanstack, from go1.27).
	scansXRegs bool
}

var supported = map[int]semantics{
	26: {specialFinalizer: 2, specialWeakHandle: 3, specialProfile: 4, specialCleanup: 7},
	27: {specialFinalizer: 2, specialWeakHandle: 3, specialProfile: 4, specialCleanup: 7, scansXRegs: true},
}

// SupportedVersions is how messages name the versions whose runtime structures are known.
const SupportedVersions = "Go 1.26 and 1.27"

// A VersionError says that the program was built with a Go version whose runtime this package does
// not know.
type VersionError struct{ Version string }

// Error implements error.
func (e *VersionError) Error() string {
	return fmt.Sprintf("the program was built with %s; the runtime structures of %s are known", e.Version, SupportedVersions)
}

func semanticsFor(version string) (semantics, error) {
	minor, ok := minorVersion(version)
	if !ok {
		return semantics{}, &VersionError{version}
	}
	s, ok := supported[minor]
	if !ok {
		return semantics{}, &VersionError{version}
	}
	return s, nil
}

// minorVersion returns 26 for "go1.26.8", "go1.26rc1", "go1.26.8 X:nogreenteagc" and
// "devel go1.26-abcdef".
func minorVersion(version string) (int, bool) {
	_, rest, ok := strings.Cut(version, "go1.")
	if !ok {
		return 0, false
	}
	end := 0
	for end < len(rest) && rest[end] >= '0' && rest[end] <= '9' {
		end++
	}
	n, err := strconv.Atoi(rest[:end])
	return n, err == nil
}
