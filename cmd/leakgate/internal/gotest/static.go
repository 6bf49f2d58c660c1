package gotest

import (
	"slices"
	"strings"
)

// LinksStatically reports whether the user's flags have the C linker link programs statically with
// the C library.
func (inv *Invocation) LinksStatically() bool {
	return slices.ContainsFunc(inv.usersLDFlags(), func(v string) bool {
		_, static := addToStatic(v, nil)
		return static
	})
}

// addToStatic adds words to the -extldflags in a value of -ldflags, "-extldflags '-static -lm'", if
// those link statically; it reports whether they do. The last -extldflags counts, as for the Go
// linker. A value that cannot be quoted again stays as it is.
func addToStatic(value string, words []string) (added string, static bool) {
	pattern, flags := "", value
	if !strings.HasPrefix(value, "-") {
		if before, after, ok := strings.Cut(value, "="); ok { // for some packages
			pattern, flags = before+"=", after
		}
	}
	fields := SplitQuoted(flags)
	for i := len(fields) - 1; i >= 0; i-- {
		name, of, hasValue := strings.Cut(strings.TrimLeft(fields[i], "-"), "=")
		if name != "extldflags" || !strings.HasPrefix(fields[i], "-") {
			continue
		}
		at := i
		if !hasValue {
			if at++; at == len(fields) {
				return value, false
			}
			of = fields[at]
		}
		linker := SplitQuoted(of)
		if !slices.ContainsFunc(linker, func(w string) bool { return w == "-static" || w == "--static" || w == "-static-pie" }) {
			return value, false
		}
		quoted, err := JoinQuoted(append(linker, words...))
		if err != nil {
			return value, true
		}
		if fields[at] = quoted; hasValue {
			fields[at] = "-extldflags=" + quoted
		}
		if quoted, err = JoinQuoted(fields); err != nil {
			return value, true
		}
		return pattern + quoted, true
	}
	return value, false
}
