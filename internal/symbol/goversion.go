package symbol

import (
	"strconv"
	"strings"
)

// GoMinor returns the minor version in a result of runtime.Version: 26 for "go1.26.8", "go1.26rc1",
// "go1.26.8 X:nogreenteagc" and "devel go1.26-abcdef", and false for a toolchain without a version.
func GoMinor(version string) (minor int, ok bool) {
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
