package heapgraph

import "strings"

// hasPrefix is strings.HasPrefix, which would add to the program wherever it is called.
//
//go:noinline
func hasPrefix(s, prefix string) bool { return strings.HasPrefix(s, prefix) }
