// Package empty is a test binary that only imports testing: what one that uses leakcheck is compared with.
package empty

import "testing"

func TestNothing(t *testing.T) { t.Log("nothing") }
