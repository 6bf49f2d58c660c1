//go:build amd64 || arm64

package inplace

import "github.com/leakgate/leakgate/internal/engine/memory/image"

// readOnlyMemory returns nil: on this system only the tables are known to be read-only.
func readOnlyMemory([]image.Range) []image.Range { return nil }
