package main

import (
	"testing"

	"github.com/leakgate/leakgate/leakcheck"
)

func TestKeep(t *testing.T) {
	keep()
	leakcheck.AssertRetained(t, leakcheck.Root("cmd.kept").MaxObjects(2))
}
