//go:build !cgo

package handles

import "example.com/corpus/internal/judge"

// Group is empty without cgo.
var Group = judge.Group{Name: "handles"}
