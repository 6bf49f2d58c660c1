package helper // want package:"values"

import (
	"testing"

	"github.com/leakgate/leakgate/leakcheck"
)

func Check(t testing.TB) { leakcheck.AssertRetained(t) }
