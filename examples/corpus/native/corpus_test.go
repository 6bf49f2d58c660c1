//go:build cgo && linux

package native

import (
	"testing"

	"example.com/corpus/internal/judge"
)

func TestCorpus(t *testing.T) { judge.Run(t, Group) }
